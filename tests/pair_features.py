"""What every feature of the model contributes to a generated program: statements of two of its threads, in beats.

A beat has the statements of each thread that has some there. Beats of a feature stay in their order, and between them those of
another feature may come: in the same order for all threads, so that barriers of both never wait for each other. All features
read and write the same few locations: x in global memory, s in shared memory, a flag f.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from generated import SCOPES, Writer
from generated_sizes import SizedAccesses
from generated_warps import TOGETHER
from hypothesis import strategies as st

Beat = dict[int, str]


@dataclass(slots=True)
class Side:
    """One feature of a program: its two threads among all of them, and what it may call its own."""

    draw: st.DrawFn
    number: int
    first: int
    second: int
    writers: list[Writer]
    cta: list[int]
    cluster: list[int]
    declarations: dict[str, str]

    @property
    def object(self) -> str:
        """Its mbarrier object."""
        return "mn"[self.number]

    @property
    def barrier(self) -> str:
        return self.pick(str(self.number), str(self.number), "0")

    def pick(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def declare(self, *names: str) -> None:
        for name in names:
            self.declarations[name] = MEMORY[name]

    def fresh(self, thread: int, bank: str = "r", observed: bool = True) -> str:
        return self.writers[thread].fresh(bank, keep=bank == "r" and observed)

    def label(self, thread: int) -> str:
        return f"w{thread}_{self.fresh(thread, 'p')[2:]}"

    def written(self, thread: int, step: Callable[[Writer], None]) -> str:
        """What the thread's writer writes in a step."""
        lines = self.writers[thread].lines
        before = len(lines)
        step(self.writers[thread])
        code = " ".join(lines[before:])
        del lines[before:]
        return code

    # What most features need beside what they are about.

    def store(self, thread: int, location: str = "x") -> str:
        self.declare(location)
        space = ".shared" if location == "s" else ""
        semantics = self.pick("weak", "weak", "relaxed.gpu")
        return f"st.{semantics}{space}.u32 [{location}], {self.pick('1', '2')};"

    def load(self, thread: int, location: str = "x") -> str:
        self.declare(location)
        space = ".shared" if location == "s" else ""
        return f"ld.{self.pick('weak', 'weak', 'relaxed.gpu')}{space}.u32 {self.fresh(thread)}, [{location}];"

    def access(self, thread: int, location: str = "x") -> str:
        return self.load(thread, location) if self.draw(st.booleans()) else self.store(thread, location)

    def meeting(self) -> Beat:
        """A barrier of the two threads, which stand in a CTA or in a cluster."""
        if self.cta[self.first] == self.cta[self.second]:
            return dict.fromkeys(self.of_cta, f"bar.sync 1{self.number};")
        return dict.fromkeys(self.of_cluster, "barrier.cluster.arrive; barrier.cluster.wait;")

    @property
    def of_cta(self) -> list[int]:
        return [t for t in range(len(self.writers)) if self.cta[t] == self.cta[self.first]]

    @property
    def of_cluster(self) -> list[int]:
        return [t for t in range(len(self.writers)) if self.cluster[t] == self.cluster[self.first]]

    def rank(self, thread: int) -> int:
        return self.cta[thread]

    def remote(self, thread: int, location: str, owner: int) -> tuple[str, str]:
        """The address that a location has in the CTA of another thread: how to compute it, and its register."""
        a, b = (self.writers[thread].fresh("r", keep=False) for _ in "ab")
        self.declare(location)
        return f"mov.u32 {a}, {location}; mapa.shared::cluster.u32 {b}, {a}, {self.rank(owner)};", b

    def waiting(self, thread: int, scope: str = "", polling: bool = False) -> str:
        """A wait for the first phase of the object: until it is over, or a look whether it is."""
        p = self.fresh(thread, "p")
        if polling or not self.draw(st.booleans()):
            w = self.label(thread)
            return f"{w}: mbarrier.try_wait.parity{scope}.shared::cta.b64 {p}, [{self.object}], 0; @!{p} bra {w};"
        r = self.fresh(thread)
        wait = self.pick("test_wait", "try_wait")
        return f"mbarrier.{wait}.parity{scope}.shared::cta.b64 {p}, [{self.object}], 0; selp.u32 {r}, 1, 0, {p};"


#: How each location is declared.
MEMORY = {
    "x": ".global .align 16 .u32 x[4];",
    "f": ".global .u32 f = 0;",
    "s": ".shared .align 16 .u32 s[4] = {1};",
    "w": ".global .align 16 .u64 w[2];",
    "v": ".global .align 128 .u8 v[128];",
    "t": ".global .align 128 .u32 t[32];",
    "m": ".shared .u64 m;",
    "n": ".shared .u64 n;",
    "y": "y @ generic aliases x;",
    "c": ".const .u32 c = 3;",
    "q": "q = &x;",
    "k": "k @ {proxy} aliases x;",
}


def _shuffled(side: Side, *beats: Beat) -> list[Beat]:
    return side.draw(st.permutations(beats))


# Bytes.


def sizes(side: Side) -> list[Beat]:
    """Two accesses of any sizes, of one thread or of both; mostly where other features have few."""
    side.declare("x")
    threads = side.draw(st.sampled_from(((side.first,) * 2, (side.first, side.second))))
    base = side.draw(st.sampled_from((8, 8, 0)))
    beats: list[Beat] = []
    for thread in threads:
        beats.append({thread: SizedAccesses(side.draw, partial(side.fresh, thread), base).access()})
    return _shuffled(side, *beats)


def vectors(side: Side) -> list[Beat]:
    side.declare("x")
    a, b = side.first, side.second
    count = side.draw(st.sampled_from((2, 2, 4)))
    semantics = side.pick("weak", "relaxed.gpu")
    registers = ", ".join("_" if count == 4 and i % 2 else side.fresh(b) for i in range(count))
    numbers = ", ".join(str(i + 1) for i in range(count))
    if count == 2:
        address = side.pick("[x]", "[x]", "[x+8]")
        load = f"ld.{semantics}.global.v2.u32 {{{registers}}}, {address};"
    else:
        address, load = (
            "[x]",
            f"ld.{side.pick('weak', semantics)}.global.v4.u32 {{{registers.replace('_', side.fresh(b))}}}, [x];",
        )
    return _shuffled(side, {a: f"st.{semantics}.global.v{count}.u32 {address}, {{{numbers}}};"}, {b: load})


def wide(side: Side) -> list[Beat]:
    """Accesses of 16 bytes."""
    at = side.pick("w", "w", "x")
    side.declare(at)
    a, b = side.first, side.second
    semantics = side.pick("weak", "relaxed.gpu", "relaxed.cta")
    words = side.fresh(a, "rd"), side.fresh(a, "rd")
    names = [side.fresh(t, "q") for t in (a, a, a, b)]
    declared = [f".reg .b128 {name};" for name in names]
    made = (
        f"mov.u64 {words[0]}, 1; mov.u64 {words[1]}, 0; {declared[0]} mov.b128 {names[0]}, {{{words[0]}, {words[1]}}};"
    )
    write = side.draw(
        st.sampled_from(
            (
                f"st.{semantics}.global.b128 [{at}], {names[0]};",
                f"{declared[1]} atom.relaxed.gpu.global.exch.b128 {names[1]}, [{at}], {names[0]};",
                f"{declared[1]} atom.acq_rel.gpu.global.cas.b128 {names[1]}, [{at}], {names[0]}, {names[0]};",
            )
        )
    )
    found = side.fresh(b, "rd"), side.fresh(b, "rd")
    load = (
        f"{declared[3]} ld.{semantics}.global.b128 {names[3]}, [{at}]; mov.b128 {{{found[0]}, {found[1]}}}, {names[3]};"
    )
    return _shuffled(side, {a: f"{made} {write}"}, {b: load})


# Scopes and state spaces.


def scopes(side: Side) -> list[Beat]:
    side.declare("f")
    release, acquire = side.pick(*SCOPES), side.pick(*SCOPES)
    strong, weak = side.pick("release", "release", "relaxed"), side.pick("acquire", "acquire", "relaxed")
    return [
        {side.first: side.store(side.first)},
        {side.first: f"st.{strong}.{release}.u32 [f], 1;"},
        {side.second: f"ld.{weak}.{acquire}.u32 {side.fresh(side.second)}, [f];"},
        {side.second: side.load(side.second)},
    ]


def windows(side: Side) -> list[Beat]:
    """Shared memory of another CTA of the cluster, or the thread's own by that way or by its generic address."""
    a, b = side.first, side.second
    owner = side.draw(st.sampled_from((b, b, a)))
    code, address = side.remote(a, "s", owner)
    if owner == a and side.draw(st.booleans()):
        address = side.writers[a].fresh("rd", keep=False)
        code = (
            f"cvta.shared.u64 {address}, s;"
            if side.draw(st.booleans())
            else f"mov.u64 {address}, s; cvta.shared.u64 {address}, {address};"
        )
        access = side.draw(
            st.sampled_from((f"st.relaxed.cluster.u32 [{address}], 2;", f"ld.weak.u32 {side.fresh(a)}, [{address}];"))
        )
    else:
        access = side.draw(
            st.sampled_from(
                (
                    f"st.weak.shared::cluster.u32 [{address}], 2;",
                    f"st.release.cluster.shared::cluster.u32 [{address}], 2;",
                    f"atom.relaxed.cluster.shared::cluster.add.u32 {side.fresh(a)}, [{address}], 1;",
                    f"ld.acquire.cluster.shared::cluster.u32 {side.fresh(a)}, [{address}];",
                )
            )
        )
    beats = [{a: f"{code} {access}"}, {b: side.access(b, "s")}]
    beats = side.draw(st.permutations(beats))
    if owner == b and side.draw(st.integers(0, 4)) < 4:
        beats.append(side.meeting())
    return beats


def aliases(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    side.declare("x", "y")
    fence = {side.draw(st.sampled_from((a, b))): "fence.proxy.alias;"}
    load = {side.draw(st.sampled_from((a, b))): f"ld.{side.pick('weak', 'relaxed.gpu')}.u32 {{}}, [y];"}
    load = {t: line.format(side.fresh(t)) for t, line in load.items()}
    beats: list[Beat] = [{a: side.store(a)}, load]
    if side.draw(st.integers(0, 2)) < 2:
        beats.insert(1, fence)
    return beats


# Barriers.


def cta_barriers(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    together, number = side.of_cta, side.barrier
    whole = 32 * len({t if side.writers[t].world.places[t].startswith("cta") else 0 for t in together})
    kind = side.pick("sync", "sync", "count", "arrive", "red", "register")
    beat: Beat
    if kind == "arrive" and whole > 32:
        beat = {t: f"bar.{'arrive' if t == a else 'sync'} {number}, {whole};" for t in together}
    elif kind == "red":
        how, beat = side.pick("popc.u32", "and.pred", "or.pred"), {}
        for t in together:
            p, r = side.fresh(t, "p"), side.fresh(t)
            code = f"setp.ne.u32 {p}, {side.writers[t].value('r')}, 0;"
            if how.startswith("popc"):
                beat[t] = f"{code} bar.red.{how} {r}, {number}, {p};"
            else:
                q = side.fresh(t, "p")
                beat[t] = f"{code} bar.red.{how} {q}, {number}, {p}; selp.u32 {r}, 1, 0, {q};"
    elif kind == "register":
        beat = {}
        for t in together:
            r = side.writers[t].fresh("r", keep=False)
            beat[t] = f"mov.u32 {r}, {side.number}; barrier.sync {r}, {whole};"
    else:
        operands = f"{number}, {whole}" if kind == "count" else number
        how = side.pick("bar.sync", "bar.cta.sync", "barrier.sync", "barrier.cta.sync.aligned")
        beat = dict.fromkeys(together, f"{how} {operands};")
    return [{a: side.store(a)}, beat, {b: side.load(b)}]


def warp_barriers(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    mask = side.pick("3", "3", "-1")
    return [{a: side.store(a)}, dict.fromkeys((a, b), f"bar.warp.sync {mask};"), {b: side.load(b)}]


def collectives(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    line, lane, mask = side.pick(*TOGETHER), side.pick("0", "1"), side.pick("3", "3", "-1")
    beats: list[Beat] = [{a: side.access(a)}, {}]
    for t in (a, b):
        names = [side.fresh(t) for _ in "dab"]
        known = side.writers[t].value("r")
        code = f"mov.u32 {names[0]}, 0; mov.u32 {names[1]}, {known}; mov.u32 {names[2]}, {side.pick('0', '1')};"
        beats[1][t] = f"{code} {line.format(d=names[0], a=names[1], b=names[2], lane=lane, mask=mask)}"
    if side.draw(st.booleans()):
        beats.append({b: side.store(b)})
    return beats


def cluster_barriers(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    beats: list[Beat] = [{a: side.store(a)}, {}, {}, {b: side.load(b)}]
    order = side.pick("", ".release", ".relaxed")
    aligned = side.pick("", ".aligned")
    for t in side.of_cluster:
        fence = "fence.acq_rel.cluster; " if order == ".relaxed" and side.draw(st.booleans()) else ""
        beats[1][t] = f"{fence}barrier.cluster.arrive{order}{aligned};"
        beats[2][t] = f"barrier.cluster.wait{side.pick('', '.acquire')}{aligned};"
    return beats


# Objects.

_ARRIVALS = (
    "mbarrier.arrive{o}.shared.b64 _, [{m}];",
    "mbarrier.arrive{o}.shared::cta.b64 {s}, [{m}]; mbarrier.pending_count.b64 {r}, {s};",
    "mbarrier.arrive_drop{o}.shared.b64 _, [{m}];",
    "mbarrier.arrive.expect_tx{o}.shared.b64 _, [{m}], 8; mbarrier.complete_tx.shared.b64 [{m}], 8;",
    "mbarrier.expect_tx.relaxed.cta.shared.b64 [{m}], 4; mbarrier.arrive{o}.shared.b64 _, [{m}]; "
    "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [{m}], 4;",
)


def objects(side: Side) -> list[Beat]:
    a, b, m = side.first, side.second, side.object
    side.declare(m)
    order = side.pick("", "", ".release.cta", ".relaxed.cta")
    arrival = side.pick(*_ARRIVALS).format(o=order, m=m, s=side.fresh(a, "rd"), r=side.fresh(a))
    wait = side.waiting(b, side.pick("", "", ".acquire.cta", ".relaxed.cta"))
    beats: list[Beat] = [
        {a: f"mbarrier.init.shared.b64 [{m}], {side.pick('1', '1', '1', '2')};"},
        side.meeting(),
        {a: side.store(a)},
        {a: arrival},
        {b: wait},
    ]
    if side.draw(st.booleans()):
        beats.append({b: side.load(b)})
    if side.draw(st.integers(0, 7)) == 7:
        beats.append({b: f"mbarrier.inval.shared.b64 [{m}];"})
    return beats


def own_objects(side: Side) -> list[Beat]:
    """An object of one thread: its states, its phases, its end."""
    a, m = side.first, side.object
    side.declare(m)
    state, p, r = side.fresh(a, "rd"), side.fresh(a, "p"), side.fresh(a)
    wait = side.pick(
        f"mbarrier.test_wait.shared.b64 {p}, [{m}], {state};",
        f"mbarrier.try_wait.relaxed.cta.shared.b64 {p}, [{m}], {state};",
        f"mbarrier.test_wait.parity.shared.b64 {p}, [{m}], {side.pick('0', '1')};",
    )
    beats: list[Beat] = [
        {a: f"mbarrier.init.shared.b64 [{m}], {side.pick('1', '2')};"},
        {a: f"mbarrier.arrive.shared.b64 {state}, [{m}];"},
        {a: f"{wait} selp.u32 {r}, 1, 0, {p};"},
        {a: f"mbarrier.inval.shared.b64 [{m}];"},
        {side.second: side.access(side.second)},
    ]
    return beats[: side.draw(st.integers(3, 4))] + beats[4:]


def remote_arrivals(side: Side) -> list[Beat]:
    a, b, m = side.first, side.second, side.object
    side.declare(m)
    code, there = side.remote(a, m, b)
    arrive = side.pick("arrive.release.cluster", "arrive.release.cluster", "arrive.relaxed.cluster", "arrive")
    wait = side.waiting(b, side.pick(".acquire.cluster", ".acquire.cluster", ".relaxed.cluster", ""))
    return [
        {b: f"mbarrier.init.shared.b64 [{m}], 1;"},
        side.meeting(),
        {a: side.store(a)},
        {a: f"{code} mbarrier.{arrive}.shared::cluster.b64 _, [{there}];"},
        {b: f"{wait} {side.load(b)}"},
    ]


# Asynchronous operations.


def copy_groups(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    side.declare("x", "s")
    copy = side.pick(
        "cp.async.ca.shared.global [s], [x], 4;",
        "cp.async.ca.shared.global [s], [x], 4;",
        "cp.async.ca.shared.global [s], [x+4], 4;",
        "cp.async.ca.shared.global [s], [x], 8, 4;",
        "cp.async.cg.shared.global [s], [x], 16;",
    )
    wait = side.pick(
        "cp.async.wait_all;",
        "cp.async.commit_group; cp.async.wait_group 0;",
        "cp.async.commit_group; cp.async.wait_group 1;",
        "cp.async.commit_group; cp.async.commit_group; cp.async.wait_group 1;",
    )
    writer = side.draw(st.sampled_from((a, a, b)))
    return [{writer: side.store(writer)}, {a: copy}, {a: wait}, {a: side.load(a, "s")}, {b: side.load(b)}]


def copy_objects(side: Side) -> list[Beat]:
    """A copy of a few bytes whose completion is an arrival."""
    a, b, m = side.first, side.second, side.object
    side.declare("x", "s", m)
    kind = side.pick(".noinc", ".noinc", "")
    arrive = f"cp.async.mbarrier.arrive{kind}.shared.b64 [{m}];"
    if not kind:
        arrive += f" mbarrier.arrive.shared.b64 _, [{m}];"
    return [
        {a: f"mbarrier.init.shared.b64 [{m}], 1;"},
        side.meeting(),
        {a: f"cp.async.ca.shared.global [s], [x], 4; {arrive}"},
        {b: side.waiting(b, side.pick("", "", ".relaxed.cta"))},
        {b: side.access(b, "s")},
    ]


_TOLD = "shared::cluster.global.mbarrier::complete_tx::bytes"


def bulk_objects(side: Side) -> list[Beat]:
    """A bulk copy that tells an object of its completion."""
    a, b, m = side.first, side.second, side.object
    side.declare("x", "s", m)
    fence = side.pick(
        "fence.mbarrier_init.release.cluster;", "fence.proxy.async;", "fence.proxy.async.shared::cta;", ""
    )
    expect = f"mbarrier.arrive.expect_tx.shared.b64 _, [{m}], 16;"
    beats: list[Beat] = [{a: f"mbarrier.init.shared.b64 [{m}], 1; {fence}"}]
    alone = side.draw(st.integers(0, 2)) == 2
    waiter = a if alone else b
    if not alone:
        beats.append(side.meeting())
    beats.append({a: f"{expect} cp.async.bulk.{_TOLD} [s], [x], 16, [{m}];"})
    if side.draw(st.integers(0, 4)) < 4:
        beats.append(
            {waiter: side.waiting(waiter, side.pick("", "", ".acquire.cluster", ".relaxed.cta"), polling=True)}
        )
    beats.append({waiter: side.load(waiter, "s")})
    return beats


def bulk_clusters(side: Side) -> list[Beat]:
    """Bulk copies to the shared memory of other CTAs: from the own one, or to several at once."""
    a, b, m = side.first, side.second, side.object
    side.declare("s", m)
    fence = "fence.mbarrier_init.release.cluster;"
    code, there = side.remote(a, m, b)
    if side.draw(st.booleans()):
        more, target = side.remote(a, "s", b)
        copy = f"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [{target}], [s], 16, [{there}];"
    else:
        side.declare("x")
        mask = side.writers[a].fresh("rs", keep=False)
        more = f"mov.u16 {mask}, {1 << side.rank(b)};"
        copy = f"cp.async.bulk.{_TOLD}.multicast::cluster [s], [x], 16, [{m}], {mask};"
    return [
        {b: f"mbarrier.init.shared.b64 [{m}], 1; {fence} mbarrier.arrive.expect_tx.shared.b64 _, [{m}], 16;"},
        side.meeting(),
        {a: f"{code} {more} {copy}"},
        {b: side.waiting(b, side.pick(".acquire.cluster", ".acquire.cluster", ""), polling=True)},
        {b: side.load(b, "s")},
    ]


_GROUP_WAITS = (
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;",
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 1;",
)


def _beside(side: Side) -> Beat:
    """What the other thread does beside a copy of the first: seldom something that races with it."""
    b = side.second
    return {b: side.draw(st.sampled_from((side.access(b, "f"), side.load(b, "s"), side.load(b))))}


def bulk_groups(side: Side) -> list[Beat]:
    a = side.first
    side.declare("x", "s")
    return [
        {a: "cp.async.bulk.global.shared::cta.bulk_group [x], [s], 16;"},
        {a: side.pick(*_GROUP_WAITS)},
        {a: side.draw(st.sampled_from((side.load(a), side.store(a, "s"))))},
        _beside(side),
    ]


def bulk_reductions(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    side.declare("x", "s")
    how = side.pick("or.b32", "max.u32", "or.b64", "add.u32")
    other = side.draw(st.sampled_from((f"atom.relaxed.gpu.global.add.u32 {side.fresh(b)}, [x], 1;", side.load(b))))
    return [
        {a: f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{how} [x], [s], 16;"},
        {a: side.pick(*_GROUP_WAITS)},
        {b: other},
    ]


def async_releases(side: Side) -> list[Beat]:
    """Asynchronous stores and reductions of global memory, which release."""
    a, b = side.first, side.second
    side.declare("f")
    address = side.writers[a].fresh("rd", keep=False)
    how = side.pick(
        "st.async.release.gpu.global.u32", "st.async.release.sys.global.u32", "red.async.release.gpu.global.add.u32"
    )
    return [
        {a: side.store(a)},
        {a: f"mov.u64 {address}, f; {how} [{address}], 1;"},
        {b: f"ld.{side.pick('acquire', 'acquire', 'relaxed')}.gpu.u32 {side.fresh(b)}, [f];"},
        {b: side.load(b)},
    ]


def async_stores(side: Side) -> list[Beat]:
    """Asynchronous stores to the shared memory of another CTA, which tell an object there."""
    return _told(side, ("st.async.weak.{how}.u32", "st.async.{how}.u32", "st.async.{how}.b32"))


def async_reductions(side: Side) -> list[Beat]:
    return _told(side, ("red.async.relaxed.cluster.{how}.add.u32", "red.async.relaxed.cluster.{how}.max.u32"))


def _told(side: Side, operations: tuple[str, ...]) -> list[Beat]:
    a, b, m = side.first, side.second, side.object
    side.declare("s", m)
    code, target = side.remote(a, "s", b)
    more, there = side.remote(a, m, b)
    how = side.pick(*operations).format(how="shared::cluster.mbarrier::complete_tx::bytes")
    return [
        {b: f"mbarrier.init.shared.b64 [{m}], 1; mbarrier.arrive.expect_tx.shared.b64 _, [{m}], 4;"},
        side.meeting(),
        {a: f"{code} {more} {how} [{target}], 5, [{there}];"},
        {b: side.waiting(b, side.pick(".acquire.cluster", ".acquire.cluster", ""))},
        {b: side.load(b, "s")},
    ]


# Fences, and proxies.


def async_fences(side: Side) -> list[Beat]:
    a = side.first
    side.declare("x", "s")
    fence = side.pick(
        "fence.proxy.async;", "fence.proxy.async;", "fence.proxy.async.global;", "fence.proxy.async.shared::cta;",
        "fence.proxy.async.shared::cluster;", "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;",
    )  # fmt: skip
    return [
        {a: side.store(a, "s")},
        {a: fence},
        {a: "cp.async.bulk.global.shared::cta.bulk_group [x], [s], 16;"},
        {a: side.pick(*_GROUP_WAITS)},
        _beside(side),
    ]


def tensormap_fences(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    side.declare("t", "f")
    scope, other = side.pick("cta", "gpu", "gpu", "sys"), side.pick("cta", "gpu", "gpu", "sys")
    return [
        {a: "st.weak.u32 [t], 1;"},
        {a: f"fence.proxy.tensormap::generic.release.{scope};"},
        {a: "st.relaxed.gpu.u32 [f], 1;"},
        {b: f"ld.relaxed.gpu.u32 {side.fresh(b)}, [f];"},
        {b: f"fence.proxy.tensormap::generic.acquire.{other} [t], 128;"},
        {b: f"ld.weak.u32 {side.fresh(b)}, [t];"},
    ]


def texture_loads(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    side.declare("x")
    line = side.pick("ld.global.nc.u32", "ld.global.nc.u32", "ld.global.nc.L1::no_allocate.u32")
    reader = side.draw(st.sampled_from((a, b)))
    beats: list[Beat] = [{a: side.store(a)}, {reader: f"{line} {side.fresh(reader)}, [x];"}]
    return side.draw(st.permutations(beats))


#: The proxies of the short dialect: how its threads read through one and write.
_PROXIES = {"constant": ("cold", ""), "texture": ("tld", ""), "surface": ("suld", "sust")}


def short_proxies(side: Side) -> list[Beat]:
    """A thread in the short dialect, which has instructions for the proxies of constants, textures and surfaces."""
    a, b = side.first, side.second
    proxy = side.pick(*_PROXIES)
    side.declare("x")
    side.declarations["k"] = MEMORY["k"].format(proxy=proxy)
    load, store = _PROXIES[proxy]
    lines = [f"{load}.weak {side.fresh(b)[1:]}, k;"]
    lines.append(f"{store}.weak k, 3;" if store else f"ld.relaxed.gpu {side.fresh(b)[1:]}, x;")
    lines.insert(side.draw(st.integers(0, 2)), f"fence.proxy.{side.pick(proxy, proxy, 'alias')};")
    return [{a: side.store(a)}, *({b: line} for line in lines[: side.draw(st.integers(2, 3))])]


def fences(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    side.declare("f")

    def fence() -> str:
        if side.draw(st.integers(0, 6)) == 0:
            return f"membar.{side.pick('cta', 'gl', 'sys')};"
        kind = side.pick("", ".sc", ".sc", ".acq_rel", ".acquire", ".release")
        return f"fence{kind}.{side.pick(*SCOPES)};"

    if side.draw(st.booleans()):
        return [
            {a: f"st.relaxed.gpu.u32 [f], 1; {fence()} {side.load(a)}"},
            {b: f"{side.store(b)} {fence()} ld.relaxed.gpu.u32 {side.fresh(b)}, [f];"},
        ]
    return [
        {a: f"{side.store(a)} {fence()} st.relaxed.gpu.u32 [f], 1;"},
        {b: f"ld.relaxed.gpu.u32 {side.fresh(b)}, [f]; {fence()}"},
        {b: side.load(b)},
    ]


def restricted_fences(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    release = side.pick(
        "fence.release.sync_restrict::shared::cta.cluster;",
        "fence.release.sync_restrict::shared::cta.cluster;",
        "fence.mbarrier_init.release.cluster;",
    )
    acquire = side.pick("fence.acquire.sync_restrict::shared::cluster.cluster;", "")
    code, address = side.remote(b, "s", a)
    beats: list[Beat] = [{a: f"{side.store(a, 's')} {release}"}, {}]
    for t in side.of_cluster:
        beats[1][t] = "barrier.cluster.arrive.relaxed; barrier.cluster.wait;"
    beats.append({b: f"{acquire} {code} ld.weak.shared::cluster.u32 {side.fresh(b)}, [{address}];"})
    if side.draw(st.integers(0, 4)) < 4:
        beats.append(side.meeting())
    return beats


# Accesses of special kinds.


def volatiles(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    side.declare("x", "f")
    return [
        {a: f"{side.pick('st.volatile.u32', 'st.mmio.relaxed.sys.global.u32', 'st.volatile.global.u32')} [x], 1;"},
        {a: f"{side.pick('st.volatile.u32', 'st.u32', 'st.relaxed.sys.u32')} [f], 1;"},
        {b: f"{side.pick('ld.volatile.u32', 'ld.mmio.relaxed.sys.global.u32')} {side.fresh(b)}, [f];"},
        {b: side.load(b)},
    ]


def constants(side: Side) -> list[Beat]:
    """Loads of what nobody may write meanwhile."""
    a, b = side.first, side.second
    side.declare("x", "c")
    loads = (
        "ld.const.u32 {r}, [c];",
        "ldu.global.u32 {r}, [x+4];",
        "ldu.global.v2.u32 {{{r}, {q}}}, [x+8];",
        "ldu.global.u32 {r}, [x];",
    )
    line = side.pick(*loads).format(r=side.fresh(b), q=side.fresh(b))
    return _shuffled(side, {b: line}, {a: side.access(a)})


def discards(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    side.declare("v")
    reader = side.draw(st.sampled_from((a, a, b)))
    beats: list[Beat] = [
        {a: "discard.global.L2 [v], 128;"},
        {a: f"st.{side.pick('weak', 'relaxed.gpu')}.u8 [v], 1;"},
        {reader: f"ld.weak.u8 {side.fresh(reader, 'rs')}, [v];"},
    ]
    return [*beats[: side.draw(st.integers(2, 3))], {b: side.access(b)}]


# Kernels.


def dependents(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    beats: list[Beat] = [{a: "griddepcontrol.launch_dependents;"}, {a: side.store(a)}]
    if side.draw(st.booleans()):
        beats.reverse()
    return [*beats, *side.draw(st.permutations([{b: "griddepcontrol.wait;"}, {b: side.load(b)}]))]


def kernels(side: Side) -> list[Beat]:
    return [{side.first: side.access(side.first)}, {side.second: side.access(side.second)}]


def hosts(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    side.declare("f")
    before = side.pick("st.relaxed.sys.u32 [f], 1;", "st.weak.u32 [x], 3;", "")
    after = side.pick("ld.relaxed.sys.u32 {r}, [x];", "ld.weak.u32 {r}, [x];", "st.relaxed.sys.u32 [f], 2;").format(
        r=side.fresh(b)
    )
    wait = side.pick("sync k1;", "sync stream 0;", "")
    return [
        {a: side.access(a)},
        {a: f"ld.{side.pick('relaxed.sys', 'weak')}.u32 {side.fresh(a)}, [f];"},
        {b: f"{before} LAUNCH {wait} {after}"},
    ]


# Atomic operations.


def atomics(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    side.declare("x", "f")
    return _shuffled(
        side,
        {a: side.written(a, Writer.atom)},
        {b: side.written(b, side.draw(st.sampled_from((Writer.atom, Writer.red))))},
    )


_PARTS = (
    "atom.relaxed.gpu.global.add.noftz.f16x2 {d}, [x], {one};",
    "red.relaxed.gpu.global.v2.bf16x2.max.noftz [x], {{{one}, {one}}};",
    "atom.relaxed.gpu.global.v2.f32.add {{{f}, {g}}}, [x], {{{f}, {g}}};",
    "red.relaxed.gpu.global.v2.f16x2.max.noftz [x], {{{one}, {one}}};",
    "red.relaxed.gpu.global.add.f32 [x], {f};",
)


def packed_atomics(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    side.declare("x")
    beats: list[Beat] = []
    line = side.pick(*_PARTS)
    one, d, f, g = side.fresh(a), side.fresh(a), side.fresh(a, "f"), side.fresh(a, "f")
    numbers = f"mov.b32 {one}, 0x00010001; mov.b32 {f}, 0x3F800000; mov.b32 {g}, 0x3F800000;"
    beats.append({a: f"{numbers} {line.format(d=d, one=one, f=f, g=g)}"})
    other = side.draw(
        st.sampled_from(
            (
                f"ld.relaxed.gpu.u32 {side.fresh(b)}, [x];",
                f"ld.weak.v2.u32 {{{side.fresh(b)}, {side.fresh(b)}}}, [x];",
                "st.relaxed.gpu.u32 [x], 0x00010001;",
            )
        )
    )
    return _shuffled(side, *beats, {b: other})


# Control and addresses.


def control(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    side.declare("x", "f")
    step = side.draw(st.sampled_from((Writer.branch, Writer.branch, Writer.predicated, Writer.select, Writer.counted)))
    return [{a: side.load(a)}, {a: side.written(a, step)}, {b: side.access(b)}]


def polls(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    side.declare("f")
    p, r, w = side.fresh(b, "p"), side.fresh(b), side.label(b)
    load = f"ld.{side.pick('acquire.gpu', 'acquire.gpu', 'relaxed.gpu')}.u32"
    if side.draw(st.integers(0, 5)) == 0:
        load, operands = "atom.acquire.gpu.exch.b32", "[f], 0"
    else:
        operands = "[f]"
    return [
        {a: side.store(a)},
        {a: f"st.{side.pick('release.gpu', 'release.gpu', 'relaxed.sys')}.u32 [f], 1;"},
        {b: f"{w}: {load} {r}, {operands}; setp.eq.u32 {p}, {r}, 0; @{p} bra {w};"},
        {b: side.load(b)},
    ]


def addresses(side: Side) -> list[Beat]:
    """Addresses that depend on what was read, and pointers in memory."""
    a, b = side.first, side.second
    side.declare("x", "f")
    address, index, wide = (side.writers[b].fresh(bank, keep=False) for bank in ("rd", "r", "rd"))
    if side.draw(st.booleans()):
        read = side.load(b, "f")
        source = side.writers[b].registers["r"][-1]
        how = side.pick(f"and.b32 {index}, {source}, 1;", f"xor.b32 {index}, {source}, {source};")
        code = f"{read} {how} mov.u64 {address}, x; mad.wide.u32 {wide}, {index}, 4, {address};"
        access = side.draw(
            st.sampled_from((f"ld.weak.u32 {side.fresh(b)}, [{wide}];", f"st.relaxed.gpu.u32 [{wide}], 1;"))
        )
        return [
            {a: f"{side.store(a)} st.{side.pick('release.gpu', 'relaxed.gpu')}.u32 [f], 1;"},
            {b: code},
            {b: access},
        ]
    side.declare("q")
    change = f"mov.u64 {side.writers[a].fresh('rd', keep=False)}, f;"
    register = change.split()[1].rstrip(",")
    return [
        {a: f"{change} st.{side.pick('release.gpu', 'relaxed.gpu', 'weak')}.u64 [q], {register};"},
        {
            b: f"ld.{side.pick('acquire.gpu', 'relaxed.gpu')}.u64 {address}, [q]; ld.weak.u32 {side.fresh(b)}, [{address}];"
        },
        {a: side.store(a)},
    ]


class Feature(NamedTuple):
    """`bond` is what its two threads have in common, `mark` is found in the text of every program that has the feature."""

    name: str
    beats: Callable[[Side], list[Beat]]
    mark: str
    bond: str = ""


FEATURES = (
    Feature("sizes", sizes, r"\[x\+\d+\]"),
    Feature("vectors", vectors, r"\.v[24]\.u32"),
    Feature("b128", wide, r"\.b128"),
    Feature("scopes", scopes, r"st\.(release|relaxed)\.\w+\.u32 \[f\]"),
    Feature("windows", windows, r"mapa|cvta", "cluster"),
    Feature("aliases", aliases, r"\[y\]"),
    Feature("CTA barriers", cta_barriers, r"\b(bar|barrier)\.(cta\.)?(sync|arrive|red)", "cta"),
    Feature("warp barriers", warp_barriers, r"bar\.warp\.sync", "warp"),
    Feature("collectives", collectives, r"(shfl|redux|vote|match|elect)\.", "warp"),
    Feature("cluster barriers", cluster_barriers, r"barrier\.cluster\.arrive", "cluster"),
    Feature("mbarrier objects", objects, r"mbarrier\.(test|try)_wait", "cta"),
    Feature("states of objects", own_objects, r"mbarrier\.arrive\.shared\.b64 %rd"),
    Feature("remote arrivals", remote_arrivals, r"mbarrier\.arrive[a-z.]*\.shared::cluster", "cluster"),
    Feature("copies in groups", copy_groups, r"cp\.async\.c[ag]"),
    Feature("copies with objects", copy_objects, r"cp\.async\.mbarrier\.arrive", "cta"),
    Feature("bulk copies with objects", bulk_objects, r"cp\.async\.bulk\.shared::cluster\.global", "cta"),
    Feature("bulk copies to clusters", bulk_clusters, r"bulk\.shared::cluster\.(shared|global\S*multicast)", "cluster"),
    Feature("bulk copies in groups", bulk_groups, r"cp\.async\.bulk\.global\.shared"),
    Feature("bulk reductions", bulk_reductions, r"cp\.reduce\.async\.bulk"),
    Feature("asynchronous releases", async_releases, r"(st|red)\.async\.release"),
    Feature("asynchronous stores", async_stores, r"st\.async\.(weak\.)?shared", "cluster"),
    Feature("asynchronous reductions", async_reductions, r"red\.async\.relaxed", "cluster"),
    Feature("async fences", async_fences, r"fence\.proxy\.async"),
    Feature("tensormap fences", tensormap_fences, r"fence\.proxy\.tensormap"),
    Feature("texture loads", texture_loads, r"ld\.global\.nc"),
    Feature("proxies of the short dialect", short_proxies, r"(cold|tld|suld)\.", "short"),
    Feature("fences", fences, r"(fence(\.(sc|acq_rel|acquire|release))?\.(cta|cluster|gpu|sys)|membar\.\w+);"),
    Feature("restricted fences", restricted_fences, r"sync_restrict|mbarrier_init", "cluster"),
    Feature("volatile and mmio", volatiles, r"(ld|st)\.(volatile|mmio)"),
    Feature("constants", constants, r"ldu|ld\.const"),
    Feature("discards", discards, r"discard"),
    Feature("dependents", dependents, r"griddepcontrol", "kernels"),
    Feature("kernels", kernels, r"kernel k2", "kernels"),
    Feature("hosts", hosts, r"@host", "host"),
    Feature("atomics", atomics, r"(atom|red)\.[a-z_.]*(u32|b32)"),
    Feature("packed atomics", packed_atomics, r"(atom|red)\.relaxed\.gpu\.global\.\S*(f32|f16x2|bf16x2)"),
    Feature("control", control, r"setp|bra "),
    Feature("polls", polls, r"@%p\d+ bra w"),
    Feature("addresses", addresses, r"mad\.wide|\[q\]"),
)  # fmt: skip

__all__ = ["FEATURES", "MEMORY", "Beat", "Feature", "Side"]
