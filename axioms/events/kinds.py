"""Which file makes the events of effects, by the kind of the effect.

A file is imported when an effect of one of its kinds is first met: a test without barriers, copies and kernels never reads
what those are about.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType

from axioms.events.event import ByteRange, Maker
from ptxcore.isa.effect_kinds import EffectKind
from ptxcore.machine.ir.effects import Effect

#: The kinds that each file of this folder has in its `MAKERS`.
HOMES = {
    "event": "load store atom red input stop",
    "fences": "fence proxy_fence",
    "asynchronous": "issue copy commit wait_group clear discard",
    "barrier_events": "barrier mbarrier",
    "collectives": "collective",
    "launches": "grid host",
    "heap": "malloc free",
}

_HOME = {kind: home for home, kinds in HOMES.items() for kind in kinds.split()}


def maker_of(effect: Effect) -> Maker | None:
    """Who makes the events of an effect; None where nobody does."""
    return _maker(effect.kind, effect.agent >= 0)


@cache
def _maker(kind: EffectKind, background: bool) -> Maker | None:
    home = "asynchronous" if background and kind.background else _HOME.get(kind)
    if home is None:
        return None
    maker: Maker = _file(home).MAKERS[kind]
    return maker


def spans_of(effect: Effect) -> tuple[ByteRange, ...]:
    """What an effect accesses, in bytes."""
    return _spans(effect.kind)(effect)


@cache
def _spans(kind: EffectKind) -> Callable[[Effect], tuple[ByteRange, ...]]:
    spans: Callable[[Effect], tuple[ByteRange, ...]] = _file(_HOME[kind]).SPANS[kind]
    return spans


def _file(home: str) -> ModuleType:
    return import_module(f"axioms.events.{home}")
