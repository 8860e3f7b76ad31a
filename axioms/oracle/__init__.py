"""Brute force: outcomes, barriers and liveness found by running threads on numbers, as a second way to every answer.

Imports `witness` and `events`; shares nothing that decides with `encode`.
"""
