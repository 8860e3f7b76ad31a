"""The run that stands for all executions: the conditions of the theorem, for single threads and for threads together.

Imports the folders before it; `lookback`, `sections`, `tickets` and `searches` add to it.
"""
