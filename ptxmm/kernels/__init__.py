"""Kernels decided: launches of compiled modules as programs of the engine."""
