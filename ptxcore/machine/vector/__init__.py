"""Launches on arrays: threads that stand at the same instruction execute it together, as one NumPy operation. What does
not fit is left to `run`, which is the definition. Imports `run` and what that imports."""
