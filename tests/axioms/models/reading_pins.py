"""Pins of how the model reads the manual where that is silent: each verdict was worked out by hand, from the words of the reading,
before it was run.

    A15  the completion of an asynchronous operation counts as made in the CTA that holds the mbarrier object; a remote arrival
         by a thread does not
    A24  the end of a kernel follows the asynchronous operations that it issued; what they do to the shared memory of a CTA must
         have been waited for
    A25  a kernel, and `griddepcontrol.wait`, wait for the one kernel before; what that did not wait for itself is not ordered
    A26  in races an atomic operation is one operation: it is ordered with what its write is ordered with
    A27  what a shuffle takes from a lane that is not there is any value
"""

# ruff: noqa: E501
from __future__ import annotations

from typing import NamedTuple


class ReadingPin(NamedTuple):
    """`name` begins with the reading. `tail` is the question, `verdict` the answer; `why` follows it from the words above."""

    name: str
    why: str
    init: str
    blocks: tuple[str, ...]
    tail: str
    verdict: str
    options: tuple[str, ...] = ()

    def litmus(self) -> str:
        blocks = [
            f"P{t}@{place} {{ {code} }}" for t, (place, _, code) in enumerate(b.partition(": ") for b in self.blocks)
        ]
        return "\n".join([f"PTX {self.name}", f"{{ {self.init} }}", *blocks, self.tail, ""])


# A15: a copy to the CTAs of a cluster, each of which waits for its part.
_G = ".global .align 16 .u32 g[4] = {7, 7, 7, 7}; .shared .align 16 .u32 d[4]; .shared .u64 m; .global .u32 x = 0;"
_OBJECT = "mbarrier.init.shared.b64 [m], 1; fence.mbarrier_init.release.cluster; mbarrier.arrive.expect_tx.shared.b64 _, [m], 16; "
_MEET = "barrier.cluster.arrive; barrier.cluster.wait; "
_CAST = "mov.u16 %rs1, {}; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [d], [g], 16, [m], %rs1; "
_WAIT = "w: mbarrier.try_wait.parity{}.shared::cta.b64 %p1, [m], 0; @!%p1 bra w; "
_READ = "ld.weak.shared.u32 %r0, [d]; "
_C0, _C1 = "cta 0,cluster 0,gpu 0: ", "cta 1,cluster 0,gpu 0: "


def _cast(how: str, *, mask: int = 3, before: str = "", behind: str = _READ) -> tuple[str, str]:
    """The first CTA copies and waits, the other waits in a way of its own."""
    own = _WAIT.format("") + _READ if mask & 1 else ""
    return (
        f"{_C0}{_OBJECT if mask & 1 else ''}{_MEET}{before}{_CAST.format(mask)}{own}{_MEET}",
        f"{_C1}{_OBJECT}{_MEET}{_WAIT.format(how)}{behind}{_MEET}",
    )


#: A thread of another CTA arrives; `x` is what it has to tell.
_ARRIVES = "mov.u32 %r8, m; mapa.shared::cluster.u32 %r9, %r8, 0; mbarrier.arrive{}.shared::cluster.b64 _, [%r9]; "
_ONE = ".global .u32 x = 0; .shared .u64 m;"


def _remote(arrive: str, wait: str) -> tuple[str, str]:
    return (
        f"{_C0}mbarrier.init.shared.b64 [m], 1; {_MEET}{_WAIT.format(wait)}ld.weak.u32 %r1, [x]; {_MEET}",
        f"{_C1}{_MEET}st.weak.u32 [x], 1; {_ARRIVES.format(arrive)}{_MEET}",
    )


_ASYNC = "mov.u32 %r2, s; mapa.shared::cluster.u32 %r3, %r2, 0; mov.u32 %r4, m; mapa.shared::cluster.u32 %r5, %r4, 0; "


def _sent(operation: str) -> tuple[str, str]:
    return (
        f"{_C0}mbarrier.init.shared.b64 [m], 1; mbarrier.arrive.expect_tx.shared.b64 _, [m], 4; {_MEET}{_WAIT.format('')}"
        f"ld.weak.shared.u32 %r1, [s];",
        f"{_C1}{_MEET}{_ASYNC}{operation}",
    )


# A24: a copy from shared memory to global memory, or the other way.
_OUT = ".global .align 16 .u32 g[4]; .shared .align 16 .u32 d[4] = {1, 1, 1, 1}; .shared .u64 m; "
_COPY = "cp.async.bulk.global.shared::cta.bulk_group [g], [d], 16; cp.async.bulk.commit_group; "
_ADD = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [g], [d], 16; cp.async.bulk.commit_group; "
_READ_ONLY, _WHOLE = "cp.async.bulk.wait_group.read 0; ", "cp.async.bulk.wait_group 0; "
_LOADS = "ld.weak.u32 %r0, [g]; "
_TWO = "kernel k1 = [P0]; kernel k2 = [P1];"
_IN = _OBJECT + "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [d], [g], 16, [m]; "

# A25: kernels of one stream.
_X = "x = 0; kernel k1 = [P0]; kernel k2 = [P1]; "
_THREE = "x = 0; kernel k1 = [P0]; kernel k2 = [P1]; kernel k3 = [P2]; "
_LETS, _AWAITS = "griddepcontrol.launch_dependents; ", "griddepcontrol.wait; "
_SETS, _SEES = "st.weak.u32 [x], 1; ", "ld.weak.u32 %r0, [x]; "

# A26: a counter, which the last one resets.
_N = ".global .u32 n = 0; "
_ADDS = "atom.relaxed.gpu.add.u32 %r0, [n], 1; "
_RESETS = "setp.eq.u32 %p0, %r0, {}; @%p0 st.weak.u32 [n], 0; "
_RACE = "exists (true)\nrace_free"

# A27: two lanes of a warp.
_W = "warp 0,cta 0: "
_V = ".global .u32 x = 0; .global .u32 y = 0; "
_FROM = "mov.u32 %r0, {}; shfl.sync.idx.b32 %r1, %r0, {}, 31, {}; "
_BOTH = (_W + _FROM.format(5, 1, 3), _W + _FROM.format(7, 0, 3))

# fmt: off
READING_PINS: tuple[ReadingPin, ...] = (
    ReadingPin("A15-default-wait-of-another-cta", "the completion counts as made in the waiting CTA, so .acquire.cta takes it in",
        _G, _cast(""), "~exists (0:r0 != 7 \\/ 1:r0 != 7)\nrace_free", "ok"),
    ReadingPin("A15-stricter-reading", "by the option it counts as made by the issuing thread, whom .cta does not take in",
        _G, _cast(""), "exists (true)", "undefined", ("completion-by-issuer",)),
    ReadingPin("A15-stricter-reading-wider-wait", "a wait at .cluster takes in the issuing thread too",
        _G, _cast(".acquire.cluster"), "exists (true)", "ok", ("completion-by-issuer",)),
    ReadingPin("A15-cluster-wait", "a wider scope takes in what .cta does",
        _G, _cast(".acquire.cluster"), "~exists (1:r0 != 7)\nrace_free", "ok"),
    ReadingPin("A15-relaxed-wait", "a relaxed wait acquires nothing: the read is not ordered behind the copy",
        _G, _cast(".relaxed.cta"), "exists (true)", "undefined"),
    ReadingPin("A15-relaxed-wait-and-fence", "a relaxed wait and a fence are an acquire pattern; .cta takes in the completion",
        _G, _cast(".relaxed.cta", behind="fence.acquire.cta; " + _READ), "~exists (1:r0 != 7)\nrace_free", "ok"),
    ReadingPin("A15-only-the-other-cta", "the issuing CTA need not be one of those that the copy goes to",
        _G, _cast("", mask=2), "~exists (1:r0 != 7)\nrace_free", "ok"),
    ReadingPin("A15-publishes-nothing-else", "the completion publishes the copy, not what its thread did before",
        _G, _cast("", before="st.weak.u32 [x], 1; ", behind=_READ + "ld.weak.u32 %r1, [x]; "), "exists (1:r0 = 7 /\\ 1:r1 = 0)", "ok"),
    ReadingPin("A15-what-it-does-not-publish-races", "and so the store before it races with a load behind the wait",
        _G, _cast("", before="st.weak.u32 [x], 1; ", behind=_READ + "ld.weak.u32 %r1, [x]; "), _RACE, "no"),
    ReadingPin("A15-second-thread-of-the-cta", "all threads that take part in the object can access the result",
        _G, (*_cast(""), f"cta 1,cluster 0,gpu 0: {_MEET}{_WAIT.format('')}{_READ}{_MEET}"), "~exists (2:r0 != 7)\nrace_free", "ok"),
    ReadingPin("A15-st.async", "a store of another CTA's thread completes in the CTA that holds the object",
        ".shared .u32 s; .shared .u64 m;", _sent("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r3], 1, [%r5];"),
        "~exists (0:r1 = 0)\nrace_free", "ok"),
    ReadingPin("A15-red.async", "so does a reduction",
        ".shared .u32 s; .shared .u64 m;", _sent("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r3], 1, [%r5];"),
        "~exists (0:r1 = 0)\nrace_free", "ok"),
    ReadingPin("A15-remote-arrival-by-default", "a thread's arrival is its own: .cta takes in nobody of another CTA, on either side",
        _ONE, _remote("", ""), "exists (0:r1 = 0)", "ok"),
    ReadingPin("A15-remote-arrival-wide-arrival-only", "both scopes must take in the other: the wait's does not",
        _ONE, _remote(".release.cluster", ""), "exists (0:r1 = 0)", "ok"),
    ReadingPin("A15-remote-arrival-wide-wait-only", "both scopes must take in the other: the arrival's does not",
        _ONE, _remote("", ".acquire.cluster"), "exists (0:r1 = 0)", "ok"),
    ReadingPin("A15-remote-arrival-wide", "with .cluster on both sides they synchronize",
        _ONE, _remote(".release.cluster", ".acquire.cluster"), "~exists (0:r1 = 0)\nrace_free", "ok"),

    ReadingPin("A24-alone-after-wait_group.read", "the reading was waited for; the end of the kernel follows the rest",
        _OUT, (f"cta 0: {_COPY}{_READ_ONLY}",), "forall (g[0] = 1)", "ok"),
    ReadingPin("A24-followed-after-wait_group.read", "the next kernel follows that end, and reads what was copied",
        _OUT + _TWO, (f"cta 0: {_COPY}{_READ_ONLY}", f"cta 1: {_LOADS}"), "~exists (1:r0 != 1)\nrace_free", "ok"),
    ReadingPin("A24-alone-not-waited", "a CTA ends whose shared memory is still read",
        _OUT, (f"cta 0: {_COPY}",), "exists (true)", "undefined"),
    ReadingPin("A24-followed-not-waited", "alone and followed by another it answers alike",
        _OUT + _TWO, (f"cta 0: {_COPY}", f"cta 1: {_LOADS}"), "exists (true)", "undefined"),
    ReadingPin("A24-alone-stricter-reading", "by the option, writes too must have been waited for",
        _OUT, (f"cta 0: {_COPY}{_READ_ONLY}",), "exists (true)", "undefined", ("grid-end-leaves-copies",)),
    ReadingPin("A24-stricter-reading-waited", "and here they were",
        _OUT, (f"cta 0: {_COPY}{_WHOLE}",), "forall (g[0] = 1)", "ok", ("grid-end-leaves-copies",)),
    ReadingPin("A24-stricter-reading-release", "but a release can be observed by others: nobody of its own thread need wait for it",
        "x = 0;", ("cta 0: st.async.release.gpu.global.u32 [x], 1;",), "forall (x = 1)", "ok", ("grid-end-leaves-copies",)),
    ReadingPin("A24-reduction-followed", "a reduction is an asynchronous operation of the kernel as well",
        _OUT + _TWO, (f"cta 0: {_ADD}{_READ_ONLY}", f"cta 1: {_LOADS}"), "~exists (1:r0 != 1)\nrace_free", "ok"),
    ReadingPin("A24-another-stream", "without an order of the kernels the end of one says nothing to the other",
        _OUT + "kernel k1 = [P0]; kernel k2 = [P1] stream 1;", (f"cta 0: {_COPY}{_READ_ONLY}", f"cta 1: {_LOADS}"), "exists (true)", "undefined"),
    ReadingPin("A24-an-event", "an event orders the other stream behind that end",
        _OUT + "kernel k1 = [P0]; kernel k2 = [P1] stream 1 after k1;", (f"cta 0: {_COPY}{_READ_ONLY}", f"cta 1: {_LOADS}"), "~exists (1:r0 != 1)\nrace_free", "ok"),
    ReadingPin("A24-the-host", "a host thread that waits for the kernel waits for its copies",
        _OUT + "kernel k1 = [P0];", (f"cta 0: {_COPY}{_READ_ONLY}", f"host: sync k1; {_LOADS}"), "~exists (1:r0 != 1)\nrace_free", "ok"),
    ReadingPin("A24-its-own-thread-reads", "the kernel's own thread is not behind its end: wait_group.read waits for the reading only",
        _OUT, (f"cta 0: {_COPY}{_READ_ONLY}{_LOADS}",), "exists (true)", "undefined"),
    ReadingPin("A24-its-own-thread-waits", "wait_group waits for the writing too",
        _OUT, (f"cta 0: {_COPY}{_WHOLE}{_LOADS}",), "~exists (0:r0 != 1)\nrace_free", "ok"),
    ReadingPin("A24-into-shared-not-waited", "a CTA ends whose shared memory is still written",
        _G, (f"cta 0: {_IN}",), "exists (true)", "undefined"),
    ReadingPin("A24-into-shared-waited", "the wait for the object is one for the copy",
        _G, (f"cta 0: {_IN}{_WAIT.format('')}",), "exists (true)", "ok"),
    ReadingPin("A24-cp.async-not-waited", "a copy by cp.async writes shared memory as well",
        _G, ("cta 0: cp.async.ca.shared.global [d], [g], 16;",), "exists (true)", "undefined"),
    ReadingPin("A24-cp.async-waited", "wait_all waits for it",
        _G, ("cta 0: cp.async.ca.shared.global [d], [g], 16; cp.async.wait_all;",), "exists (true)", "ok"),

    ReadingPin("A25-waits", "griddepcontrol.wait waits for the prerequisite grid", _X,
        (f"cta 0: {_LETS}{_SETS}", f"cta 1: {_AWAITS}{_SEES}"), "~exists (1:r0 = 0)\nrace_free", "ok"),
    ReadingPin("A25-does-not-wait", "without the wait there is no order", _X,
        (f"cta 0: {_LETS}{_SETS}", f"cta 1: {_SEES}"), "exists (1:r0 = 0)", "ok"),
    ReadingPin("A25-does-not-wait-and-races", "so the accesses race", _X,
        (f"cta 0: {_LETS}{_SETS}", f"cta 1: {_SEES}"), _RACE, "no"),
    ReadingPin("A25-reads-before-it-waits", "what stands before the wait is not behind it", _X,
        (f"cta 0: {_LETS}{_SETS}", f"cta 1: {_SEES}{_AWAITS}"), "exists (1:r0 = 0)", "ok"),
    ReadingPin("A25-waits-for-an-ordinary-kernel", "a kernel that lets nobody begin early is over when the next begins", _X,
        (f"cta 0: {_SETS}", f"cta 1: {_AWAITS}{_SEES}"), "~exists (1:r0 = 0)\nrace_free", "ok"),
    ReadingPin("A25-one-before-the-last", "the second did not wait for the first, and so does not order it", _THREE,
        (f"cta 0: {_LETS}{_SETS}", f"cta 1: {_LETS}", f"cta 2: {_AWAITS}{_SEES}"), "exists (2:r0 = 0)", "ok"),
    ReadingPin("A25-one-before-the-last-waited-for", "the second waited for the first, and the third for the second", _THREE,
        (f"cta 0: {_LETS}{_SETS}", f"cta 1: {_LETS}{_AWAITS}", f"cta 2: {_AWAITS}{_SEES}"), "~exists (2:r0 = 0)\nrace_free", "ok"),
    ReadingPin("A25-ordinary-successor-of-one-that-did-not-wait", "the third waits for the end of the second, which did not wait for the first", _THREE,
        (f"cta 0: {_LETS}{_SETS}", "cta 1: mov.u32 %r1, 0;", f"cta 2: {_SEES}"), "exists (2:r0 = 0)", "ok"),
    ReadingPin("A25-ordinary-successor-of-one-that-waited", "the second waited", _THREE,
        (f"cta 0: {_LETS}{_SETS}", f"cta 1: {_AWAITS}", f"cta 2: {_SEES}"), "~exists (2:r0 = 0)\nrace_free", "ok"),
    ReadingPin("A25-another-thread-waits", "each thread waits for itself", "x = 0; kernel k1 = [P0]; kernel k2 = [P1,P2];",
        (f"cta 0: {_LETS}{_SETS}", f"cta 1: {_AWAITS}", f"cta 1: {_SEES}"), "exists (2:r0 = 0)", "ok"),
    ReadingPin("A25-another-thread-waits-and-meets-it", "what one waited for, a barrier hands on", "x = 0; kernel k1 = [P0]; kernel k2 = [P1,P2];",
        (f"cta 0: {_LETS}{_SETS}", f"cta 1: {_AWAITS}bar.sync 0, 64;", f"cta 1: bar.sync 0, 64; {_SEES}"), "~exists (2:r0 = 0)\nrace_free", "ok"),
    ReadingPin("A25-waits-only-sometimes", "a kernel that may not wait orders nothing where it does not", _THREE + "y = 0;",
        (f"cta 0: {_LETS}{_SETS}", f"cta 1: ld.relaxed.gpu.u32 %r1, [y]; setp.eq.u32 %p0, %r1, 0; @%p0 bra E; {_AWAITS} E: ret;", f"cta 2: {_SEES}"),
        "exists (2:r0 = 0)", "ok"),

    ReadingPin("A26-observed-then-reset", "its write is observed, and that read comes before the store in program order", _N,
        (f"cta 0: {_ADDS}", f"cta 1: {_ADDS}{_RESETS.format(1)}"), _RACE, "ok"),
    ReadingPin("A26-observed-then-reset-stays-reset", "the store follows the addition in coherence order", _N,
        (f"cta 0: {_ADDS}", f"cta 1: {_ADDS}{_RESETS.format(1)}"), "~exists (1:r0 = 1 /\\ n != 0)", "ok"),
    ReadingPin("A26-reduction-observed", "a reduction is one operation as well", _N,
        ("cta 0: red.relaxed.gpu.add.u32 [n], 1;", f"cta 1: {_ADDS}{_RESETS.format(1)}"), _RACE, "ok"),
    ReadingPin("A26-not-observed", "nothing orders the addition before a store that does not hang on it", _N,
        (f"cta 0: {_ADDS}", f"cta 1: {_ADDS}st.weak.u32 [n], 0;"), _RACE, "no"),
    ReadingPin("A26-narrow-scope", "an addition at .cta of another CTA is not observed: they are not morally strong", _N,
        ("cta 0: atom.relaxed.cta.add.u32 %r0, [n], 1;", f"cta 1: {_ADDS}{_RESETS.format(1)}"), _RACE, "no"),
    ReadingPin("A26-three", "observation goes on through atomic operations", _N,
        (f"cta 0: {_ADDS}", f"cta 1: {_ADDS}", f"cta 2: {_ADDS}{_RESETS.format(2)}"), _RACE, "ok"),
    ReadingPin("A26-three-reset-too-early", "who saw one addition has not seen the other", _N,
        (f"cta 0: {_ADDS}", f"cta 1: {_ADDS}", f"cta 2: {_ADDS}{_RESETS.format(1)}"), _RACE, "no"),
    ReadingPin("A26-a-load-behind-it", "a plain load behind the addition is an operation of its own, which nobody observed", _N,
        (f"cta 0: {_ADDS}ld.weak.u32 %r1, [n];", f"cta 1: {_ADDS}{_RESETS.format(1)}"), _RACE, "no"),
    ReadingPin("A26-reset-by-an-atomic", "atomic operations of one scope do not race", _N,
        (f"cta 0: {_ADDS}", "cta 1: atom.relaxed.gpu.exch.b32 %r0, [n], 0;"), _RACE, "ok"),
    ReadingPin("A26-failing-swap", "a compare-and-swap that fails is a read, which nothing orders before the store", _N,
        ("cta 0: atom.relaxed.gpu.cas.b32 %r0, [n], 7, 8;", f"cta 1: {_ADDS}st.weak.u32 [n], 0;"), _RACE, "no"),
    ReadingPin("A26-seen-by-a-strong-load", "a relaxed load observes the addition, too", _N,
        (f"cta 0: {_ADDS}", f"cta 1: ld.relaxed.gpu.u32 %r0, [n]; {_RESETS.format(1)}"), _RACE, "ok"),
    ReadingPin("A26-seen-by-a-weak-load", "a weak load observes nothing, and races itself", _N,
        (f"cta 0: {_ADDS}", f"cta 1: ld.weak.u32 %r0, [n]; {_RESETS.format(1)}"), _RACE, "no"),
    ReadingPin("A26-the-next-kernel", "the next kernel follows the end of this one", _N + "kernel k1 = [P0,P1]; kernel k2 = [P2];",
        (f"cta 0: {_ADDS}", f"cta 1: {_ADDS}{_RESETS.format(1)}", f"cta 2: {_ADDS}"), _RACE, "ok"),

    ReadingPin("A27-present", "lanes that are there give what they hold", _V, _BOTH, "forall (0:r1 = 7 /\\ 1:r1 = 5)", "ok"),
    ReadingPin("A27-exited", "from a lane that has exited comes any value, and the condition hangs on it", _V,
        (_W + _FROM.format(5, 1, 3), _W + "exit;"), "exists (0:r1 = 0)", "undefined"),
    ReadingPin("A27-exited-in-all-cases", "also where the claim is about all executions", _V,
        (_W + _FROM.format(5, 1, 3), _W + "exit;"), "forall (0:r1 = 5)", "undefined"),
    ReadingPin("A27-exited-not-asked", "nothing hangs on it", _V,
        (_W + _FROM.format(5, 1, 3) + "st.weak.u32 [x], 1;", _W + "exit;"), "forall (x = 1)", "ok"),
    ReadingPin("A27-exited-masked-away", "no bit of it is left", _V,
        (_W + _FROM.format(5, 1, 3) + "and.b32 %r2, %r1, 0;", _W + "exit;"), "forall (0:r2 = 0)", "ok"),
    ReadingPin("A27-exited-own-lane", "a lane takes from itself what it holds, whoever has exited", _V,
        (_W + _FROM.format(5, 0, 3), _W + "exit;"), "forall (0:r1 = 5)", "ok"),
    ReadingPin("A27-exited-into-memory", "what is stored hangs on it", _V,
        (_W + _FROM.format(5, 1, 3) + "st.weak.u32 [x], %r1;", _W + "exit;"), "exists (x = 9)", "undefined"),
    ReadingPin("A27-exited-both-ways-alike", "whichever way the branch goes, the same is stored", _V,
        (_W + _FROM.format(5, 1, 3) + "setp.eq.u32 %p0, %r1, 5; @%p0 bra A; st.weak.u32 [x], 1; bra B; A: st.weak.u32 [x], 1; B: ret;", _W + "exit;"),
        "forall (x = 1)", "ok"),
    ReadingPin("A27-exited-two-ways", "the branch decides what is stored", _V,
        (_W + _FROM.format(5, 1, 3) + "setp.eq.u32 %p0, %r1, 5; @%p0 st.weak.u32 [x], 1;", _W + "exit;"), "exists (x = 1)", "undefined"),
    ReadingPin("A27-not-in-the-mask", "from a lane outside of the mask comes any value, though it is there", _V,
        (_W + _FROM.format(5, 1, 1), _W + "mov.u32 %r0, 7; st.weak.u32 [y], %r0;"), "exists (0:r1 = 7)", "undefined"),
    ReadingPin("A27-out-of-range", "where the source lane is out of range a lane copies its own", _V,
        (_W + "mov.u32 %r0, 5; shfl.sync.up.b32 %r1, %r0, 1, 0, 3;", _W + "exit;"), "forall (0:r1 = 5)", "ok"),
    ReadingPin("A27-ballot", "vote leaves exited lanes out", _V,
        (_W + "setp.eq.u32 %p0, 0, 0; vote.sync.ballot.b32 %r1, %p0, 3;", _W + "exit;"), "forall (0:r1 = 1)", "ok"),
    ReadingPin("A27-redux", "redux leaves exited lanes out", _V,
        (_W + "redux.sync.add.u32 %r1, 5, 3;", _W + "exit;"), "forall (0:r1 = 5)", "ok"),
    ReadingPin("A27-match", "match leaves exited lanes out", _V,
        (_W + "match.any.sync.b32 %r1, 5, 3;", _W + "exit;"), "forall (0:r1 = 1)", "ok"),
)
