"""What may be missing around operations of tensor cores: these are complete when that was waited for, and fences order them.

Sections 9.7.16.6 (tcgen05) and 9.7.15.7 (wgmma) of the manual. They read their matrices of shared memory in the asynchronous
proxy: what threads have written there needs a fence between the proxies before them.

What all threads of a warp, or of a warpgroup, execute together
(`.sync.aligned`) is put in directly behind a statement that they execute so, and nowhere else. Each of these statements waits
for what the thread itself has begun, or orders it: it takes executions and races away, and changes how nobody meets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import AnyStatement, Instruction
from ptxmm.repair import costs
from ptxmm.repair.building import Place, ranked_site
from ptxmm.repair.layout import Layout
from ptxmm.repair.order import loops_around, start_of
from ptxmm.repair.sites import EditSite
from ptxmm.repair.source_words import SourceWords


class _Missing(NamedTuple):
    """A statement that may be missing before, or else behind, those of an opcode with one of some modifiers."""

    opcode: str
    modifiers: frozenset[str]
    statement: str
    price: int
    before: bool = False


#: What begins an operation on Tensor Memory, or gives it back.
_WORK = frozenset({"ld", "st", "mma", "cp", "shift", "commit", "dealloc"})
_WAITS = frozenset({"wait::ld", "wait::st"})
#: A fence of these operations alone costs as much as that of the initialisation of mbarriers alone, a wait as one for copies.
_MISSING = (
    _Missing("tcgen05", frozenset({"ld"}), "tcgen05.wait::ld.sync.aligned", costs.MBARRIER_WAIT),
    _Missing("tcgen05", frozenset({"st"}), "tcgen05.wait::st.sync.aligned", costs.MBARRIER_WAIT),
    _Missing("tcgen05", (_WORK - {"dealloc"}) | _WAITS, "tcgen05.fence::before_thread_sync", costs.INIT_FENCE),
    _Missing("tcgen05", _WORK, "tcgen05.fence::after_thread_sync", costs.INIT_FENCE, before=True),
    _Missing("wgmma", frozenset({"commit_group"}), "wgmma.wait_group.sync.aligned 0", costs.MBARRIER_WAIT),
    _Missing("wgmma", frozenset({"fence"}), "fence.proxy.async", costs.PROXY_FENCE, before=True),
    _Missing("tcgen05", frozenset({"mma", "cp"}), "fence.proxy.async", costs.PROXY_FENCE, before=True),
)


def works(statement: AnyStatement) -> bool:
    """Whether a statement begins an operation of tensor cores, or one on Tensor Memory."""
    if not isinstance(statement, Instruction):
        return False
    words = set(statement.modifiers)
    return (statement.opcode == "tcgen05" and bool(_WORK & words)) or (
        statement.opcode == "wgmma" and "mma_async" in words
    )


def by_async_proxy(statement: Instruction) -> bool:
    """Whether an operation accesses memory in the asynchronous proxy, or belongs to one that does: bulk copies, and products,
    which read their matrices of shared memory there."""
    return bool({"bulk", "tensor"} & set(statement.modifiers)) or statement.opcode in ("tensormap", "tcgen05", "wgmma")


def tensor_sites(
    body: Sequence[AnyStatement], place: Place, layout: Layout, source: SourceWords | None = None
) -> Iterator[EditSite]:
    """A site for each statement that may be missing around those of a body."""
    for i, statement in enumerate(body):
        if not isinstance(statement, Instruction) or statement.guard is not None or not start_of(statement)[0]:
            continue
        for missing in _MISSING:
            if missing.opcode == statement.opcode and missing.modifiers & set(statement.modifiers):
                yield from _site(missing, body, i, place, layout, source)


def _site(
    missing: _Missing, body: Sequence[AnyStatement], i: int, place: Place, layout: Layout, source: SourceWords | None
) -> Iterator[EditSite]:
    """The site of one of them at statement number `i`; told at the line of that, or of the next one."""
    statement = body[i]
    assert isinstance(statement, Instruction)

    def put(new: str) -> str:
        return put_at(new)[1]

    def put_at(new: str) -> tuple[int, str]:
        return layout.put(start_of(statement), new) if missing.before else layout.put_behind(statement, new)

    following = (
        statement if missing.before else next((s for s in body[i + 1 :] if isinstance(s, Instruction)), statement)
    )
    last = body[:i] if missing.before else body[: i + 1]
    before = next((s.span.line for s in reversed(last) if isinstance(s, Instruction)), 0)
    line, loops = start_of(following)[0], loops_around(body, i)
    there = ((missing.statement, missing.price),)
    yield ranked_site(place.who, line, put_at("")[0], there, put, loops, source, between=(following.span.line, before))
