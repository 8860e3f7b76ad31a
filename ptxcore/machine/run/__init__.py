"""Launches on numbers: memory, threads, CTAs, grids, their schedule. Imports `ir` and `lower`."""
