"""Threads that wait for values: which writes let them go on, and what they know then.

Imports `core` and `code`.
"""
