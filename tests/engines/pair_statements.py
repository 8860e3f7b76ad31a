"""What features of threads contribute to a generated program: accesses, scopes, barriers, fences, kernels, control."""

from __future__ import annotations

from functools import partial

from generated import SCOPES, Writer
from generated_sizes import SizedAccesses
from generated_warps import TOGETHER
from hypothesis import strategies as st
from pair_side import MEMORY, Beat, Side, shuffled

# Bytes.


def sizes(side: Side) -> list[Beat]:
    """Two accesses of any sizes, of one thread or of both; mostly where other features have few."""
    side.declare("x")
    threads = side.draw(st.sampled_from(((side.first,) * 2, (side.first, side.second))))
    base = side.draw(st.sampled_from((8, 8, 0)))
    beats: list[Beat] = []
    for thread in threads:
        beats.append({thread: SizedAccesses(side.draw, partial(side.fresh, thread), base).access()})
    return shuffled(side, *beats)


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
    return shuffled(side, {a: f"st.{semantics}.global.v{count}.u32 {address}, {{{numbers}}};"}, {b: load})


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
    return shuffled(side, {a: f"{made} {write}"}, {b: load})


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
    return shuffled(side, {b: line}, {a: side.access(a)})


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
    return shuffled(
        side,
        {a: side.written(a, Writer.atom)},
        {b: side.written(b, side.draw(st.sampled_from((Writer.atom, Writer.red))))},
    )


#: Atomic operations on several elements, each with what another thread may do to one of them.
_PARTS = (
    ("atom.relaxed.gpu.global.add.noftz.f16x2 {r}, [{at}], {one};", "ld.relaxed.gpu.u16 {h}, [{at}];"),
    ("red.relaxed.gpu.global.v2.bf16x2.max.noftz [{at}], {{{one}, {one}}};", "st.relaxed.gpu.u16 [{at}], 1;"),
    ("red.relaxed.gpu.global.v2.f16x2.max.noftz [{at}], {{{one}, {one}}};", "ld.relaxed.gpu.u16 {h}, [{at}+2];"),
    ("red.relaxed.gpu.global.add.f32 [{at}], {f};", "ld.relaxed.gpu.u32 {d}, [{at}];"),
    ("atom.relaxed.gpu.global.v2.f32.add {{{f}, {g}}}, [{at}], {{{f}, {g}}};", "ld.weak.v2.u32 {{{d}, {e}}}, [{at}];"),
)


def packed_atomics(side: Side) -> list[Beat]:
    a, b = side.first, side.second
    at = side.pick("w", "w", "x")
    side.declare(at)
    operation, other = side.draw(st.sampled_from(_PARTS))
    one, f, g = side.writers[a].fresh("r", keep=False), side.fresh(a, "f"), side.fresh(a, "f")
    numbers = f"mov.b32 {one}, 0x00010001;" if "{one}" in operation else ""
    if "{f}" in operation:
        numbers = f"mov.b32 {f}, 0x3F800000; mov.b32 {g}, 0x3F800000;"
    names = {"r": side.fresh(a), "h": side.fresh(b, "rs"), "d": side.fresh(b), "e": side.fresh(b)}
    return shuffled(
        side,
        {a: f"{numbers} {operation.format(at=at, one=one, f=f, g=g, **names)}"},
        {b: other.format(at=at, **names)},
    )


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
            {b: f"{code} {access}"},
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
