"""What every call passes, one file each; `chain.py` composes them.

The order is the order of the list in `host/host.py`: request id, log, answer, policy, validation,
opening, questions, deadline, slots, and then the pack's function.
"""
