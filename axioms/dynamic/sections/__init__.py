"""Critical sections: locks, and what is done in them, in whatever order they are entered.

Imports `lookback` and what stands before it.
"""
