"""What mbarrier objects, asynchronous operations and the fences for them contribute to a generated program."""

from __future__ import annotations

from hypothesis import strategies as st
from pair_side import Beat, Side

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
    side.writers[a].prelude.append(f"mov.u64 {state}, 0;")
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
    at, bits = side.draw(st.sampled_from((("w", 64), ("w", 64), ("x", 32))))
    side.declare(at, "s")
    how = side.pick(f"or.b{bits}", f"max.u{bits}", f"add.u{bits}")
    register = side.fresh(b, "rd" if bits == 64 else "r")
    other = side.pick(
        f"atom.relaxed.gpu.global.add.u{bits} {register}, [{at}], 1;", f"ld.relaxed.gpu.u{bits} {register}, [{at}];"
    )
    return [
        {a: f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{how} [{at}], [s], 16;"},
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
