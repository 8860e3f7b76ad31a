"""Executions that do not end: livelock, progress models, and what proves that there are none.

`progress`: who is scheduled fairly. Imported by `axioms.endless`; imports programs, candidates and encodings, never `ptxmm`.
"""
