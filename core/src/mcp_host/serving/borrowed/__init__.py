"""Everything private that is borrowed from the SDK and from uvicorn, in this one folder.

None of it is promised by its library. `tests/core/serving/test_borrowed.py` has a test for each
borrowed name, which says what to look at when a new version of the library has it no more.
"""
