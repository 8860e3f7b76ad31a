"""The pins of the whole model: what ptx-9.0 says of bytes, barriers, mbarrier objects, asynchronous operations and proxies.

Each pin is a program with an outcome that is allowed or forbidden, and the races that some execution has: `-` none; `race`
some that leave the program its meaning; `async`, `mixed-size` such as make it undefined, where the outcome is what the
executions show all the same; `misuse` some other reason for being undefined. Names that begin with P, M or Q and a number are
those of the tables that these were taken from. What stands in tests/support/pins.py and tests/support/asynchronous_cases.py is not repeated.
"""

# ruff: noqa: E501
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelPin:
    name: str
    about: str
    init: str
    threads: tuple[str, ...]
    outcome: str
    verdict: str
    races: str = "-"

    def litmus(self) -> str:
        """The pin as a litmus test whose `exists` asks for the outcome."""
        blocks = [
            f"P{number}@{place} {{\n{code.strip()}\n}}"
            for number, (place, _, code) in enumerate(thread.partition(": ") for thread in self.threads)
        ]
        lines = [f"PTX {self.name}", f'"{self.about}"', f"{{ {self.init} }}", *blocks, f"exists ({self.outcome})", ""]
        return "\n".join(lines)


_A, _F = "allow", "forbid"
_X = ".global .u32 x = 0;"
_XF = ".global .u32 x = 0; .global .u32 f = 0;"
_XM = ".global .u32 x = 0; .shared .u64 m;"
#: An mbarrier object for one arrival, ready before the other thread of the CTA goes on.
_READY = "mbarrier.init.shared.b64 [m], 1; bar.sync 0, 64;"
_READY_2 = "mbarrier.init.shared.b64 [m], 2; bar.sync 0, 96;"
_WAIT = ".reg .pred p; w: mbarrier.try_wait.parity.shared.b64 p, [m], 0; @!p bra w;"
_WAIT_RELAXED = ".reg .pred p; w: mbarrier.try_wait.parity.relaxed.cta.shared.b64 p, [m], 0; @!p bra w;"
_LD = "ld.weak.u32 %r1, [x];"
_CLUSTER = "barrier.cluster.arrive; barrier.cluster.wait;"
_ASYNC_INIT = "mbarrier.init.shared.b64 [m], 1; fence.mbarrier_init.release.cluster;"
_BULK = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [d], [g], 16, [m];"
_EXPECT = "mbarrier.arrive.expect_tx.shared.b64 _, [m], 16;"

# fmt: off
PINS: tuple[ModelPin, ...] = (
    # Kept back from the tables, of the kind that tests/support/pins.py has.
    ModelPin("P03", "load buffering with control dependencies", ".global .u32 x = 0; .global .u32 y = 0;",
        ("cta 0: ld.relaxed.gpu.u32 %r0, [x]; .reg .pred p; setp.eq.u32 p, %r0, 1; @p st.relaxed.gpu.u32 [y], 1;",
         "cta 1: ld.relaxed.gpu.u32 %r1, [y]; .reg .pred p; setp.eq.u32 p, %r1, 1; @p st.relaxed.gpu.u32 [x], 1;"),
        r"0:%r0 = 1 /\ 1:%r1 = 1", _F),
    ModelPin("P06", "CoRR, relaxed then weak: nothing observes through the second", _X,
        ("cta 0: st.relaxed.gpu.u32 [x], 1;", "cta 1: ld.relaxed.gpu.u32 %r0, [x]; ld.weak.u32 %r1, [x];"),
        r"1:%r0 = 1 /\ 1:%r1 = 0", _F, "race"),
    ModelPin("P09", "weak stores: two observers may disagree", _X,
        ("cta 0: st.weak.u32 [x], 1;", "cta 1: st.weak.u32 [x], 2;",
         "cta 2: ld.acquire.sys.u32 %r0, [x]; ld.acquire.sys.u32 %r1, [x];",
         "cta 3: ld.acquire.sys.u32 %r2, [x]; ld.acquire.sys.u32 %r3, [x];"),
        r"2:%r0 = 1 /\ 2:%r1 = 2 /\ 3:%r2 = 2 /\ 3:%r3 = 1", _A, "race"),
    ModelPin("P12b", "fence.sc is an acquire fence", _XF,
        ("cta 0: st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1;",
         f"cta 1: ld.relaxed.gpu.u32 %r0, [f]; fence.sc.gpu; {_LD}"), r"1:%r0 = 1 /\ 1:%r1 = 0", _F, "race"),
    ModelPin("P15b", "acquire pattern, case 2, but the first read is weak", _XF,
        ("cta 0: st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1;", "cta 1: st.relaxed.gpu.u32 [f], 2;",
         f"cta 2: ld.weak.u32 %r0, [f]; ld.acquire.gpu.u32 %r2, [f]; {_LD}"),
        r"2:%r0 = 1 /\ 2:%r2 = 2 /\ 2:%r1 = 0", _A, "race"),
    ModelPin("P22", "volatile is relaxed at system scope: with fences it carries a message", _XF,
        ("cta 0,gpu 0: st.weak.u32 [x], 1; fence.acq_rel.sys; st.volatile.u32 [f], 1;",
         f"cta 1,gpu 1: ld.volatile.u32 %r0, [f]; fence.acq_rel.sys; {_LD}"), r"1:%r0 = 1 /\ 1:%r1 = 0", _F, "race"),
    ModelPin("P22d", "mmio is relaxed at system scope", _XF,
        ("cta 0,gpu 0: st.weak.u32 [x], 1; fence.acq_rel.sys; st.mmio.relaxed.sys.global.u32 [f], 1;",
         f"cta 1,gpu 1: ld.mmio.relaxed.sys.global.u32 %r0, [f]; fence.acq_rel.sys; {_LD}"),
        r"1:%r0 = 1 /\ 1:%r1 = 0", _F, "race"),
    ModelPin("P23", "store buffering with fence.sc of one scope", ".global .u32 x = 0; .global .u32 y = 0;",
        ("cta 0: st.weak.u32 [x], 1; fence.sc.gpu; ld.weak.u32 %r0, [y];",
         "cta 1: st.weak.u32 [y], 1; fence.sc.gpu; ld.weak.u32 %r1, [x];"), r"0:%r0 = 0 /\ 1:%r1 = 0", _F, "race"),
    ModelPin("P26", "bar.sync between writer and reader", _X,
        ("cta 0: st.weak.u32 [x], 1; bar.sync 0, 64;", f"cta 0: bar.sync 0, 64; {_LD}"), "1:%r1 = 0", _F),
    ModelPin("P26d", "bar.red synchronizes too", _X,
        ("cta 0: .reg .pred p; setp.eq.u32 p, 0, 0; st.weak.u32 [x], 1; bar.red.popc.u32 %r2, 0, 64, p;",
         f"cta 0: .reg .pred p; setp.eq.u32 p, 0, 0; bar.red.popc.u32 %r2, 0, 64, p; {_LD}"), "1:%r1 = 0", _F),
    ModelPin("P26e", "barriers of different ids are different barriers", _X,
        ("cta 0: st.weak.u32 [x], 1; bar.arrive 1, 64; bar.sync 0, 64;", f"cta 0: bar.arrive 0, 64; bar.sync 1, 64; {_LD}"),
        "1:%r1 = 0", _F),
    ModelPin("P27", "bar.sync is no release fence", _XF,
        ("cta 0: st.weak.u32 [x], 1; bar.sync 0, 32; st.relaxed.gpu.u32 [f], 1;",
         f"cta 1: ld.acquire.gpu.u32 %r0, [f]; {_LD}"), r"1:%r0 = 1 /\ 1:%r1 = 0", _A, "race"),
    ModelPin("P27d", "nor inside its CTA", _XF,
        ("cta 0: st.weak.u32 [x], 1; bar.sync 1, 32; st.relaxed.cta.u32 [f], 1;",
         f"cta 0: ld.acquire.cta.u32 %r0, [f]; {_LD}"), r"1:%r0 = 1 /\ 1:%r1 = 0", _A, "race"),
    ModelPin("P38", "an alias without a fence of aliases", _XF + " y @ generic aliases x;",
        ("cta 0: st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1;", "cta 1: ld.acquire.gpu.u32 %r0, [f]; ld.weak.u32 %r1, [y];"),
        r"1:%r0 = 1 /\ 1:%r1 = 0", _A, "race"),

    # Bytes.
    ModelPin("P24", "weak accesses may tear", ".global .u16 x = 0;",
        ("cta 0: st.weak.u16 [x], 0x0101;", "cta 1: ld.weak.u16 %rs0, [x];"), "1:%rs0 = 1", _A, "race"),
    ModelPin("P24b", "relaxed ones do not", ".global .u16 x = 0;",
        ("cta 0: st.relaxed.gpu.u16 [x], 0x0101;", "cta 1: ld.relaxed.gpu.u16 %rs0, [x];"), "1:%rs0 = 1", _F),
    ModelPin("P24c", "but where their scopes are too narrow", ".global .u16 x = 0;",
        ("cta 0: st.relaxed.cta.u16 [x], 0x0101;", "cta 1: ld.relaxed.cta.u16 %rs0, [x];"), "1:%rs0 = 1", _A, "race"),
    ModelPin("P25", "bytes written apart are read together", ".global .u16 x = 0;" + " .global .u32 f = 0;",
        ("cta 0: st.weak.u8 [x], 1; st.weak.u8 [x+1], 2; st.release.gpu.u32 [f], 1;",
         "cta 1: .reg .pred p; ld.acquire.gpu.u32 %r0, [f]; setp.eq.u32 p, %r0, 1; @p ld.weak.u16 %rs0, [x];"),
        r"1:%r0 = 1 /\ 1:%rs0 != 0x0201", _F),
    ModelPin("P25b", "accesses of one thread that overlap in part are ordered", _X,
        ("cta 0: st.weak.u32 [x], 0x01020304; ld.weak.u8 %rs0, [x+1];",), "0:%rs0 != 3", _F),
    ModelPin("P25c", "a mixed-size race voids the axioms", _X,
        ("cta 0: st.relaxed.gpu.u32 [x], 0x0101;", "cta 1: ld.relaxed.gpu.u16 %rs0, [x];"), "true", _A, "mixed-size"),
    ModelPin("P42", "a flag of another width never synchronizes", _XF,
        ("cta 0: st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1;", f"cta 1: ld.acquire.gpu.u16 %rs0, [f]; {_LD}"),
        r"1:%rs0 = 1 /\ 1:%r1 = 0", _A, "mixed-size"),
    ModelPin("Q01", "each element of a vector atomic is atomic by itself", ".global .align 8 .u32 x[2];",
        ("cta 0: atom.relaxed.gpu.global.add.v2.f32 {%f0, %f1}, [x], {0f3f800000, 0f3f800000}; mov.b32 %r0, %f0; mov.b32 %r1, %f1;",
         "cta 1: atom.relaxed.gpu.global.add.v2.f32 {%f0, %f1}, [x], {0f3f800000, 0f3f800000}; mov.b32 %r0, %f0; mov.b32 %r1, %f1;"),
        r"0:%r0 = 0 /\ 0:%r1 = 0x3f800000 /\ 1:%r0 = 0x3f800000 /\ 1:%r1 = 0", _A),
    ModelPin("Q02", "both elements cannot be lost", ".global .align 8 .u32 x[2];",
        ("cta 0: atom.relaxed.gpu.global.add.v2.f32 {%f0, %f1}, [x], {0f3f800000, 0f3f800000}; mov.b32 %r0, %f0;",
         "cta 1: atom.relaxed.gpu.global.add.v2.f32 {%f0, %f1}, [x], {0f3f800000, 0f3f800000}; mov.b32 %r0, %f0;"),
        r"0:%r0 = 0 /\ 1:%r0 = 0", _F),
    ModelPin("Q03", "atomic operations that overlap in part are atomic all the same", ".global .align 8 .u32 x[2];",
        ("cta 0: atom.relaxed.gpu.global.add.u64 %rd0, [x], 0x0000000100000001;",
         "cta 1: atom.relaxed.gpu.global.add.u32 %r0, [x+4], 1;"), "x[1] = 1", _F, "mixed-size"),
    ModelPin("Q22", "a vector store may be seen in part", ".global .align 16 .u32 x[4];",
        ("cta 0: st.weak.global.v4.u32 [x], {1, 1, 1, 1};", "cta 1: ld.weak.global.v4.u32 {%r0, %r1, %r2, %r3}, [x];"),
        r"1:%r0 = 1 /\ 1:%r1 = 0 /\ 1:%r2 = 1 /\ 1:%r3 = 0", _A, "race"),
    ModelPin("coWW-parts", "the halves of a word that one thread writes stay in order", _X,
        ("cta 0: st.weak.u32 [x], 0x00010001; st.weak.u16 [x+2], 2;",), "x != 0x00020001", _F),
    ModelPin("b128", "an access of 16 bytes is one access", ".global .align 16 .u64 x[2];",
        ("cta 0: .reg .b128 %b; mov.b128 %b, {1, 1}; st.relaxed.gpu.global.b128 [x], %b;",
         "cta 1: .reg .b128 %b; ld.relaxed.gpu.global.b128 %b, [x]; mov.b128 {%rd0, %rd1}, %b;"),
        r"1:%rd0 = 1 /\ 1:%rd1 = 0", _F),

    # Barriers of clusters and warps.
    ModelPin("P28", "barrier.cluster releases and acquires by default", _X,
        (f"cta 0,cluster 0: st.weak.u32 [x], 1; {_CLUSTER}", f"cta 1,cluster 0: {_CLUSTER} {_LD}"), "1:%r1 = 0", _F),
    ModelPin("P28b", "a relaxed arrival releases nothing", _X,
        ("cta 0,cluster 0: st.weak.u32 [x], 1; barrier.cluster.arrive.relaxed; barrier.cluster.wait;",
         f"cta 1,cluster 0: barrier.cluster.arrive.relaxed; barrier.cluster.wait; {_LD}"), "1:%r1 = 0", _A, "race"),
    ModelPin("P28c", "unless a fence does", _X,
        ("cta 0,cluster 0: st.weak.u32 [x], 1; fence.acq_rel.cluster; barrier.cluster.arrive.relaxed; barrier.cluster.wait;",
         f"cta 1,cluster 0: barrier.cluster.arrive.relaxed; barrier.cluster.wait; {_LD}"), "1:%r1 = 0", _F),
    ModelPin("P28d", "what stands between arrival and wait is not ordered", _X,
        ("cta 0,cluster 0: barrier.cluster.arrive; st.weak.u32 [x], 1; barrier.cluster.wait;",
         f"cta 1,cluster 0: {_CLUSTER} {_LD}"), "1:%r1 = 0", _A, "race"),
    ModelPin("P28e", "a fence of the CTA is too narrow for a cluster", _X,
        ("cta 0,cluster 0: st.weak.u32 [x], 1; fence.acq_rel.cta; barrier.cluster.arrive.relaxed; barrier.cluster.wait;",
         f"cta 1,cluster 0: barrier.cluster.arrive.relaxed; barrier.cluster.wait; {_LD}"), "1:%r1 = 0", _A, "race"),
    ModelPin("warp", "bar.warp.sync orders memory among its threads", _X,
        ("cta 0,warp 0: st.weak.u32 [x], 1; bar.warp.sync 3;", f"cta 0,warp 0: bar.warp.sync 3; {_LD}"), "1:%r1 = 0", _F),
    ModelPin("shuffle", "shfl orders no memory", _X,
        ("cta 0,warp 0: st.weak.u32 [x], 1; shfl.sync.idx.b32 %r2, 5, 0, 31, 3;",
         f"cta 0,warp 0: shfl.sync.idx.b32 %r2, 5, 0, 31, 3; {_LD}"), "1:%r1 = 0", _A, "race"),
    ModelPin("Q15", "load buffering through a shuffle", ".global .u32 x = 0; .global .u32 y = 0;",
        ("cta 0,warp 0: ld.relaxed.gpu.u32 %r0, [x]; shfl.sync.idx.b32 %r2, %r0, 0, 31, 3;",
         "cta 0,warp 0: shfl.sync.idx.b32 %r2, 0, 0, 31, 3; st.relaxed.gpu.u32 [y], %r2;",
         "cta 1,warp 1: ld.relaxed.gpu.u32 %r1, [y]; st.relaxed.gpu.u32 [x], %r1;"), "2:%r1 != 0", _F),
    ModelPin("Q19", "one instance of a barrier with two counts", _X,
        ("cta 0: bar.sync 0, 64;", "cta 0: bar.sync 0, 96;", "cta 0: bar.sync 0, 96;"), "true", "", "misuse"),

    # mbarrier objects.
    ModelPin("P29", "an mbarrier object hands a message over", _XM,
        (f"cta 0: {_READY} st.weak.u32 [x], 1; mbarrier.arrive.shared.b64 _, [m];", f"cta 0: bar.sync 0, 64; {_WAIT} {_LD}"),
        "1:%r1 = 0", _F),
    ModelPin("P29b", "a relaxed arrival releases nothing", _XM,
        (f"cta 0: {_READY} st.weak.u32 [x], 1; mbarrier.arrive.relaxed.cta.shared.b64 _, [m];",
         f"cta 0: bar.sync 0, 64; {_WAIT} {_LD}"), "1:%r1 = 0", _A, "race"),
    ModelPin("P29c", "fences beside relaxed operations", _XM,
        (f"cta 0: {_READY} st.weak.u32 [x], 1; fence.release.cta; mbarrier.arrive.relaxed.cta.shared.b64 _, [m];",
         f"cta 0: bar.sync 0, 64; {_WAIT_RELAXED} fence.acquire.cta; {_LD}"), "1:%r1 = 0", _F),
    ModelPin("P29d", "a relaxed wait acquires nothing", _XM,
        (f"cta 0: {_READY} st.weak.u32 [x], 1; mbarrier.arrive.shared.b64 _, [m];",
         f"cta 0: bar.sync 0, 64; {_WAIT_RELAXED} {_LD}"), "1:%r1 = 0", _A, "race"),
    ModelPin("P29e", "a remote arrival of the cluster's scope and a wait of the CTA's", _XM,
        (f"cta 1,cluster 0: {_CLUSTER} st.weak.u32 [x], 1; mov.u32 %r8, m; mapa.shared::cluster.u32 %r9, %r8, 0; "
         "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];",
         f"cta 0,cluster 0: mbarrier.init.shared.b64 [m], 1; {_CLUSTER} {_WAIT} {_LD}"), "1:%r1 = 0", _A, "race"),
    ModelPin("P29f", "a remote arrival and a wait of the cluster's scope", _XM,
        (f"cta 1,cluster 0: {_CLUSTER} st.weak.u32 [x], 1; mov.u32 %r8, m; mapa.shared::cluster.u32 %r9, %r8, 0; "
         "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];",
         f"cta 0,cluster 0: mbarrier.init.shared.b64 [m], 1; {_CLUSTER} .reg .pred p; "
         f"w: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [m], 0; @!p bra w; {_LD}"), "1:%r1 = 0", _F),
    ModelPin("P30", "every arrival of the phase counts, not only the last", _XM,
        (f"cta 0: {_READY_2} st.weak.u32 [x], 1; mbarrier.arrive.shared.b64 _, [m];",
         f"cta 0: bar.sync 0, 96; {_WAIT} {_LD}",
         "cta 0: bar.sync 0, 96; mbarrier.arrive.relaxed.cta.shared.b64 _, [m];"), "1:%r1 = 0", _F),
    ModelPin("drop", "arrive_drop releases too", _XM,
        (f"cta 0: {_READY} st.weak.u32 [x], 1; mbarrier.arrive_drop.shared.b64 _, [m];",
         f"cta 0: bar.sync 0, 64; {_WAIT} {_LD}"), "1:%r1 = 0", _F),
    ModelPin("Q16", "a wait that returns false acquires nothing", _XM,
        (f"cta 0: {_READY} st.weak.u32 [x], 1; mbarrier.arrive.shared.b64 _, [m];",
         "cta 0: bar.sync 0, 64; .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [m], 0; "
         f"selp.u32 %r0, 1, 0, p; {_LD}"), r"1:%r0 = 0 /\ 1:%r1 = 0", _A, "race"),
    ModelPin("Q17", "a wait that returns true does", _XM,
        (f"cta 0: {_READY} st.weak.u32 [x], 1; mbarrier.arrive.shared.b64 _, [m];",
         "cta 0: bar.sync 0, 64; .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [m], 0; "
         f"selp.u32 %r0, 1, 0, p; {_LD}"), r"1:%r0 = 1 /\ 1:%r1 = 0", _F, "race"),
    ModelPin("Q18", "an arrival in a phase although nobody waited for the one before", _XM,
        (f"cta 0: {_READY} st.weak.u32 [x], 1; mbarrier.arrive.shared.b64 _, [m]; mbarrier.arrive.relaxed.cta.shared.b64 _, [m];",
         "cta 0: bar.sync 0, 64; .reg .pred p; w: mbarrier.try_wait.parity.shared.b64 p, [m], 1; @!p bra w;"),
        "true", "", "misuse"),
    ModelPin("A9", "a wait for a phase acquires nothing of earlier phases", _XM,
        ("cta 0: mbarrier.init.shared.b64 [m], 1; bar.sync 0, 96; st.weak.u32 [x], 1; mbarrier.arrive.shared.b64 _, [m];",
         f"cta 0: bar.sync 0, 96; {_WAIT} mbarrier.arrive.relaxed.cta.shared.b64 _, [m];",
         f"cta 0: bar.sync 0, 96; {_WAIT_RELAXED} v: mbarrier.try_wait.parity.shared.b64 p, [m], 1; @!p bra v; {_LD}"),
        "2:%r1 = 0", _A, "race"),
    ModelPin("uninitialised", "an operation on what is no mbarrier object", _XM,
        ("cta 0: mbarrier.arrive.shared.b64 _, [m];",), "true", "", "misuse"),
    ModelPin("overwritten", "an ordinary store into a valid object", _XM,
        ("cta 0: mbarrier.init.shared.b64 [m], 1; st.shared.u64 [m], 0;",), "true", "", "misuse"),
    ModelPin("unordered-init", "an arrival that its object's initialisation is not ordered before", ".shared .u64 m; .global .u32 f = 0;",
        ("cta 0: mbarrier.init.shared.b64 [m], 1; st.relaxed.cta.u32 [f], 1;",
         "cta 0: ld.relaxed.cta.u32 %r0, [f]; .reg .pred p; setp.eq.u32 p, %r0, 0; @p exit; mbarrier.arrive.shared.b64 _, [m];"),
        "1:%r0 = 1", "", "misuse"),

    # Initialisations and asynchronous use.
    ModelPin("Q12", "a bulk copy into an object whose initialisation no fence took to the async proxy",
        ".global .align 16 .u32 g[4]; .shared .align 16 .u32 d[4]; .shared .u64 m;",
        ("cta 0: mbarrier.init.shared.b64 [m], 1; bar.sync 0, 64; .reg .pred p; "
         "w: mbarrier.try_wait.parity.shared.b64 p, [m], 0; @!p bra w;",
         f"cta 0: bar.sync 0, 64; {_EXPECT} {_BULK}"), "true", "", "misuse"),
    ModelPin("Q12b", "with fence.proxy.async", ".global .align 16 .u32 g[4]; .shared .align 16 .u32 d[4]; .shared .u64 m;",
        ("cta 0: mbarrier.init.shared.b64 [m], 1; fence.proxy.async; bar.sync 0, 64; .reg .pred p; "
         "w: mbarrier.try_wait.parity.shared.b64 p, [m], 0; @!p bra w;",
         f"cta 0: bar.sync 0, 64; {_EXPECT} {_BULK}"), "true", _A),
    ModelPin("Q12c", "with fence.mbarrier_init",
        ".global .align 16 .u32 g[4]; .shared .align 16 .u32 d[4]; .shared .u64 m;",
        (f"cta 0: {_ASYNC_INIT} bar.sync 0, 64; .reg .pred p; "
         "w: mbarrier.try_wait.parity.shared.b64 p, [m], 0; @!p bra w;",
         f"cta 0: bar.sync 0, 64; {_EXPECT} {_BULK}"), "true", _A),
    ModelPin("Q12d", "with a fence of the async proxy for the space of the object, in the thread that copies",
        ".global .align 16 .u32 g[4]; .shared .align 16 .u32 d[4]; .shared .u64 m;",
        ("cta 0: mbarrier.init.shared.b64 [m], 1; bar.sync 0, 64; .reg .pred p; "
         "w: mbarrier.try_wait.parity.shared.b64 p, [m], 0; @!p bra w;",
         f"cta 0: bar.sync 0, 64; fence.proxy.async.shared::cta; {_EXPECT} {_BULK}"), "true", _A),
    ModelPin("Q12e", "with one for another space",
        ".global .align 16 .u32 g[4]; .shared .align 16 .u32 d[4]; .shared .u64 m;",
        ("cta 0: mbarrier.init.shared.b64 [m], 1; fence.proxy.async.global; bar.sync 0, 64; .reg .pred p; "
         "w: mbarrier.try_wait.parity.shared.b64 p, [m], 0; @!p bra w;",
         f"cta 0: bar.sync 0, 64; {_EXPECT} {_BULK}"), "true", "", "misuse"),
    ModelPin("Q12f", "with a restricted fence, which is about no proxies",
        ".global .align 16 .u32 g[4]; .shared .align 16 .u32 d[4]; .shared .u64 m;",
        ("cta 0: mbarrier.init.shared.b64 [m], 1; fence.release.sync_restrict::shared::cta.cluster; bar.sync 0, 64; "
         ".reg .pred p; w: mbarrier.try_wait.parity.shared.b64 p, [m], 0; @!p bra w;",
         f"cta 0: bar.sync 0, 64; {_EXPECT} {_BULK}"), "true", "", "misuse"),
    ModelPin("P44", "a bulk copy over what was read generically, without a fence of proxies",
        ".global .align 16 .u32 g[4] = {1, 1, 1, 1}; .shared .align 16 .u32 d[4]; .shared .u64 m; .shared .u64 e;",
        (f"cta 0: {_ASYNC_INIT} mbarrier.init.shared.b64 [e], 1; bar.sync 0, 64; ld.weak.shared.u32 %r1, [d]; "
         "mbarrier.arrive.shared.b64 _, [e];",
         "cta 0: bar.sync 0, 64; .reg .pred p; v: mbarrier.try_wait.parity.shared.b64 p, [e], 0; @!p bra v; "
         f"{_EXPECT} {_BULK} w: mbarrier.try_wait.parity.shared.b64 p, [m], 0; @!p bra w;"), "0:%r1 = 1", _A, "race"),
    ModelPin("P44b", "with the fence",
        ".global .align 16 .u32 g[4] = {1, 1, 1, 1}; .shared .align 16 .u32 d[4]; .shared .u64 m; .shared .u64 e;",
        (f"cta 0: {_ASYNC_INIT} mbarrier.init.shared.b64 [e], 1; bar.sync 0, 64; ld.weak.shared.u32 %r1, [d]; "
         "mbarrier.arrive.shared.b64 _, [e];",
         "cta 0: bar.sync 0, 64; .reg .pred p; v: mbarrier.try_wait.parity.shared.b64 p, [e], 0; @!p bra v; fence.proxy.async; "
         f"{_EXPECT} {_BULK} w: mbarrier.try_wait.parity.shared.b64 p, [m], 0; @!p bra w;"), "0:%r1 = 1", _F),

    ModelPin("C40", "reductions of bulk copies and atomic operations of threads lose nothing of each other",
        ".global .align 16 .u32 g[4]; .shared .align 16 .u32 d[4] = {1, 1, 1, 1};",
        ("cta 0: cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [g], [d], 16; cp.async.bulk.commit_group; "
         "cp.async.bulk.wait_group 0;", "cta 1: atom.relaxed.gpu.global.add.u32 %r0, [g], 1;"), "g[0] != 2", _F, "race"),
    ModelPin("C40b", "reductions of two bulk copies neither",
        ".global .align 16 .u32 g[4]; .shared .align 16 .u32 d[4] = {1, 1, 1, 1};",
        ("cta 0: cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [g], [d], 16; cp.async.bulk.commit_group; "
         "cp.async.bulk.wait_group 0;",
         "cta 1: cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [g], [d], 16; cp.async.bulk.commit_group; "
         "cp.async.bulk.wait_group 0;"), "g[0] != 2", _F),

    # Fences that are about some operations only.
    ModelPin("Q09", "what a one-way fence of proxies synchronizes orders no generic accesses", _XF + " .global .align 128 .u32 t[32];",
        ("cta 0: st.weak.u32 [x], 1; fence.proxy.tensormap::generic.release.gpu; st.relaxed.gpu.u32 [f], 1;",
         "cta 1: ld.relaxed.gpu.u32 %r0, [f]; fence.proxy.tensormap::generic.acquire.gpu [t], 128; ld.weak.u32 %r1, [x];"),
        r"1:%r0 = 1 /\ 1:%r1 = 0", _A, "race"),
    ModelPin("Q13", "a fence of shared memory says nothing of global memory", ".global .u32 y = 0; .shared .u64 m;",
        (f"cta 1,cluster 0: {_CLUSTER} st.weak.u32 [y], 1; mov.u32 %r8, m; mapa.shared::cluster.u32 %r9, %r8, 0; "
         "fence.release.sync_restrict::shared::cta.cluster; mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r9];",
         f"cta 0,cluster 0: mbarrier.init.shared.b64 [m], 1; {_CLUSTER} .reg .pred p; "
         "w: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [m], 0; @!p bra w; ld.weak.u32 %r1, [y];"),
        "1:%r1 = 0", _A, "race"),
    ModelPin("Q13b", "but of shared memory", ".shared .u32 x; .shared .u64 m;",
        (f"cta 1,cluster 0: {_CLUSTER} st.weak.shared.u32 [x], 1; mov.u32 %r8, m; mapa.shared::cluster.u32 %r9, %r8, 0; "
         "fence.release.sync_restrict::shared::cta.cluster; mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r9]; "
         + _CLUSTER,
         f"cta 0,cluster 0: mbarrier.init.shared.b64 [m], 1; {_CLUSTER} .reg .pred p; mov.u32 %r8, x; "
         "mapa.shared::cluster.u32 %r9, %r8, 1; "
         "w: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [m], 0; @!p bra w; "
         f"ld.weak.shared::cluster.u32 %r1, [%r9]; {_CLUSTER}"), "1:%r1 = 0", _F),
    ModelPin("Q13c", "both sides restricted", ".shared .u32 x; .shared .u64 m;",
        (f"cta 1,cluster 0: {_CLUSTER} st.weak.shared.u32 [x], 1; mov.u32 %r8, m; mapa.shared::cluster.u32 %r9, %r8, 0; "
         "fence.release.sync_restrict::shared::cta.cluster; mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r9]; "
         + _CLUSTER,
         f"cta 0,cluster 0: mbarrier.init.shared.b64 [m], 1; {_CLUSTER} .reg .pred p; mov.u32 %r8, x; "
         "mapa.shared::cluster.u32 %r9, %r8, 1; "
         "w: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 p, [m], 0; @!p bra w; "
         f"fence.acquire.sync_restrict::shared::cluster.cluster; ld.weak.shared::cluster.u32 %r1, [%r9]; {_CLUSTER}"),
        "1:%r1 = 0", _F),

    ModelPin("Q13d", "a bulk copy whose completion a restricted fence acquires",
        ".global .align 16 .u32 g[4] = {1, 1, 1, 1}; .shared .align 16 .u32 d[4]; .shared .u64 m;",
        (f"cta 0: {_ASYNC_INIT} bar.sync 0, 64; {_EXPECT} {_BULK}",
         "cta 0: bar.sync 0, 64; .reg .pred p; w: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 p, [m], 0; @!p bra w; "
         "fence.acquire.sync_restrict::shared::cluster.cluster; ld.weak.shared.u32 %r1, [d];"), "1:%r1 = 0", _F),
    ModelPin("Q13e", "what its thread did before it is not published", ".global .align 16 .u32 g[4] = {1, 1, 1, 1}; "
        ".shared .align 16 .u32 d[4]; .shared .u64 m; .shared .u32 y;",
        (f"cta 0: {_ASYNC_INIT} bar.sync 0, 64; mbarrier.expect_tx.relaxed.cta.shared.b64 [m], 16; st.weak.shared.u32 [y], 1; {_BULK} "
         "mbarrier.arrive.relaxed.cta.shared.b64 _, [m];",
         "cta 0: bar.sync 0, 64; .reg .pred p; w: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 p, [m], 0; @!p bra w; "
         "fence.acquire.sync_restrict::shared::cluster.cluster; ld.weak.shared.u32 %r1, [y];"), "1:%r1 = 0", _A, "race"),

    # Values that nothing determines.
    ModelPin("discard", "what discard leaves is any value", ".global .align 128 .u32 x[32];",
        ("cta 0: st.weak.global.u32 [x], 1; discard.global.L2 [x], 128; ld.weak.global.u32 %r1, [x];",), "0:%r1 = 7", _A),
    ModelPin("ldu", "a load of read-only data of what the kernel writes", _X,
        ("cta 0: st.weak.u32 [x], 1; bar.sync 0, 64;", "cta 0: bar.sync 0, 64; ldu.global.u32 %r1, [x];"), "true", "", "misuse"),
)
# fmt: on

#: What an option changes: its name, a pin (of this file or of those that it names), and what that answers without it and with it.
#: `coverage_map` asks these pins, with the option, of clauses that are idle without it.
OPTION_PINS = (
    ("war-ok", "P44", "race", "-"),
    ("sc-not-acqrel", "P12b", "forbid", "allow"),
    ("bar-is-fence", "P27d", "allow", "forbid"),
    ("dep=data", "P03", "forbid", "allow"),
    ("sink-is-atom", "P41", "allow", "forbid"),
    ("async-fence-any-cta", "P35", "async", "forbid"),
    ("mbar-chain", "A9", "allow", "forbid"),
    ("no-tearing", "P24", "allow", "forbid"),
    ("st-async-proxy", "Q21", "forbid", "async"),
)
#: Options of models that only tests of the library show.
LIBRARY_ONLY = {"grid-end-leaves-copies"}
