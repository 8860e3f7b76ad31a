"""Sequential consistency, as far as the model of PTX has it too: what a machine that takes turns shows."""

from __future__ import annotations

#: A cat model. Who waits at a barrier, for a phase or for an asynchronous operation, waits for what comes before.
SC = """"SC within PTX"
include "ptx-9.0.cat"
acyclic po | rf | fr | co | syncbar | mbrf | issue | comp as sc
empty ([W] ; loc ; [W]) \\ (co | co^-1 | id) as total
empty rmw & (fr ; co) as one-after-the-other
"""
