"""The PTX language: reading it, checking it, executing it. Knows nothing of memory models.

syntax, values -> isa (what instructions mean) -> check -> machine -> advice: rooms import what stands before them, which
tests/test_rooms.py holds, also within syntax, values, check, machine and advice.
"""
