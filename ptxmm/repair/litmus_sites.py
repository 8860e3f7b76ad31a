"""The sites of a litmus test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from math import prod

from litmus.test import LitmusThread, Test
from ptxcore.diagnostics import InputError
from ptxcore.places import SCOPES, includes
from ptxcore.syntax.tree import AnyStatement, Immediate, Instruction
from ptxmm.repair import costs
from ptxmm.repair.arrivals import InsertedArrival, arrival_sites, arrivals, may_stand, written_before
from ptxmm.repair.building import REPAIR, Lines, Place, access_site, fence_site, ranked_site
from ptxmm.repair.layout import Layout
from ptxmm.repair.order import BARRIERS, alters, gaps, is_init, loops_around, matters, start_of
from ptxmm.repair.sites import EditSite, Option, TextEdit, edited

#: So many ways to put a barrier into the threads of a CTA are tried; more would be a search of their own.
MOSTBARRIERS = 64


def sites(test: Test, mode: str, left_out: list[str], with_arrivals: bool = False) -> list[EditSite]:
    """What may be changed in a test: `mode` says whether to repair or to weaken it. Options that make no test of it are not
    there; `left_out` takes in words what is not among them though it could be. `with_arrivals`: those that may
    be missing are."""
    lines = Lines(test.text)
    found: list[EditSite] = []
    for thread in test.threads:
        found += _of_thread(test, thread, lines, mode)
    found += _barriers(test, lines, left_out) if mode == REPAIR else _barriers_gone(test, lines)
    if with_arrivals:
        found += arrival_sites(list(_arrivals(test, lines)), left_out)
    return [kept for s in found if (kept := _readable(test, s)) is not None]


def layout_of(thread: LitmusThread, lines: Lines) -> Layout:
    """Whether a thread stands in a column or a block."""
    if not thread.span.line:
        return Layout(lines, True)
    start = lines.offset(thread.span.line, thread.span.column)
    ends = [(at, edge) for edge in "{|;" if (at := lines.text.find(edge, start)) >= 0]
    return Layout(lines, min(ends, default=(0, "|"))[1] != "{")


def _of_thread(test: Test, thread: LitmusThread, lines: Lines, mode: str) -> Iterator[EditSite]:
    if thread.place.host:
        return
    place, layout = _place(test, thread), layout_of(thread, lines)
    for statement in thread.statements:
        if isinstance(statement, Instruction):
            made = access_site(statement, lines, place, mode, layout.gone, layout.replaced)
            if made is not None:
                yield made
            elif mode != REPAIR and statement.opcode == "fence" and "proxy" in statement.modifiers:
                yield from _taken_away(statement, place, layout)
    if mode == REPAIR:
        for i in gaps(thread.statements):
            yield from _put_in(test, thread, i, place, layout)


def _taken_away(statement: Instruction, place: Place, layout: Layout) -> Iterator[EditSite]:
    edit = layout.gone(statement)
    if edit is not None:
        gone = Option((edit,), 0, (0,), f"{statement.name} is taken away")
        yield EditSite(place.who, statement.span.line, (gone, Option((), costs.PROXY_FENCE, (1,))), _TWO)


_TWO = (frozenset({0}), frozenset({0, 1}))


def _put_in(test: Test, thread: LitmusThread, i: int, place: Place, layout: Layout) -> Iterator[EditSite]:
    start = start_of(thread.statements[i])
    offset, line = layout.put(start, "")[0], start[0]

    def put(statement: str) -> str:
        return layout.put(start, statement)[1]

    loops = loops_around(thread.statements, i)
    if place.scopes and (made := fence_site(place.who, line, offset, place.scopes, put, loops)) is not None:
        yield made
    proxies = [("fence.proxy.alias", costs.PROXY_FENCE)] if any(l.alias_of for l in test.locations) else []
    if any(
        isinstance(s, Instruction) and {"async", "bulk"} & set(s.modifiers) for t in test.threads for s in t.statements
    ):
        proxies.append(("fence.proxy.async", costs.PROXY_FENCE))
    last = next((s for s in reversed(thread.statements[:i]) if isinstance(s, Instruction) and matters(s)), None)
    if is_init(last):
        proxies.append(("fence.mbarrier_init.release.cluster", costs.INIT_FENCE))
    yield from (ranked_site(place.who, line, offset, (one,), put, loops) for one in proxies)


def _place(test: Test, thread: LitmusThread) -> Place:
    """The scopes that tell the threads of a test apart, seen from one of them."""
    kinds: dict[frozenset[str], str] = {}
    for scope in SCOPES:
        kinds.setdefault(frozenset(t.name for t in test.threads if includes(scope, thread.place, t.place)), scope)
    useful = tuple(scope for names, scope in kinds.items() if len(names) > 1)
    return Place(thread.name, useful, tuple(dict.fromkeys(("cta", *useful))))


# Barriers: in all threads of a CTA, or in none.


def _barriers(test: Test, lines: Lines, left_out: list[str]) -> Iterator[EditSite]:
    for cta in dict.fromkeys(t.place.cta for t in test.threads if not t.place.host):
        threads = [t for t in test.threads if not t.place.host and t.place.cta == cta]
        warps = {t.place.warp for t in threads}
        if len(threads) < 2:
            continue
        free = next((n for n in range(16) if n not in _numbers(threads)), None)
        if free is not None:
            statement = f"bar.sync {free}"
            yield from _everywhere(
                threads, lines, left_out, (statement,), costs.CTA_BARRIER, "at the barrier of the CTA"
            )
        if len(warps) == 1:
            yield from _everywhere(
                threads,
                lines,
                left_out,
                ("bar.warp.sync 0xffffffff",),
                costs.WARP_BARRIER,
                "at the barrier of the warp",
            )
    for cluster in dict.fromkeys(t.place.cluster for t in test.threads if not t.place.host):
        threads = [t for t in test.threads if not t.place.host and t.place.cluster == cluster]
        if len({t.place.cta for t in threads}) > 1:
            both = ("barrier.cluster.arrive", "barrier.cluster.wait")
            yield from _everywhere(
                threads, lines, left_out, both, costs.CLUSTER_BARRIER, "at the barrier of the cluster"
            )


def _everywhere(
    threads: Sequence[LitmusThread], lines: Lines, left_out: list[str], statements: Sequence[str], price: int, what: str
) -> Iterator[EditSite]:
    """One site: where the barrier stands in each thread. Each way excludes the others."""
    ways = [_meetings(t) for t in threads]
    if prod(map(len, ways)) > MOSTBARRIERS:
        left_out.append(f"{prod(map(len, ways)) - MOSTBARRIERS} more places of {statements[0]}, {what}")
    kind = "cluster" if len(statements) > 1 else "warp" if "warp" in statements[0] else "cta"
    altered = kind != "cta" and any(
        alters(t.statements, kind) for t in threads
    )  # that of the CTA has a number of its own
    options = [Option((), 0, (0,))]
    for chosen in islice(product(*ways), MOSTBARRIERS):
        edits = []
        loops = 0
        for thread, i in zip(threads, chosen, strict=True):
            layout = layout_of(thread, lines)
            for statement in statements:
                offset, new = _at(layout, thread, i, statement)
                edits.append(TextEdit(offset, offset, new))
            loops += loops_around(thread.statements, i)
        places = " and ".join(_told(t, i) for t, i in zip(threads, chosen, strict=True))
        cost = price + costs.EDIT + loops * costs.IN_A_LOOP
        options.append(
            Option(
                tuple(edits), cost, chosen, f"{'; '.join(statements)} is put in {places}", meets=True, alters=altered
            )
        )
    if len(options) > 1:
        below = (frozenset({0}), *(frozenset({0, k}) for k in range(1, len(options))))
        yield EditSite(",".join(t.name for t in threads), threads[0].span.line, tuple(options), below)


def _arrivals(test: Test, lines: Lines) -> Iterator[InsertedArrival]:
    """Each arrival that some thread may lack, at each place where it matters."""
    every = [s for t in test.threads for s in t.statements]
    for thread in test.threads:
        if thread.place.host:
            continue
        layout = layout_of(thread, lines)
        here = arrivals(thread.statements, every)
        there = [a for a in arrivals(every, every) if a not in here and not a.register]
        for i in _meetings(thread):
            for arrival in (*here, *there):
                stands = i == len(thread.statements) or may_stand(arrival, thread.statements[i])
                if stands and written_before(arrival.register, thread.statements, i):
                    offset, new = _at(layout, thread, i, arrival.statement)
                    words = f"{arrival.statement} is put in {_told(thread, i)}"
                    line = start_of(thread.statements[min(i, len(thread.statements) - 1)])[0]
                    loops = loops_around(thread.statements, i)
                    yield InsertedArrival(arrival, TextEdit(offset, offset, new), thread.name, line, words, loops)


def _meetings(thread: LitmusThread) -> list[int]:
    """Where a thread may meet others at a barrier: before its accesses, between them, and at its end."""
    places = [i for i, s in enumerate(thread.statements) if start_of(s)[0] and matters(s)]
    last = thread.statements[-1] if thread.statements else None
    return [*places, *([len(thread.statements)] if isinstance(last, Instruction) and last.start[0] else [])]


def _at(layout: Layout, thread: LitmusThread, i: int, statement: str) -> tuple[int, str]:
    if i < len(thread.statements):
        return layout.put(start_of(thread.statements[i]), statement)
    last = thread.statements[-1]
    assert isinstance(last, Instruction)
    return layout.put_behind(last, statement)


def _told(thread: LitmusThread, i: int) -> str:
    if i < len(thread.statements):
        return f"before {thread.name} line {start_of(thread.statements[i])[0]}"
    return f"at the end of {thread.name}"


def _numbers(threads: Sequence[LitmusThread]) -> set[int]:
    return {n for t in threads for s in t.statements if (n := _number(s)) is not None}


def _number(statement: AnyStatement) -> int | None:
    if isinstance(statement, Instruction) and statement.opcode in BARRIERS and statement.operands:
        first = statement.operands[0]
        if isinstance(first, Immediate) and not {"warp", "cluster"} & set(statement.modifiers):
            return first.value
    return None


def _barriers_gone(test: Test, lines: Lines) -> Iterator[EditSite]:
    """Each barrier of a CTA, taken away from all of its threads."""
    for cta in dict.fromkeys(t.place.cta for t in test.threads):
        threads = [t for t in test.threads if t.place.cta == cta]
        for number in sorted(_numbers(threads)):
            found = [(t, s) for t in threads for s in t.statements if _number(s) == number]
            edits = [layout_of(t, lines).gone(s) for t, s in found if isinstance(s, Instruction)]
            if all(edits):
                gone = Option(tuple(e for e in edits if e), 0, (0,), f"barrier {number} is taken away")
                there = Option((), costs.CTA_BARRIER, (1,))
                who = ",".join(dict.fromkeys(t.name for t, _ in found))
                yield EditSite(who, found[0][1].span.line, (gone, there), _TWO)


def _readable(test: Test, site: EditSite) -> EditSite | None:
    """The site with those options only that make another test of the text."""
    return site.kept([i for i, option in enumerate(site.options) if not option.edits or _reads(test, option)])


def _reads(test: Test, option: Option) -> bool:
    from litmus.formats import read

    try:
        changed = read(edited(test.text, option.edits), test.path, test.instance)
    except (InputError, ValueError):
        return False
    return changed.threads != test.threads
