"""Tensor maps that threads change: `tensormap.replace` and `tensormap.cp_fenceproxy` (PTX ISA 9.0, sections 9.7.9.26 and
9.7.13.16)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ptxcore.isa.fences import one_way_fence
from ptxcore.isa.form import Form, Use
from ptxcore.values.packed import join, split
from ptxcore.values.tensor_map import BITS, FIELDS, MAGIC
from ptxcore.values.terms import Value, add, concat, disj, eq, extract, ite, mask, ult, zext

if TYPE_CHECKING:
    from ptxcore.isa.thread import Thread

#: A map is read and written in words of so many bits.
_WORD = 64


@cache
def _word(space: str) -> Use:
    """A weak access to a word in a state space."""
    return Use(Form("ld{.space}.b64 d:b64, [a]", space=space), {"space": space} if space else {}, ("b64",), {})


def replace(how: Use, thread: Thread, a: Value, *values: Value) -> None:
    """The field of the tensor map at [a] = the value; behind `ordinal`, that of a dimension. Zeros become a map by it."""
    word = _word(how.words["space"])
    places = [add(a, i * _WORD // 8, 64) for i in range(BITS // _WORD)]
    old = [thread.load(word, place) for place in places]
    is_map = disj(eq(old[0], 0), eq(old[0], MAGIC))
    thread.require(is_map, "bad-tensor-map", "these 128 bytes are no tensor map")
    name = how.words["field"] + ("" if len(values) == 1 else str(values[0]))
    new = split(_replaced(join([MAGIC, *old[1:]], _WORD), name, values[-1], how.width), _WORD, len(old))
    for place, value in zip(places, new, strict=True):
        thread.store(word, place, value)


def _replaced(whole: Value, name: str, value: Value, width: int) -> Value:
    """The bits of a map with a value of so many bits in one field; a value that is too large for it stays too large."""
    at, bits = FIELDS[name]
    if bits < width:
        most = mask(bits)
        value = extract(ite(ult(most, value, width), most, value, width), bits - 1, 0)
    else:
        value = zext(value, bits) if bits > width else value
    upper = concat(extract(whole, BITS - 1, at + bits), value, BITS - at - bits, bits)
    return concat(upper, extract(whole, at - 1, 0), BITS - at, at)


def copy_and_fence(how: Use, thread: Thread, dst: Value, src: Value, size: Value) -> None:
    """[dst] = [src], 128 bytes, once for the warp; then a release from the generic proxy to that of tensor maps. Which thread
    of the warp copies is in no text, and `.sync` orders no memory, so each of them reads what is copied."""
    source, target = _word("shared::cta"), _word("global")
    words = [thread.load(source, add(src, i * _WORD // 8, 64)) for i in range(BITS // _WORD)]
    if thread.leads(how):
        for i, word in enumerate(words):
            thread.store(target, add(dst, i * _WORD // 8, 64), word)
    one_way_fence(how, thread)
