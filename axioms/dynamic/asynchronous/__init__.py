"""Copies, products, Tensor Memory, mbarrier objects, clusters and proxies: agents beside the threads.

Imports `core`, `code` and `waits`.
"""
