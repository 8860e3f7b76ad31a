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
