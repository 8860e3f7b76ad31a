"""The sites of a kernel: of its PTX, which every thread of the launch executes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import prod

from ptxcore.clock import tick
from ptxcore.machine.lower.inlining import calls_of
from ptxcore.places import SCOPES
from ptxcore.syntax.reader import read_module
from ptxcore.syntax.tree import AnyStatement, Close, Function, Immediate, Instruction, OpenBrace
from ptxmm.kernels.launch import Launch
from ptxmm.kernels.modules import begins_early
from ptxmm.kernels.plain_names import plain
from ptxmm.repair import costs
from ptxmm.repair.arrivals import (
    Arrival,
    InsertedArrival,
    arrival_sites,
    arrivals,
    may_stand,
    to_the_peer,
    written_before,
)
from ptxmm.repair.building import REPAIR, Lines, Place, access_site, fence_site, head_of, ranked_site
from ptxmm.repair.copies import together
from ptxmm.repair.counts import count_sites
from ptxmm.repair.divergence import Divergence
from ptxmm.repair.early_launch_sites import early_launch_sites
from ptxmm.repair.grid_sites import grid_sites, several_blocks
from ptxmm.repair.layout import Layout
from ptxmm.repair.moves import moved_sites
from ptxmm.repair.objects import object_of, place_of
from ptxmm.repair.order import BARRIERS, ENDS, alters, begun_at, ends, gaps, is_init, loops_around, matters, start_of
from ptxmm.repair.parity_sites import WaitsInTurn, parity_sites
from ptxmm.repair.party_sites import BarriersOfSome, party_sites
from ptxmm.repair.recomputed import KnownRegisters
from ptxmm.repair.roles import Roles
from ptxmm.repair.sites import AwaitedMbarrier, EditSite, Option, TextEdit, Wanted, edited, separate
from ptxmm.repair.source_words import SourceWords
from ptxmm.repair.states import sites_of_states
from ptxmm.repair.tensor_sites import by_async_proxy, tensor_sites, works
from ptxmm.repair.waits import arrivals_at, missing_waits, places_of_waits, price_of_wait, waits_at

_TWO = (frozenset({0}), frozenset({0, 1}))
#: Barriers that may be put in: the statement, its cost, the scope whose threads meet, and the kind that it is of.
_MEETINGS = (
    ("bar.warp.sync 0xffffffff", costs.WARP_BARRIER, "cta", "warp"),
    ("bar.sync 0", costs.CTA_BARRIER, "cta", "cta"),
    ("barrier.cluster.arrive;\n\tbarrier.cluster.wait", costs.CLUSTER_BARRIER, "cluster", "cluster"),
)
#: So many arrivals at one place are considered.
_NEAREST = 4
#: A wait for groups of copies that leaves more of them open is left alone.
_MOST_OPEN = 16
#: What may be put in, with what each costs: statements of which each later one does all that the one before does.
_Ranked = tuple[tuple[str, int], ...]
#: Waits for bulk copies: for the reading of what they copy, and for all of them.
_BULK_WAITS: _Ranked = (
    ("cp.async.bulk.wait_group.read 0", costs.READ_WAIT),
    ("cp.async.bulk.wait_group 0", costs.COPY_WAIT),
)


def sites(
    launches: Sequence[Launch], mode: str, with_arrivals: bool = False, left_out: list[str] | None = None,
    apart: bool = False, parties: BarriersOfSome | None = None,
    turns: WaitsInTurn | None = None,
) -> list[EditSite]:  # fmt: skip
    """What may be changed in the module of these launches, in the kernels that they execute and in what these may call. What
    the checker of PTX refuses is not there. `with_arrivals`: those that may be missing are, as far as `left_out` does not name
    them, waits for an mbarrier, barriers of the `parties` who come by and of the whole grid, what may come later, parities by
    `turns`. Copies of a place of the source are one site; `apart`: those of one call of a function. Raises OutOfTime."""
    text = launches[0].text
    lines = Lines(text)
    source = SourceWords(text)
    found: list[EditSite] = []
    threads = max(prod(launch.block) for launch in launches)
    entries = {launch.entry for launch in launches}
    followers = {launch.entry for launch in launches[1:]} if mode == REPAIR and begins_early(text) else set[str]()
    missing: list[InsertedArrival] = []
    across = mode == REPAIR and len(launches) == 1 and several_blocks(launches[0])
    for name, body in bodies(text, entries):
        if with_arrivals:  # of what is put in at one place a wait comes first: fences behind it order it, too
            found += _missing_waits(body, lines, plain(name), source)
        found += _of_body(body, lines, _place(name, launches), mode, source, threads, called=name not in entries)
        if name in followers:
            found += early_launch_sites(body, _place(name, launches), Layout(lines, table=False), source)
        if with_arrivals:
            missing += _arrivals(body, lines, plain(name), source)
            found += moved_sites(body, plain(name), Layout(lines, table=False), source)
            found += party_sites(body, plain(name), Layout(lines, table=False), source, parties or {})
            if across:
                place, layout = _place(name, launches), Layout(lines, table=False)
                found += grid_sites(body, place, layout, source, called=name not in entries)
    found += arrival_sites(missing, [] if left_out is None else left_out)
    if ".loc" in text:
        found = together(read_module(text)[0], found, apart)
    if turns:
        found += _parities(text, entries, lines, source, turns)
    return accepted(text, found, errors(text))


def _parities(
    text: str, entries: Collection[str], lines: Lines, source: SourceWords, turns: WaitsInTurn
) -> Iterator[EditSite]:
    """What parities may become: at the calls of one place of the source together, since a parity is what is handed over."""
    chains = calls_of(read_module(text)[0], turns.keys()) if ".loc" in text else {}
    places = {line: tuple(chain) for line, chain in chains.items()}
    for name, body in bodies(text, entries):
        yield from parity_sites(body, plain(name), lines, source, turns, places)


def bodies(text: str, entries: Collection[str]) -> Iterator[tuple[str, list[AnyStatement]]]:
    """The statements of each of these kernels, and of each function."""
    module, _ = read_module(text)
    name, body, depth = "", list[AnyStatement](), 0
    for statement in module.statements:
        if isinstance(statement, Function):
            name = statement.name if statement.kind == "func" or statement.name in entries else ""
            body, depth = [], 0
        elif isinstance(statement, Close):
            depth -= 1
            if not depth and name and body:
                yield name, body
                name = ""
        elif isinstance(statement, OpenBrace):
            depth += 1
        elif depth:
            body.append(statement)


def objects_at(text: str, entries: Collection[str], lines: Collection[int]) -> frozenset[str]:
    """The names of what the statements at these lines wait or arrive at, in these kernels and in functions; of what is complete
    when an object is told so by the next commit, of that."""
    found = set[str]()
    for _, body in bodies(text, entries):
        for k, s in enumerate(body):
            if s.span.line in lines:
                found.add(object_of(s, k, body) or _committed(s, body, k))
    return frozenset(found - {""})


def _committed(statement: AnyStatement, body: Sequence[AnyStatement], k: int) -> str:
    """The name of what the next commit tells that operation number `k` is complete: one of tensor cores, or a copy."""
    copies = isinstance(statement, Instruction) and statement.opcode == "cp" and statement.modifiers[:1] == ("async",)
    opcode, word = ("cp", "mbarrier") if copies else ("tcgen05", "commit")
    if not (copies or works(statement)):
        return ""
    for i in range(k + 1, len(body)):
        following = body[i]
        if isinstance(following, Instruction) and following.opcode == opcode and word in following.modifiers:
            return object_of(following, i, body)
    return ""


def waited_before(text: str, entries: Collection[str], lines: Collection[int]) -> frozenset[str]:
    """The names of what is waited for last in the text before each of these lines, in these kernels and in functions."""
    found = set[str]()
    for _, body in bodies(text, entries):
        last = ""
        for k, s in enumerate(body):
            if s.span.line in lines:
                found.add(last)
            if isinstance(s, Instruction) and {"try_wait", "test_wait", "sync", "wait"} & set(s.modifiers):
                last = object_of(s, k, body) or last
    return frozenset(found - {""})


def _place(name: str, launches: Sequence[Launch]) -> Place:
    """The scopes that take in further threads."""
    useful = []
    if any(launch.block != (1, 1, 1) for launch in launches):
        useful.append("cta")
    if any((launch.cluster or (1, 1, 1)) != (1, 1, 1) for launch in launches):
        useful.append("cluster")
    if len(launches) > 1 or any(map(several_blocks, launches)):
        useful.append("gpu")
    if len({launch.device for launch in launches}) > 1:
        useful.append("sys")
    assert set(useful) <= set(SCOPES)
    return Place(plain(name), tuple(useful), tuple(dict.fromkeys(("cta", *useful))))


def _of_body(
    body: Sequence[AnyStatement],
    lines: Lines,
    place: Place,
    mode: str,
    source: SourceWords,
    threads: int,
    *,
    called: bool,
) -> Iterator[EditSite]:
    layout = Layout(lines, table=False)
    for statement in body:
        if not isinstance(statement, Instruction):
            continue
        if mode == REPAIR:
            yield from count_sites(statement, body, threads, lines, place, source)
            yield from _waits_too(statement, body, lines, place, source)
        made = access_site(statement, lines, place, mode, layout.gone, layout.replaced, source)
        if made is not None:
            yield made
        elif mode == REPAIR:
            yield from _waits(statement, lines, place, source)
        else:
            yield from _taken_away(statement, body, place, layout, source)
    if mode == REPAIR:
        ways = [Divergence(body, of=of) for of in ("cta", "cluster")]
        yield from tensor_sites(body, place, layout, source)
        yield from sites_of_states(body, place.who, layout, source)
        for i in (begun_at(body, gap) for gap in gaps(body)):
            tick()
            apart = [called or way.parts(i) for way in ways]  # who calls, and where, is not known
            yield from _put_in(body, i, place, layout, source, apart)
        for i in () if called else ends(body):
            yield from _at_the_end(body, i, place, layout, source, ways[1].parts(i))


def _put_in(
    body: Sequence[AnyStatement], i: int, place: Place, layout: Layout, source: SourceWords, apart: Sequence[bool]
) -> Iterator[EditSite]:
    """What may be put in before a statement; `apart`: not all threads may come there, of a CTA and of a cluster."""
    start = start_of(body[i])
    offset = layout.put(start, "")[0]

    def put(statement: str) -> str:
        return layout.put(start, statement)[1]

    loops = loops_around(body, i)
    behind = next((s.span.line for s in body[i:] if isinstance(s, Instruction)), 0)
    before = next((s.span.line for s in reversed(body[:i]) if isinstance(s, Instruction) and matters(s)), 0)
    between = behind, before
    made = fence_site(place.who, start[0], offset, place.scopes, put, loops, source, between)
    if made is not None:
        yield made
    last = next((s for s in reversed(body[:i]) if isinstance(s, Instruction) and matters(s)), None)
    for there in _alone(body, last):
        yield ranked_site(place.who, start[0], offset, there, put, loops, source, between=between)
    for name, price, level, kind in _MEETINGS:
        if level in place.scopes:
            there = ((name, price),)
            altered = apart[kind == "cluster"] or alters(body, kind)
            yield ranked_site(place.who, start[0], offset, there, put, loops, source, True, altered, between)


def _at_the_end(
    body: Sequence[AnyStatement], i: int, place: Place, layout: Layout, source: SourceWords, apart: bool
) -> Iterator[EditSite]:
    """What may be put in before a thread ends, behind all that it does: nothing is ordered there any more, but the shared
    memory of its CTA goes, which others may still access, and bulk copies may still read. `apart`: not all of a cluster may
    come there."""
    start = start_of(body[i])
    offset = layout.put(start, "")[0]
    behind = body[i].span.line
    before = next((s.span.line for s in reversed(body[:i]) if isinstance(s, Instruction) and matters(s)), 0)

    def put(statement: str) -> str:
        return layout.put(start, statement)[1]

    if _stores_in_bulk(body):
        yield ranked_site(place.who, start[0], offset, _BULK_WAITS, put, 0, source, between=(behind, before))
    for name, price, level, kind in _MEETINGS:
        if level == kind == "cluster" and level in place.scopes:
            altered, there = apart or alters(body, kind), ((name, price),)
            yield ranked_site(place.who, start[0], offset, there, put, 0, source, True, altered, (behind, before))


def _stores_in_bulk(body: Sequence[AnyStatement]) -> bool:
    """Whether some copies are of groups of bulk copies."""
    return any(
        isinstance(s, Instruction) and s.opcode == "cp" and {"commit_group", "bulk"} <= set(s.modifiers) for s in body
    )


def _alone(body: Sequence[AnyStatement], last: Instruction | None) -> Iterator[_Ranked]:
    """What else may be put in behind the access or barrier that comes `last`, by what the kernel does."""
    done = [s for s in body if isinstance(s, Instruction)]
    if any(map(by_async_proxy, done)):
        yield (("fence.proxy.async", costs.PROXY_FENCE),)
    if is_init(last):  # it orders nothing else that came before, and nothing that comes later gains by a later one
        yield (("fence.mbarrier_init.release.cluster", costs.INIT_FENCE),)
    if any(s.opcode == "cp" and "async" in s.modifiers and "bulk" not in s.modifiers for s in done):
        yield (("cp.async.wait_all", costs.COPY_WAIT),)
    if _stores_in_bulk(body):
        yield _BULK_WAITS


def _arrivals(body: Sequence[AnyStatement], lines: Lines, who: str, source: SourceWords) -> Iterator[InsertedArrival]:
    """Each arrival that may be missing, at each place where it matters: where its barrier is known there."""
    layout = Layout(lines, table=False)
    every = [(k, arrival, object_of(s, k, body)) for k, s in enumerate(body) for arrival in _missing(s, k, body)]
    roles, waited, arrived = Roles(body), waits_at(body), arrivals_at(body)
    unfed = {about: waits for about, waits in waited.items() if about not in arrived}
    for i, statement in enumerate(body):
        tick()
        somewhere = matters(statement) or getattr(statement, "opcode", "") in ENDS
        if not (start_of(statement)[0] and somewhere):
            continue
        standing = ((k, a, about) for k, a, about in every if may_stand(a, statement))
        known = [(abs(k - i), a, about) for k, a, about in standing if written_before(a.register, body, i)]
        near: dict[Arrival, tuple[str, int]] = {}
        for apart, arrival, about in sorted(known, key=lambda found: found[0]):
            near.setdefault(arrival, (about, apart))
        start = start_of(statement)
        behind = next((s.span.line for s in body[i:] if isinstance(s, Instruction)), 0)
        before = next((s.span.line for s in reversed(body[:i]) if isinstance(s, Instruction) and matters(s)), 0)
        for number, (arrival, (about, apart)) in enumerate(near.items()):
            offset, new = layout.put(start, arrival.statement)
            words = f"{arrival.statement} is put in before this"
            wanted = Wanted("put", behind, before, "", arrival.statement)
            said = source.of_new(start[0], arrival.statement)
            loops = loops_around(body, i)
            edit, far = TextEdit(offset, offset, new), number >= _NEAREST
            evident = about in unfed and 1 + roles.apart(i, unfed[about])
            yield InsertedArrival(
                arrival, edit, who, start[0], words, loops, said, wanted, about, far, apart, evident
            )  # fmt: skip


def _missing(statement: AnyStatement, at: int, body: Sequence[AnyStatement]) -> Iterator[Arrival]:
    """The arrivals that may be missing at what a statement of a body is about; of another CTA, at that of the peer."""
    if not isinstance(statement, Instruction):
        return
    place = place_of(statement, at, body)
    if place is None or not (place.remote or place.variable):
        yield from arrivals([statement], body)
    elif not place.remote:  # by its name it is the same in every place
        yield from (arrival.by_name(place.name) for arrival in arrivals([statement], body))
    elif (told := to_the_peer(statement, place)) is not None:
        yield told


def _missing_waits(
    body: Sequence[AnyStatement], lines: Lines, who: str, source: SourceWords
) -> Iterator[EditSite]:  # fmt: skip
    """A site for each place where a wait for an mbarrier may be missing, with all that may be waited for there."""
    waits, layout = missing_waits(body), Layout(lines, table=False)
    roles, arrived, known = Roles(body), arrivals_at(body), KnownRegisters(body)
    for i in places_of_waits(body) if waits else ():
        start = start_of(body[i])
        behind = next((s.span.line for s in body[i:] if isinstance(s, Instruction)), 0)
        before = next((s.span.line for s in reversed(body[:i]) if isinstance(s, Instruction) and matters(s)), 0)
        cost = price_of_wait(loops_around(body, i))
        options = [Option((), 0, (0,))]
        for missing in waits:
            if (wait := missing.at(known, i)) is not None:
                offset, new = layout.put(start, wait.statement)
                wanted = Wanted(
                    "put", behind, before, "", wait.statement, awaited=AwaitedMbarrier(wait.about, missing.parity)
                )
                words, said = f"{wait.words} is put in before this", source.of_new(start[0], wait.statement)
                edit = (TextEdit(offset, offset, new),)
                options.append(
                    Option(
                        edit, cost, (len(options),), words, said, meets=True, alters=True, sure=True, wanted=wanted,
                        about=wait.about, evident=wait.unawaited + (wait.unawaited and roles.apart(i, arrived[wait.about])),
                    )
                )  # fmt: skip
        if len(options) > 1:
            below = (frozenset({0}), *(frozenset({0, k}) for k in range(1, len(options))))
            yield EditSite(who, start[0], tuple(options), below)


def _waits_too(
    statement: Instruction, body: Sequence[AnyStatement], lines: Lines, place: Place, source: SourceWords
) -> Iterator[EditSite]:
    """Who arrives at a barrier of the CTA may have to wait there, too."""
    words, head = set(statement.modifiers), head_of(statement, lines)
    if statement.opcode not in BARRIERS or "arrive" not in words or "cluster" in words or head is None:
        return
    name, line = statement.name, statement.span.line
    new = name.replace("arrive", "sync")
    told = f"{name} becomes {new}"
    at = next(k for k, s in enumerate(body) if s is statement)
    waits = Option(
        (TextEdit(*head, new),), costs.CTA_BARRIER // 2 + costs.EDIT, (1,), told, source.of_line(line, told), meets=True,
        alters=True, wanted=Wanted("word", line, 0, name, new), about=object_of(statement, at, body),
    )  # fmt: skip
    yield EditSite(place.who, line, (Option((), 0, (0,)), waits), _TWO)


def _waits(statement: Instruction, lines: Lines, place: Place, source: SourceWords) -> Iterator[EditSite]:
    """A wait for groups of copies, or of products, may leave fewer of them open; and one for the reading of copies may be one
    for all of them."""
    if statement.opcode not in ("cp", "wgmma") or "wait_group" not in statement.modifiers or not statement.operands:
        return
    last, head = statement.operands[-1], head_of(statement, lines)
    if not isinstance(last, Immediate) or not 0 <= last.value <= _MOST_OPEN or head is None:
        return
    at = lines.offset(*statement.start) + statement.text.rfind(str(last.value))
    name, line = statement.name, statement.span.line
    levels = [(fewer, 0) for fewer in range(last.value + 1)] + [(0, 1)] * name.endswith(".read")
    options = [Option((), 0, (0, 0))]
    for fewer, whole in levels[1:]:
        number, new = last.value - fewer, name.removesuffix(".read") if whole else name
        edit = TextEdit(*head, new) if whole else TextEdit(at, at + len(str(last.value)), str(number))
        words = f"{name} {last.value} becomes {new} {number}"
        wanted = ("word", line, 0, name, new) if whole else ("number", line, 0, str(last.value), str(number))
        price = costs.EDIT + fewer + whole
        said = source.of_line(line, words)
        options.append(Option((edit,), price, (fewer, whole), words, said, wanted=Wanted(*wanted)))
    below = tuple(
        frozenset(i for i, one in enumerate(levels) if one[0] <= other[0] and one[1] <= other[1]) for other in levels
    )
    if len(options) > 1:
        yield EditSite(place.who, line, tuple(options), below)


def _taken_away(
    statement: Instruction, body: Sequence[AnyStatement], place: Place, layout: Layout, source: SourceWords
) -> Iterator[EditSite]:
    """A barrier, or a fence of proxies, that may be gone."""
    words = set(statement.modifiers)
    barrier = statement.opcode in ("bar", "barrier") and "sync" in words and not {"red", "cluster"} & words
    if not barrier and not (statement.opcode == "fence" and {"proxy", "mbarrier_init"} & words):
        return
    edit = layout.gone(statement)
    if edit is not None:
        told = f"{statement.name} is taken away"
        line = statement.span.line
        wanted = Wanted("gone", line, 0, statement.name)
        gone = Option((edit,), 0, (0,), told, source.of_line(line, told), wanted=wanted)
        altered = barrier and alters(body, "warp" if "warp" in words else "cta")
        price = costs.WARP_BARRIER if "warp" in words else costs.CTA_BARRIER
        yield EditSite(place.who, statement.span.line, (gone, Option((), price, (1,), alters=altered)), _TWO)


def errors(text: str) -> int:
    """How many errors the checker of PTX finds in a module."""
    from ptxmm.linting import lint_text

    return len(lint_text(text, warnings=False))


def accepted(text: str, found: Sequence[EditSite], wrong: int) -> list[EditSite]:
    """The sites with those options only that the checker of PTX has no more to say of than of the text as it is.

    Options change statements, and no declaration: what is said of one statement hangs on no other. So options of many sites
    are checked at once, and where something is said of them, by halves.
    """
    good = [[o for o, option in enumerate(site.options) if not option.edits] for site in found]
    for number in range(max((len(site.options) for site in found), default=0)):
        alike = [s for s, site in enumerate(found) if number < len(site.options) and site.options[number].edits]
        waiting = [alike] if alike else []
        while waiting:
            group = waiting.pop()
            edits = [edit for s in group for edit in found[s].options[number].edits]
            if separate(edits) and errors(edited(text, edits)) <= wrong:
                for s in group:
                    good[s].append(number)
            elif len(group) > 1:
                half = len(group) // 2
                waiting += [group[half:], group[:half]]
    return [kept for s, site in enumerate(found) if (kept := site.kept(sorted(good[s]))) is not None]
