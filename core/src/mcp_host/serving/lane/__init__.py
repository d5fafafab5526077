"""The lane: usual requests go straight to the host, and its answers straight back.

A usual request is parsed once, and its answer's bytes go to the wire as the pack's side wrote them.
All else is left to the SDK, with its bytes as they came; the answers of both are equal as JSON,
which
`tests/core/serving/test_lane_stdio.py` and `test_lane_http.py` hold. Nothing here imports the SDK.
"""
