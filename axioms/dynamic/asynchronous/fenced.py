"""Which products of warpgroups may access registers that were accessed before, without a `wgmma.fence` between (PTX ISA 9.0,
section 9.7.15.7.1), by the code of a function alone.

A run tells registers that were written with other values (`ptxcore.machine.run.warpgroups`); it does not see reads, and writes
of the same values. So who wants to know of all of them looks at the code: registers that are accessed on some path from the
last fence, or from where the function begins, to a product of them. Products may follow each other in registers of D without
a fence where they have one shape, and in registers of A, which they only read.
"""

from __future__ import annotations

from ptxcore.isa.warpgroup_product import planned
from ptxcore.machine.lower.liveness import reads, writes
from ptxcore.machine.lower.ops import Code, Op
from ptxcore.records import NamedTuple

#: Who accessed registers: other instructions than products; products, as A. Else products as D, by their shapes.
_OTHERS, _AS_A = "", "a"
#: Kinds of instructions behind which control goes elsewhere, unless a guard holds them back.
_LEAVES = frozenset(("branch", "jump", "exit", "return"))
#: Registers by who accessed them, as bits.
_Accessed = dict[str, int]


class _Product(NamedTuple):
    """The registers of a product."""

    shape: str
    d: int
    a: int


def unfenced(code: Code) -> list[Op]:
    """The products of a function that may access registers without a fence behind other accesses to them."""
    products = {i: _product(op) for i, op in enumerate(code.ops) if _is(op, "mma_async")}
    if not products:
        return []
    held = 0
    for product in products.values():
        held |= product.d | product.a
    before: list[_Accessed | None] = [None] * (len(code.ops) + 1)
    waiting = [0]
    before[0] = {}
    while waiting:
        at = waiting.pop()
        if at == len(code.ops):
            continue
        op, state = code.ops[at], before[at]
        assert state is not None
        behind = _behind(op, products.get(at), state, held)
        for following in _following(code, at):
            known = before[following]
            merged = behind if known is None else _merged(known, behind)
            if merged != known:
                before[following] = merged
                waiting.append(following)
    return [code.ops[at] for at, product in products.items() if _touches(product, before[at])]


def _is(op: Op, name: str) -> bool:
    return op.use.form.mnemonic == "wgmma" and name in op.use.form.first.split()


def _product(op: Op) -> _Product:
    plan = planned(op.use)
    source = op.sources[plan.at["a"]] if plan.a is not None else None
    a = [part.value for part in source.parts if part.kind == "register"] if source is not None else []
    return _Product(op.use.words["shape"], _bits(writes(op)), _bits(a))


def _behind(op: Op, product: _Product | None, state: _Accessed, held: int) -> _Accessed:
    """What was accessed behind an instruction."""
    if _is(op, "fence") and op.guard is None:
        return {}
    more = {_OTHERS: _bits((*reads(op), *writes(op))) & held} if product is None else {}
    if product is not None:
        more = {product.shape: product.d, _AS_A: product.a}
    return _merged(state, {who: bits for who, bits in more.items() if bits})


def _merged(one: _Accessed, other: _Accessed) -> _Accessed:
    return {who: one.get(who, 0) | other.get(who, 0) for who in {**one, **other}} if other else one


def _following(code: Code, at: int) -> list[int]:
    op = code.ops[at]
    found = [code.labels[label] for label in op.labels if label in code.labels]
    if op.guard is not None or op.use.form.kind not in _LEAVES:
        found.append(at + 1)
    return found


def _touches(product: _Product, state: _Accessed | None) -> bool:
    for who, bits in (state or {}).items():
        if who == _OTHERS:
            wrong = product.d | product.a
        elif who == _AS_A:
            wrong = product.d
        else:
            wrong = product.a | (0 if who == product.shape else product.d)
        if bits & wrong:
            return True
    return False


def _bits(slots: tuple[int, ...] | list[int]) -> int:
    found = 0
    for slot in slots:
        found |= 1 << slot
    return found


__all__ = ["unfenced"]
