"""Kernels on numbers: memory, threads, their schedule."""
