"""Synchronisation objects in formulas: barriers of warps, CTAs and clusters, and mbarrier objects with their phases.

Imports `events`, `sat` and `axioms.program`.
"""
