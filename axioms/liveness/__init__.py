"""Executions that do not end: blocked threads, livelock, progress models, and what proves that there are none.

`search` asks the question; `progress` says who is scheduled fairly. Imports `encode` and `witness`.
"""
