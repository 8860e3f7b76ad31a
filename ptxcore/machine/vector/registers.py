"""Registers of a group of threads, and what stands in those that only some threads have written."""

from __future__ import annotations

from typing import Any

import numpy as np

#: What is said of a launch that goes on for too long.
TOO_MANY = "more instructions than are allowed"


class Irregular(Exception):
    """What the threads are about to do does not fit arrays, or is an error: the machine of single threads has to say."""


class Partial:
    """A register that nobody wrote (`values` is None), or only those threads for which `defined` is True. It can be carried
    about; whoever computes with it is told. Raises Irregular."""

    __slots__ = ("defined", "values")
    __array_ufunc__ = None

    def __init__(self, values: Any, defined: Any) -> None:
        self.values, self.defined = values, defined

    def __getattr__(self, name: str) -> Any:
        raise Irregular("a register that nothing wrote") if not name.startswith("__") else AttributeError(name)

    def _use(self, *_: object) -> Any:
        raise Irregular("a register that nothing wrote")

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _use
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __and__ = __rand__ = __or__ = __ror__ = _use
    __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __floordiv__ = __rfloordiv__ = _use
    __mod__ = __rmod__ = __neg__ = __invert__ = __index__ = __int__ = __array__ = __hash__ = _use


NOTHING = Partial(None, None)

#: What a guard chooses when it chooses all.
ALL: Any = object()


def choose(truth: Any, count: int) -> Any:
    """The places at which a guard holds; ALL or None where they are all or none."""
    if not truth.ndim:
        return ALL if truth else None
    found = np.flatnonzero(truth)
    return found if 0 < found.size < count else ALL if found.size else None


def select(value: Any, places: Any) -> Any:
    """A value at some of the places it has; None for an operand that an instruction does not have."""
    if value is None:
        return None
    if type(value) is Partial:
        if value.values is None:
            return value
        defined = value.defined[places]
        if defined.all():
            return value.values[places]
        return Partial(value.values[places], defined) if defined.any() else NOTHING
    return value.take(places) if value.ndim else value


def merge(old: Any, places: Any, new: Any, count: int) -> Any:
    """A value with another one at some of `count` places."""
    if type(old) is not Partial and type(new) is not Partial:
        if old.ndim:
            merged: Any = old.copy()
        elif not new.ndim and old == new:
            return old
        else:
            merged = np.full(count, old)
        merged[places] = new
        return merged
    if old is NOTHING and new is NOTHING:
        return NOTHING
    given: Any = next(v if type(v) is not Partial else v.values for v in (new, old) if v is not NOTHING)
    values, defined = np.zeros(count, given.dtype), np.zeros(count, np.bool_)
    if type(old) is not Partial:
        values[:], defined[:] = old, True
    elif old.values is not None:
        values[:], defined[:] = old.values, old.defined
    if type(new) is not Partial:
        values[places], defined[places] = new, True
    elif new.values is None:
        defined[places] = False
    else:
        values[places], defined[places] = new.values, new.defined
    return values if defined.all() else Partial(values, defined) if defined.any() else NOTHING


def written(value: Any) -> None:
    """Raises Irregular where not all threads have written a register."""
    if type(value) is Partial:
        raise Irregular("a register that nothing wrote")


class LaneRegisters:
    """The registers of `count` threads by slot: an array each, one scalar for all, or a `Partial`."""

    def __init__(self, slots: int, count: int) -> None:
        self.values: list[Any] = [NOTHING] * slots
        self.count = count
        #: Arrays that no other register has, which may be written in place: by slot.
        self.own: dict[int, Any] = {}

    def put_all(self, slot: int, value: Any) -> None:
        """Writes the register of all threads with an array that nobody else has, and that nobody writes from now on."""
        if type(value) is np.ndarray and value.flags.owndata:
            value.flags.writeable = False
        self.values[slot] = value

    def put(self, slot: int, value: Any, places: Any) -> None:
        """Writes the register of some threads."""
        old = self.values[slot]
        own = self.own.get(slot)
        if own is not None and own is old and type(value) is not Partial:
            own[places] = value
            return
        new = self.values[slot] = merge(old, places, value, self.count)
        if type(new) is not Partial and new is not old and new.ndim:
            self.own[slot] = new
