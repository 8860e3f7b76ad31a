"""Tests of asynchronous operations, proxies and kernels as litmus text, each with one outcome and what the model says of it.

`verdict` is `allow` or `forbid` for the outcome, taken without regard to races; `undefined` says whether the program is.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    about: str
    init: str
    threads: tuple[str, ...]
    outcome: str
    verdict: str
    undefined: bool = False

    def litmus(self) -> str:
        blocks = [
            f"P{number}@{place} {{ {code.strip()} }}"
            for number, (place, _, code) in enumerate(thread.partition(": ") for thread in self.threads)
        ]
        return "\n".join(
            [f"PTX {self.name}", f'"{self.about}"', f"{{ {self.init} }}", *blocks, f"exists ({self.outcome})", ""]
        )


_A, _F = "allow", "forbid"
_G = ".global .u32 g = 0; .shared .u32 s = 0;"
_GS = ".global .u32 g = 1; .shared .u32 s = 0; .shared .u64 m; .global .u32 y = 0;"
_BULK = ".global .align 16 .u32 g[4]; .shared .align 16 .u32 d[4]; .shared .u64 m;"
_FULL = ".global .align 16 .u32 g[4] = {1, 1, 1, 1}; .shared .align 16 .u32 d[4]; .shared .u64 m; .global .u32 f = 0;"

_CP = "cp.async.ca.shared.global [s], [g], 4;"
_COPY = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [d], [g], 16, [m];"
_TO_GLOBAL = "cp.async.bulk.global.shared::cta.bulk_group [g], [d], 16;"
_INIT = "mbarrier.init.shared.b64 [m], 1; fence.mbarrier_init.release.cluster;"
_EXPECT = "mbarrier.arrive.expect_tx.shared.b64 _, [m], 16;"
_WAIT = ".reg .pred p; w: mbarrier.try_wait.parity.shared.b64 p, [m], 0; @!p bra w;"
_RELAXED = ".reg .pred p; w: mbarrier.try_wait.parity.relaxed.cta.shared.b64 p, [m], 0; @!p bra w;"

_E = " .shared .u64 e;"
_WAIT_E = ".reg .pred q; v: mbarrier.try_wait.parity.shared.b64 q, [e], 0; @!q bra v;"
_REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [g], [d], 16;"
_MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
_CLUSTER_WAIT = ".reg .pred p; w: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [m], 0; @!p bra w;"
_MULTICAST = (
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [d], [g], 16, [m], %rs1;"
)
_THERE = "mapa.shared::cluster.u32 %r8, %r9, 1; mapa.shared::cluster.u32 %r7, %r6, 1;"
_RED_ASYNC = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r8], 5, [%r7];"
_LOOP = (
    ".reg .pred p; mov.u32 %r1, 0; mov.u64 %rd1, g; mov.u64 %rd2, s; l: cp.async.ca.shared.global [%rd2], [%rd1], 4; "
    "cp.async.commit_group; add.u64 %rd1, %rd1, 4; add.u64 %rd2, %rd2, 4; add.u32 %r1, %r1, 1; setp.lt.u32 p, %r1, 3; @p bra l;"
)
_DISTRIBUTED = (
    ".shared .align 16 .u32 s[4]; .shared .align 16 .u32 a[4] = {1, 2, 3, 4}; .shared .u64 m; 1:r9 = &s; 1:r6 = &m;"
)
_RELAXED_MEET = "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;"
_DSMEM = (
    "mapa.shared::cluster.u32 %r8, %r9, 0; mapa.shared::cluster.u32 %r7, %r6, 0; "
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r8], [a], 16, [%r7];"
)
_ENDS = ".global .align 16 .u32 g[4]; .shared .align 16 .u32 d[4] = {1, 1, 1, 1}; kernel k1 = [P0]; kernel k2 = [P1];"
_REMOTE = ".shared .u32 s; .shared .u64 m; 0:r9 = &s; 0:r6 = &m;"

CASES: tuple[Case, ...] = (
    # Copies of a few bytes, and groups.
    Case("P31", "cp.async is seen after the wait for its group", _G,
         (f"cta 0: st.weak.u32 [g], 1; {_CP} cp.async.wait_all; ld.weak.shared.u32 %r1, [s];",), "0:%r1 = 0", _F),
    Case("P31b", "without the wait it is an async hazard", _G,
         (f"cta 0: st.weak.u32 [g], 1; {_CP} ld.weak.shared.u32 %r1, [s];",), "0:%r1 = 0", _A, True),
    Case("P31c", "the wait of one thread and a barrier make it visible to another", _G,
         (f"cta 0: st.weak.u32 [g], 1; {_CP} cp.async.wait_all; bar.sync 0, 64;",
          "cta 0: bar.sync 0, 64; ld.weak.shared.u32 %r1, [s];"), "1:%r1 = 0", _F),
    Case("P31d", "a group that may still be under way", _G,
         (f"cta 0: st.weak.u32 [g], 1; {_CP} cp.async.commit_group; cp.async.wait_group 1; ld.weak.shared.u32 %r1, [s];",),
         "0:%r1 = 0", _A, True),
    Case("P31e", "of two groups the older one is waited for", ".global .u32 g = 1; .shared .u32 s = 0; .shared .u32 t = 0;",
         (f"cta 0: {_CP} cp.async.commit_group; cp.async.ca.shared.global [t], [g], 4; cp.async.commit_group; "
          "cp.async.wait_group 1; ld.weak.shared.u32 %r1, [s]; cp.async.wait_group 0;",), "0:%r1 = 0", _F),
    Case("P31f", "a copy that no group holds is not waited for", _G,
         (f"cta 0: st.weak.u32 [g], 1; {_CP} cp.async.wait_group 0; ld.weak.shared.u32 %r1, [s];",), "0:%r1 = 0", _A, True),
    Case("P31g", "bytes behind the source are zeros", ".global .u32 g = 0x01020304; .shared .align 8 .u32 s[2] = {7, 7};",
         ("cta 0: mov.u32 %r0, 2; cp.async.ca.shared.global [s], [g], 8, %r0; cp.async.wait_all; "
          "ld.weak.shared.u32 %r1, [s]; ld.weak.shared.u32 %r2, [s+4];",), r"0:%r1 = 0x0304 /\ 0:%r2 = 0", _A),
    Case("P31h", "an ignored source copies zeros", ".global .u32 g = 5; .shared .u32 s = 7;",
         ("cta 0: .reg .pred p; setp.eq.u32 p, 0, 0; cp.async.ca.shared.global [s], [g], 4, p; cp.async.wait_all; "
          "ld.weak.shared.u32 %r1, [s];",), "0:%r1 != 0", _F),
    Case("P32", "an arrival behind copies tells of them", _GS,
         (f"cta 0: {_INIT} bar.sync 0, 64; {_CP} cp.async.mbarrier.arrive.noinc.shared.b64 [m];",
          f"cta 0: bar.sync 0, 64; {_WAIT} ld.weak.shared.u32 %r1, [s];"), "1:%r1 = 0", _F),
    Case("P32b", "it tells of copies only", _GS,
         (f"cta 0: {_INIT} bar.sync 0, 64; st.weak.u32 [y], 1; {_CP} cp.async.mbarrier.arrive.noinc.shared.b64 [m];",
          f"cta 0: bar.sync 0, 64; {_WAIT} ld.weak.u32 %r1, [y];"), "1:%r1 = 0", _A),
    # Bulk copies.
    Case("P33", "a generic store and an async read without a fence of proxies", _BULK,
         (f"cta 0: {_INIT} st.weak.u32 [g], 1; {_EXPECT} {_COPY} {_WAIT} ld.weak.shared.u32 %r1, [d];",),
         "0:%r1 = 0", _A, True),
    Case("P33b", "with the fence of proxies", _BULK,
         (f"cta 0: {_INIT} st.weak.u32 [g], 1; fence.proxy.async; {_EXPECT} {_COPY} {_WAIT} ld.weak.shared.u32 %r1, [d];",),
         "0:%r1 = 0", _F),
    Case("P33c", "a fence for the space of the bytes", _BULK,
         (f"cta 0: {_INIT} st.weak.u32 [g], 1; fence.proxy.async.global; {_EXPECT} {_COPY} {_WAIT} "
          "ld.weak.shared.u32 %r1, [d];",), "0:%r1 = 0", _F),
    Case("P33d", "a fence for another space", _BULK,
         (f"cta 0: {_INIT} st.weak.u32 [g], 1; fence.proxy.async.shared::cta; {_EXPECT} {_COPY} {_WAIT} "
          "ld.weak.shared.u32 %r1, [d];",), "0:%r1 = 0", _A, True),
    Case("P34", "the completion of a bulk copy implies the fence", _FULL,
         (f"cta 0: {_INIT} {_EXPECT} bar.sync 0, 64; {_COPY}", f"cta 0: bar.sync 0, 64; {_WAIT} ld.weak.shared.u32 %r1, [d];"),
         "1:%r1 = 0", _F),
    Case("P34b", "it publishes nothing else of its thread", _FULL,
         (f"cta 0: {_INIT} {_EXPECT} bar.sync 0, 64; st.weak.u32 [f], 1; {_COPY}",
          f"cta 0: bar.sync 0, 64; {_WAIT} ld.weak.u32 %r1, [f];"), "1:%r1 = 0", _A),
    Case("P34c", "a relaxed wait acquires nothing", _FULL,
         (f"cta 0: {_INIT} {_EXPECT} bar.sync 0, 64; {_COPY}",
          f"cta 0: bar.sync 0, 64; {_RELAXED} ld.weak.shared.u32 %r1, [d];"), "1:%r1 = 0", _A, True),
    Case("P35", "the fence of proxies is in the wrong CTA", _BULK.replace("}", "") + ".global .u32 f = 0;",
         ("cta 0,cluster 0: st.weak.u32 [g], 1; fence.proxy.async; st.release.gpu.u32 [f], 1;",
          f"cta 1,cluster 0: .reg .pred q; {_INIT} ld.acquire.gpu.u32 %r0, [f]; setp.eq.u32 q, %r0, 0; @q exit; "
          f"{_EXPECT} {_COPY} {_WAIT} ld.weak.shared.u32 %r1, [d];"), r"1:%r0 = 1 /\ 1:%r1 = 0", _A, True),
    Case("P35b", "the fence of proxies is in the CTA of the copy", _BULK + ".global .u32 f = 0;",
         ("cta 0,cluster 0: st.weak.u32 [g], 1; st.release.gpu.u32 [f], 1;",
          f"cta 1,cluster 0: .reg .pred q; {_INIT} ld.acquire.gpu.u32 %r0, [f]; setp.eq.u32 q, %r0, 0; @q exit; "
          f"fence.proxy.async; {_EXPECT} {_COPY} {_WAIT} ld.weak.shared.u32 %r1, [d];"), r"1:%r0 = 1 /\ 1:%r1 = 0", _F),
    Case("Q10", "a wait for the reading of a group protects its source",
         ".global .align 16 .u32 g[4]; .shared .align 16 .u32 d[4] = {1, 1, 1, 1};",
         (f"cta 0: {_TO_GLOBAL} cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; st.weak.shared.u32 [d], 9;",),
         "g[0] = 9", _F),
    Case("Q10b", "without that wait it is an async hazard",
         ".global .align 16 .u32 g[4]; .shared .align 16 .u32 d[4] = {1, 1, 1, 1};",
         (f"cta 0: {_TO_GLOBAL} cp.async.bulk.commit_group; st.weak.shared.u32 [d], 9;",), "g[0] = 9", _A, True),
    Case("Q10c", "a wait for the reading says nothing of the writing",
         ".global .align 16 .u32 g[4]; .shared .align 16 .u32 d[4] = {1, 1, 1, 1};",
         (f"cta 0: {_TO_GLOBAL} cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; ld.weak.u32 %r0, [g];",),
         "0:%r0 = 0", _A, True),
    Case("Q10d", "the whole wait does", ".global .align 16 .u32 g[4]; .shared .align 16 .u32 d[4] = {1, 1, 1, 1};",
         (f"cta 0: {_TO_GLOBAL} cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ld.weak.u32 %r0, [g];",),
         "0:%r0 = 0", _F),
    # Proxies.
    Case("Q06", "no fence reaches loads through the texture proxy", ".global .u32 x = 0;",
         ("cta 0: st.weak.u32 [x], 1; bar.sync 0, 64;", "cta 0: bar.sync 0, 64; ld.global.nc.u32 %r0, [x];"), "1:%r0 = 0", _A),
    # Asynchronous stores.
    Case("Q21", "an asynchronous release is cumulative", ".global .u32 x = 0; .global .u32 f = 0;",
         ("cta 0: mov.u64 %rd1, f; st.weak.u32 [x], 1; st.async.release.gpu.global.u32 [%rd1], 1;",
          "cta 1: ld.acquire.gpu.u32 %r0, [f]; ld.weak.u32 %r1, [x];"), r"1:%r0 = 1 /\ 1:%r1 = 0", _F),
    # Overwriting what was read.
    Case("P44", "an async write over a generic read without a fence of proxies", _FULL + _E,
         (f"cta 0: {_INIT} mbarrier.init.shared.b64 [e], 1; {_EXPECT} bar.sync 0, 64; ld.weak.shared.u32 %r1, [d]; "
          "mbarrier.arrive.shared.b64 _, [e];",
          f"cta 0: bar.sync 0, 64; {_WAIT_E} {_COPY} {_WAIT}"), "0:%r1 = 1", _A),
    Case("P44b", "with the fence", _FULL + _E,
         (f"cta 0: {_INIT} mbarrier.init.shared.b64 [e], 1; {_EXPECT} bar.sync 0, 64; ld.weak.shared.u32 %r1, [d]; "
          "mbarrier.arrive.shared.b64 _, [e];",
          f"cta 0: bar.sync 0, 64; {_WAIT_E} fence.proxy.async; {_COPY} {_WAIT}"), "0:%r1 = 1", _F),
    Case("P44c", "without waiting for the reader it is an async hazard", _FULL,
         (f"cta 0: {_INIT} {_EXPECT} bar.sync 0, 64; ld.weak.shared.u32 %r1, [d];",
          f"cta 0: bar.sync 0, 64; fence.proxy.async; {_COPY} {_WAIT}"), "0:%r1 = 1", _A, True),
    # Objects that nobody told the async proxy of.
    Case("Q12", "an mbarrier object that is initialised without a fence", _FULL,
         (f"cta 0: mbarrier.init.shared.b64 [m], 1; {_EXPECT} bar.sync 0, 64;", f"cta 0: bar.sync 0, 64; {_COPY} {_WAIT}"),
         "false", _F, True),
    Case("Q12b", "with fence.proxy.async", _FULL,
         (f"cta 0: mbarrier.init.shared.b64 [m], 1; fence.proxy.async; {_EXPECT} bar.sync 0, 64;",
          f"cta 0: bar.sync 0, 64; {_COPY} {_WAIT}"), "false", _F),
    Case("Q12c", "with fence.mbarrier_init", _FULL,
         (f"cta 0: {_INIT} {_EXPECT} bar.sync 0, 64;", f"cta 0: bar.sync 0, 64; {_COPY} {_WAIT}"), "false", _F),
    # Two copies, and reductions.
    Case("P36b", "two copies to one place are an async hazard", ".global .u32 g = 1; .global .u32 h = 2; .shared .u32 s = 0;",
         ("cta 0: cp.async.ca.shared.global [s], [g], 4; cp.async.ca.shared.global [s], [h], 4; cp.async.wait_all; "
          "ld.weak.shared.u32 %r1, [s];",), "0:%r1 = 1", _A, True),
    Case("P36c", "unless the first was waited for", ".global .u32 g = 1; .global .u32 h = 2; .shared .u32 s = 0;",
         ("cta 0: cp.async.ca.shared.global [s], [g], 4; cp.async.wait_all; cp.async.ca.shared.global [s], [h], 4; "
          "cp.async.wait_all; ld.weak.shared.u32 %r1, [s];",), "0:%r1 = 1", _F),
    Case("R01", "reductions of two threads add up", ".global .align 16 .u32 g[4]; .shared .align 16 .u32 d[4] = {1, 2, 3, 4};",
         (f"cta 0: {_REDUCE} cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
          f"cta 0: {_REDUCE} cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"), r"g[0] != 2 \/ g[3] != 8", _F),
    Case("R02", "a reduction and an atomic operation of another proxy lose nothing",
         ".global .align 16 .u32 g[4]; .shared .align 16 .u32 d[4] = {1, 2, 3, 4};",
         (f"cta 0: {_REDUCE} cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
          "cta 0: atom.relaxed.gpu.add.u32 %r0, [g], 5;"), "g[0] != 6", _F),
    # Multicast.
    Case("R03", "each CTA learns of its own part", _FULL,
         (f"cta 0,cluster 0: {_INIT} {_MEET} {_EXPECT} mov.u16 %rs1, 3; {_MULTICAST} {_CLUSTER_WAIT} "
          "ld.weak.shared.u32 %r1, [d];",
          f"cta 1,cluster 0: {_INIT} {_MEET} {_EXPECT} {_CLUSTER_WAIT} ld.weak.shared.u32 %r1, [d];"),
         r"0:%r1 = 0 \/ 1:%r1 = 0", _F),
    # Asynchronous stores that an mbarrier object tells of.
    Case("R04", "st.async to another CTA, which waits for it", _REMOTE,
         (f"cta 0,cluster 0: {_MEET} {_THERE} "
          "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r8], 5, [%r7];",
          f"cta 1,cluster 0: {_INIT} mbarrier.arrive.expect_tx.shared.b64 _, [m], 4; {_MEET} {_CLUSTER_WAIT} "
          "ld.weak.shared.u32 %r1, [s];"), "1:%r1 != 5", _F),
    Case("R09", "a vector by st.async", ".shared .align 8 .u32 s[2]; .shared .u64 m; 0:r9 = &s; 0:r6 = &m; 0:r5 = 3;",
         (f"cta 0,cluster 0: {_MEET} {_THERE} "
          "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r8], {%r5, %r5}, [%r7];",
          f"cta 1,cluster 0: {_INIT} mbarrier.arrive.expect_tx.shared.b64 _, [m], 8; {_MEET} {_CLUSTER_WAIT} "
          "ld.weak.shared.u32 %r1, [s]; ld.weak.shared.u32 %r2, [s+4];"), r"1:%r1 != 3 \/ 1:%r2 != 3", _F),
    Case("R10", "two reductions by red.async", _REMOTE,
         (f"cta 0,cluster 0: {_MEET} {_THERE} {_RED_ASYNC} {_RED_ASYNC}",
          f"cta 1,cluster 0: {_INIT} mbarrier.arrive.expect_tx.shared.b64 _, [m], 8; {_MEET} {_CLUSTER_WAIT} "
          "ld.weak.shared.u32 %r1, [s];"), "1:%r1 != 10", _F),
    Case("R11", "groups in a loop", ".global .u32 g[4] = {1, 2, 3, 4}; .shared .u32 s[4];",
         (f"cta 0: {_LOOP} cp.async.wait_group 1; ld.weak.shared.u32 %r2, [s+4]; cp.async.wait_group 0; "
          "ld.weak.shared.u32 %r3, [s+8];",), r"0:%r2 != 2 \/ 0:%r3 != 3", _F),
    Case("R12", "the last group of a loop may be under way", ".global .u32 g[4] = {1, 2, 3, 4}; .shared .u32 s[4];",
         (f"cta 0: {_LOOP} cp.async.wait_group 1; ld.weak.shared.u32 %r3, [s+8]; cp.async.wait_group 0;",),
         "0:%r3 = 0", _A, True),
    Case("R13", "a bulk copy over what another CTA wrote, with fences of one direction", _DISTRIBUTED,
         (f"cta 0,cluster 0: {_INIT} {_EXPECT} st.weak.shared.u32 [s], 5; "
          f"fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster; {_RELAXED_MEET} {_CLUSTER_WAIT} "
          "ld.weak.shared.u32 %r1, [s];",
          f"cta 1,cluster 0: {_RELAXED_MEET} fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster; "
          f"{_DSMEM}"), "0:%r1 != 1", _F),
    Case("R14", "with that of the writer alone", _DISTRIBUTED,
         (f"cta 0,cluster 0: {_INIT} {_EXPECT} st.weak.shared.u32 [s], 5; "
          f"fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster; {_RELAXED_MEET} {_CLUSTER_WAIT} "
          "ld.weak.shared.u32 %r1, [s];", f"cta 1,cluster 0: {_RELAXED_MEET} {_DSMEM}"), "0:%r1 = 5", _A, True),
    Case("R05", "st.async in a cluster of one CTA", ".shared .u32 s; .shared .u64 m;",
         ("cta 0: mbarrier.init.shared.b64 [m], 1; mov.u32 %r8, s; mov.u32 %r7, m; "
          "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r8], 5, [%r7];",), "false", _F, True),
    Case("R06", "red.async to the own CTA", _REMOTE,
         (f"cta 0,cluster 0: {_INIT} {_MEET} "
          "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r9], 5, [%r6];",
          f"cta 1,cluster 0: {_MEET}"), "false", _F, True),
    Case("R07", "a release by st.async to shared memory", ".shared .u32 s;",
         ("cta 0: mov.u64 %rd1, s; st.async.release.gpu.u32 [%rd1], 1;",), "false", _F, True),
    Case("R08", "a bulk copy from shared memory to that of the same CTA",
         ".shared .align 16 .u32 a[4]; .shared .align 16 .u32 d[4]; .shared .u64 m;",
         (f"cta 0: {_INIT} {_EXPECT} cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [d], [a], 16, [m]; "
          f"{_WAIT}",), "false", _F, True),
    Case("R09", "a reduction from shared memory to that of the same CTA",
         ".shared .align 16 .u32 a[4] = {1, 1, 1, 1}; .shared .align 16 .u32 d[4] = {5, 5, 5, 5}; .shared .u64 m;",
         (f"cta 0: {_INIT} {_EXPECT} "
          "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [d], [a], 16, [m]; "
          f"{_WAIT} ld.weak.shared.u32 %r1, [d];",), "0:%r1 != 6", _F),
    # Tensor maps are written by generic stores and read through a proxy of their own, which fences of one direction serve.
    Case("Q09", "fences for tensor maps order nothing else", "x = 0; f = 0; .global .align 128 .u8 t[128];",
         ("cta 0: st.weak.u32 [x], 1; fence.proxy.tensormap::generic.release.gpu; st.relaxed.gpu.u32 [f], 1;",
          "cta 1: ld.relaxed.gpu.u32 %r0, [f]; fence.proxy.tensormap::generic.acquire.gpu [t], 128; ld.weak.u32 %r1, [x];"),
         r"1:%r0 = 1 /\ 1:%r1 = 0", _A),
    # Aliases.
    Case("M6", "an alias fence between two names", "x = 0; y @ generic aliases x;",
         ("cta 0: st.weak.u32 [x], 1; fence.proxy.alias; ld.weak.u32 %r1, [y];",), "0:%r1 = 0", _F),
    Case("M6b", "two names without one", "x = 0; y @ generic aliases x;",
         ("cta 0: st.weak.u32 [x], 1; ld.weak.u32 %r1, [y];",), "0:%r1 = 0", _A),
    Case("P38", "an alias fence of the writer suffices", "x = 0; f = 0; y @ generic aliases x;",
         ("cta 0: st.weak.u32 [x], 1; fence.proxy.alias; st.release.gpu.u32 [f], 1;",
          "cta 1: ld.acquire.gpu.u32 %r0, [f]; ld.weak.u32 %r1, [y];"), r"1:%r0 = 1 /\ 1:%r1 = 0", _F),
    Case("P38b", "so does one of the reader", "x = 0; f = 0; y @ generic aliases x;",
         ("cta 0: st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1;",
          "cta 1: ld.acquire.gpu.u32 %r0, [f]; fence.proxy.alias; ld.weak.u32 %r1, [y];"), r"1:%r0 = 1 /\ 1:%r1 = 0", _F),
    Case("P38c", "a flag under two names is none", "x = 0; f = 0; g @ generic aliases f;",
         ("cta 0: st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1;",
          "cta 1: ld.acquire.gpu.u32 %r0, [g]; ld.weak.u32 %r1, [x];"), r"1:%r0 = 1 /\ 1:%r1 = 0", _A),
    # What is read only, unstable, cleared.
    Case("C01", "ldu of what the grid writes", "x = 0;",
         ("cta 0: ldu.global.u32 %r1, [x];", "cta 1: st.weak.u32 [x], 1;"), "false", _F, True),
    Case("C02", "ldu of what an earlier kernel wrote", "x = 0; kernel k1 = [P0]; kernel k2 = [P1];",
         ("cta 0: st.weak.u32 [x], 1;", "cta 1: ldu.global.u32 %r1, [x];"), "1:%r1 = 0", _F),
    Case("C03", "a store to constant memory", ".const .u32 c = 1;",
         ("cta 0: mov.u64 %rd1, c; st.weak.u32 [%rd1], 2;",), "false", _F, True),
    Case("C04", "what is left by a discard may be anything", ".global .align 128 .u8 x[128];",
         ("cta 0: discard.global.L2 [x], 128; ld.weak.u8 %rs1, [x];",), "0:%rs1 = 77", _A),
    Case("C05", "until it is written", ".global .align 128 .u8 x[128];",
         ("cta 0: discard.global.L2 [x], 128; st.weak.u8 [x], 6; ld.weak.u8 %rs1, [x];",), "0:%rs1 != 6", _F),
    Case("C06", "st.bulk writes zeros", ".shared .align 8 .u32 s[4] = {1, 2, 3, 4};",
         ("cta 0: mov.u64 %rd1, s; st.bulk.shared::cta [%rd1], 16, 0; ld.weak.shared.u32 %r1, [s+8];",), "0:%r1 != 0", _F),
    # What is under way when a kernel ends.
    Case("K01", "a copy that its kernel does not wait for", _ENDS,
         (f"cta 0: {_TO_GLOBAL} cp.async.bulk.commit_group;", "cta 1: mov.u32 %r0, 0;"), "false", _F, True),
    Case("K02", "one that it waits for is there in the next kernel", _ENDS,
         (f"cta 0: {_TO_GLOBAL} cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;", "cta 1: ld.weak.u32 %r0, [g];"),
         "1:%r0 = 0", _F),
    Case("K03", "waiting for its reading lets the kernel end", _ENDS,
         (f"cta 0: {_TO_GLOBAL} cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;", "cta 1: mov.u32 %r0, 0;"),
         "false", _F),
    Case("K04", "and its result is there in the next kernel", _ENDS,
         (f"cta 0: {_TO_GLOBAL} cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;", "cta 1: ld.weak.u32 %r0, [g];"),
         "1:%r0 = 0", _F),
    Case("K05", "an asynchronous release is complete when its kernel ends", "x = 0; kernel k1 = [P0]; kernel k2 = [P1];",
         ("cta 0: mov.u64 %rd1, x; st.async.release.gpu.global.u32 [%rd1], 1;", "cta 1: ld.weak.u32 %r0, [x];"),
         "1:%r0 = 0", _F),
    Case("K06", "a copy whose object nobody waits for", _FULL + " kernel k1 = [P0]; kernel k2 = [P1];",
         (f"cta 0: {_INIT} {_EXPECT} {_COPY}", "cta 1: mov.u32 %r0, 0;"), "false", _F, True),
    # Kernels.
    Case("Q04", "the next kernel of a stream sees everything", "x = 0; kernel k1 = [P0]; kernel k2 = [P1];",
         ("cta 0: st.weak.u32 [x], 1;", "cta 1: ld.weak.u32 %r0, [x];"), "1:%r0 = 0", _F),
    Case("Q04b", "also through the texture proxy", "x = 0; kernel k1 = [P0]; kernel k2 = [P1];",
         ("cta 0: st.weak.u32 [x], 1;", "cta 1: ld.global.nc.u32 %r0, [x];"), "1:%r0 = 0", _F),
    Case("Q04c", "kernels of two streams are not ordered", "x = 0; kernel k1 = [P0]; kernel k2 = [P1] stream 1;",
         ("cta 0: st.weak.u32 [x], 1;", "cta 1: ld.weak.u32 %r0, [x];"), "1:%r0 = 0", _A),
    Case("Q04d", "but by an event", "x = 0; kernel k1 = [P0]; kernel k2 = [P1] stream 1 after k1;",
         ("cta 0: st.weak.u32 [x], 1;", "cta 1: ld.weak.u32 %r0, [x];"), "1:%r0 = 0", _F),
    Case("Q04e", "a kernel does not see the next one", "x = 0; kernel k1 = [P0]; kernel k2 = [P1];",
         ("cta 0: ld.relaxed.sys.u32 %r0, [x];", "cta 1: st.relaxed.sys.u32 [x], 1;"), "0:%r0 = 1", _F),
    Case("Q05", "launches and waits of the host", "x = 0; y = 0; kernel k1 = [P0];",
         ("cta 0: ld.weak.u32 %r0, [x]; st.weak.u32 [y], 1;",
          "host: st.weak.u32 [x], 1; launch k1; sync k1; ld.weak.u32 %r1, [y];"), r"0:%r0 = 0 \/ 1:%r1 = 0", _F),
    Case("Q05b", "a launch says nothing of what the host does later", "x = 0; kernel k1 = [P0];",
         ("cta 0: ld.weak.u32 %r0, [x];", "host: launch k1; st.weak.u32 [x], 1;"), "0:%r0 = 1", _A),
    Case("Q05c", "waiting for a stream", "y = 0; z = 0; kernel k1 = [P0]; kernel k2 = [P1]; kernel k3 = [P2] stream 1;",
         ("cta 0: st.weak.u32 [y], 1;", "cta 1: ld.weak.u32 %r0, [y];", "cta 2: st.weak.u32 [z], 1;",
          "host: launch k1; launch k2; launch k3; sync stream 0; ld.weak.u32 %r1, [y];"), r"1:%r0 = 0 \/ 3:%r1 = 0", _F),
    Case("Q05d", "the other stream is not waited for",
         "y = 0; z = 0; kernel k1 = [P0]; kernel k2 = [P1]; kernel k3 = [P2] stream 1;",
         ("cta 0: st.weak.u32 [y], 1;", "cta 1: ld.weak.u32 %r0, [y];", "cta 2: st.weak.u32 [z], 1;",
          "host: launch k1; launch k2; launch k3; sync stream 0; ld.weak.u32 %r1, [z];"), "3:%r1 = 0", _A),
    Case("Q07", "a dependent kernel that waits", "x = 0; kernel k1 = [P0]; kernel k2 = [P1];",
         ("cta 0: griddepcontrol.launch_dependents; st.weak.u32 [x], 1;",
          "cta 1: griddepcontrol.wait; ld.weak.u32 %r0, [x];"), "1:%r0 = 0", _F),
    Case("Q07b", "one that does not", "x = 0; kernel k1 = [P0]; kernel k2 = [P1];",
         ("cta 0: griddepcontrol.launch_dependents; st.weak.u32 [x], 1;", "cta 1: ld.weak.u32 %r0, [x];"), "1:%r0 = 0", _A),
    Case("Q07c", "one that waits too late", "x = 0; kernel k1 = [P0]; kernel k2 = [P1];",
         ("cta 0: griddepcontrol.launch_dependents; st.weak.u32 [x], 1;",
          "cta 1: ld.weak.u32 %r0, [x]; griddepcontrol.wait;"), "1:%r0 = 0", _A),
)  # fmt: skip
