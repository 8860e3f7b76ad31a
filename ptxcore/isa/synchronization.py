"""Parallel synchronization and communication (PTX ISA 9.0, section 9.7.13): its files, in the manual's order."""

from __future__ import annotations

from ptxcore.isa import atomics, barriers, fences, launch, mbarrier, warp

FORMS = (*barriers.FORMS, *fences.FORMS, *atomics.FORMS, *warp.FORMS, *mbarrier.FORMS, *launch.FORMS)

DIFFERENCES = (
    *barriers.DIFFERENCES,
    *fences.DIFFERENCES,
    *atomics.DIFFERENCES,
    *warp.DIFFERENCES,
    *mbarrier.DIFFERENCES,
    *launch.DIFFERENCES,
)
