"""Keeping the garbage collector away while many objects are built that are all needed: looking for cycles among them again and
again costs as much as building them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: New objects after which cycles are looked for where that is to be rare.
MANY = 100_000


@contextmanager
def collection_paused(*, stays: bool = False) -> Iterator[None]:
    """No collection meanwhile. `stays`: what is built lives on for long, and counts as old at once; for what is large, since
    it takes as long as counting the objects that were frozen."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if stays and not gc.get_freeze_count():
            gc.freeze()  # together these let it count as old without a look at each object
            gc.unfreeze()
        gc.enable()


@contextmanager
def collection_rare() -> Iterator[None]:
    """Cycles are looked for after many more new objects than otherwise: a run makes many, of which few are in cycles."""
    young, *older = gc.get_threshold()
    gc.set_threshold(max(young, MANY) if young else 0, *older)  # 0: somebody has switched it off
    try:
        yield
    finally:
        gc.set_threshold(young, *older)


@contextmanager
def shared_with_children() -> Iterator[None]:
    """What there is now stays as it is while child processes share it: the collector leaves its memory alone meanwhile."""
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
