"""Each warning for authors of concurrent code: where it is given, and where it is not."""

from __future__ import annotations

import ptxas
import pytest

from ptxcore.advice.advising import advise
from ptxcore.findings import WARNINGS
from ptxcore.fixes import applied
from ptxcore.syntax.reader import read_module
from ptxmm.linting import lint_text

_HEAD = """.version {version}
.target {target}
.address_size 64
.global .u32 flag;
.global .u32 data;
.global .u32 other;
.shared .align 16 .u32 mine;
.shared .align 8 .u64 object;
.visible .entry k(.param .u64 p)
{{
.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<9>;
"""


def codes(body: str, version: str = "8.0", target: str = "sm_90") -> list[tuple[str, int]]:
    """The codes of the warnings for a body, with their lines in it (from 1)."""
    head = _HEAD.format(version=version, target=target)
    module, found = read_module(f"{head}{body}\nret;\n}}\n")
    assert not found
    return [(d.code, d.span.line - head.count("\n")) for d in advise(module)]


CAS = "W: atom.global.cas.b32 %r1, [flag], {}, {}; setp.ne.s32 %p1, %r1, 0; @%p1 bra W;\n"
SPIN = "W: ld.{}.u32 %r1, [flag]; setp.eq.u32 %p1, %r1, 0; @%p1 bra W;\n"
#: A lock taken with acquire, what stands under it, what comes before it is given back, and how it is.
LOCKED = (
    "W: atom.acquire.gpu.global.cas.b32 %r1, [flag], 0, 1; setp.ne.s32 %p1, %r1, 0; @%p1 bra W;\n"
    "ld.global.u32 %r2, [data]; add.u32 %r2, %r2, 1; st.global.u32 [data], %r2;\n{}\n{}"
)
#: A fence between data and a flag that another thread waits for.
NARROW = (
    "@%p2 bra W; st.global.u32 [data], 1;\nfence.{};\nst.{}.global.u32 [flag], 1; ret;\n"
    "W: ld.acquire.gpu.global.u32 %r1, [flag]; setp.eq.u32 %p1, %r1, 0; @%p1 bra W;\nld.global.u32 %r2, [data];"
)
#: Two ways that depend on the thread, and come together again.
DIVERGENT = (
    "mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 9; @%p1 bra A; {} bra.uni B;\nA: {}\nB: st.global.u32 [other], 1;"
)
STORE = "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [mine], 16;"
STORED_LATER = (
    "mov.u32 %r1, mine; mapa.shared::cluster.u32 %r2, %r1, 1;\n"
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r2], %r4, [%r5];\n"
)
AWAITED = "W: mbarrier.try_wait.parity.shared.b64 %p1, [object], 0; @!%p1 bra W;\n"
#: One CTA of a cluster writes to the other, which reads on a path of its own.
ON_ANOTHER_PATH = (
    "barrier.cluster.arrive; barrier.cluster.wait; @%p2 bra READ;\n" + STORED_LATER + "bra END;\nEND: ret;\nREAD:\n"
)
#: The address goes through blocks that name a register of theirs alike, by 64 bits and back.
NARROWED = """mov.u32 %r1, mine; mov.u32 %r6, object;
{ .reg .b64 %tmp; cvt.u64.u32 %tmp, %r1; cvta.shared.u64 %rd3, %tmp; } mapa.u64 %rd4, %rd3, 1;
{ .reg .b64 %tmp; cvta.to.shared.u64 %tmp, %rd4; cvt.u32.u64 %r2, %tmp; } { .reg .b64 %tmp; cvt.u64.u32 %tmp, %r6; }
st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r2], %r4, [%r5];
"""
BULK = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [mine], [%rd1], 16, [object];"


#: Bodies, and what is found in them at which of their lines.
BODIES: list[tuple[str, list[tuple[str, int]]]] = [
    # A loop that waits
    (SPIN.format("volatile.global") + "ld.global.u32 %r2, [data];", [("volatile-synchronization", 1)]),
    (SPIN.format("relaxed.gpu.global") + "ld.global.u32 %r2, [data];", [("relaxed-spin", 1)]),
    (SPIN.format("relaxed.gpu.global") + "st.global.u32 [data], 1;", []),  # no load takes turns with anybody
    (SPIN.format("relaxed.gpu.global") + "st.global.u32 [data], 1; ld.global.u32 %r2, [data];", [("relaxed-spin", 1)]),
    (SPIN.format("relaxed.gpu.global") + "@%p2 bra E; fence.acq_rel.gpu;\nE: ld.global.u32 %r2, [data];",
     [("relaxed-spin", 1)]),  # one way has no fence
    (SPIN.format("relaxed.gpu.global") + "ld.shared.u32 %r2, [mine];", []),  # who signals has another one
    (SPIN.format("acquire.gpu.global") + "ld.global.u32 %r2, [data];", []),
    (SPIN.format("relaxed.gpu.global") + "fence.acq_rel.gpu;\nld.global.u32 %r2, [data];", []),
    (SPIN.format("relaxed.gpu.global") + "ld.param.u64 %rd1, [p]; fence.acq_rel.gpu;", []),
    (
        "W: ld.relaxed.gpu.global.u32 %r1, [flag]; setp.ne.u32 %p1, %r1, 0; @%p1 bra E; bra.uni W;\nE: "
        "ld.global.u32 %r2, [data];",
        [("relaxed-spin", 1)],
    ),
    (
        "W: atom.relaxed.gpu.global.cas.b32 %r1, [flag], 0, 1; setp.ne.s32 %p1, %r1, 0; @%p1 bra W;\n"
        "st.global.u32 [data], 1;",
        [("relaxed-spin", 1)],
    ),
    ("mov.u32 %r1, 0;\nW: add.u32 %r1, %r1, 1; ld.relaxed.gpu.global.u32 %r2, [flag]; setp.lt.u32 %p1, %r1, 9; "
     "@%p1 bra W;", []),
    # An atomic that says nothing of its order, as nvcc writes atomicCAS
    (CAS.format("0", "1") + "st.global.u32 [data], 1;", [("relaxed-spin", 1)]),
    (CAS.format("%r4", "%r5") + "st.global.u32 [data], 1;", [("relaxed-spin", 1)]),
    ("mov.u32 %r3, 1;\n" + CAS.format("0", "%r3") + "ld.global.u32 %r4, [data];", [("relaxed-spin", 2)]),
    (CAS.format("0", "1") + "membar.gl;\nst.global.u32 [data], 1;", [("membar", 2)]),
    (CAS.format("0", "1") + "fence.acq_rel.gpu;\nst.global.u32 [data], 1;", []),
    (CAS.format("0", "1").replace("global", "acquire.gpu.global") + "st.global.u32 [data], 1;", []),
    ("W: mov.u32 %r2, 0; mov.u32 %r3, 1; atom.global.cas.b32 %r1, [flag], %r2, %r3; setp.ne.s32 %p1, %r1, 0; @%p1 bra W;\n"
     "st.global.u32 [data], 1;", [("relaxed-spin", 1)]),
    ("W: atom.global.add.u32 %r1, [flag], 0; setp.ne.s32 %p1, %r1, 4; @%p1 bra W;\nst.global.u32 [data], 1;",
     [("relaxed-spin", 1)]),
    # ... and one that tries again with what it has read, as an atomic addition of floats does, waits for nobody
    ("ld.volatile.global.u32 %r1, [flag];\nW: mov.u32 %r2, %r1; add.u32 %r3, %r2, 1;\n"
     "atom.global.cas.b32 %r1, [flag], %r2, %r3; setp.ne.s32 %p1, %r1, %r2; @%p1 bra W;\nst.global.u32 [data], 1;", []),
    # Volatile stores
    ("fence.acq_rel.gpu;\nst.volatile.global.u32 [flag], 1;", []),
    (LOCKED.format("", "st.volatile.global.u32 [flag], 0;"), [("volatile-synchronization", 4)]),
    (LOCKED.format("fence.acq_rel.gpu;", "st.volatile.global.u32 [flag], 0;"), []),
    # Relaxed signals
    (LOCKED.format("", "atom.global.exch.b32 %r3, [flag], 0;"), [("relaxed-release", 4)]),
    (LOCKED.format("", "red.relaxed.gpu.global.add.u32 [flag], -1;"), [("relaxed-release", 4)]),
    (LOCKED.format("", "atom.acquire.gpu.global.exch.b32 %r3, [flag], 0;"), [("relaxed-release", 4)]),
    (LOCKED.format("", "atom.release.gpu.global.exch.b32 %r3, [flag], 0;"), []),
    (LOCKED.format("fence.acq_rel.gpu;", "atom.global.exch.b32 %r3, [flag], 0;"), []),
    (LOCKED.format("@%p2 bra E; fence.acq_rel.gpu; E:", "atom.global.exch.b32 %r3, [flag], 0;"), [("relaxed-release", 4)]),
    (LOCKED.format("", "atom.global.exch.b32 %r3, [data], 0;").replace("st.global.u32 [data]", "st.global.u32 [other]"),
     []),
    # A barrier of the CTA orders nothing for threads of others
    (LOCKED.format("bar.sync 0;", "atom.global.exch.b32 %r3, [flag], 0;"), [("relaxed-release", 4)]),
    (LOCKED.format("barrier.cluster.arrive; barrier.cluster.wait;", "atom.global.exch.b32 %r3, [flag], 0;"), []),
    (LOCKED.format("fence.acq_rel.gpu; bar.sync 0;", "atom.global.exch.b32 %r3, [flag], 0;"), []),
    # Loops that wait with weak loads
    (SPIN.format("global"), [("weak-spin", 1)]),
    (SPIN.format("global").replace("setp", "bar.sync 0; setp"), []),
    (SPIN.format("global").replace("setp", "st.global.u32 [flag], 1; setp"), []),  # ends it itself
    ("mov.u64 %rd1, flag;\nW: ld.global.u32 %r1, [%rd1]; add.u64 %rd1, %rd1, 4; setp.eq.u32 %p1, %r1, 0; @%p1 bra W;", []),
    # Fences
    (NARROW.format("acq_rel.cta", "relaxed.gpu"), [("narrow-fence", 2)]),
    (NARROW.format("acq_rel.gpu", "relaxed.gpu"), []),
    (NARROW.format("acq_rel.cta", "release.gpu"), []),
    (NARROW.format("acq_rel.cta", "relaxed.cta"), [("cta-scope-global", 3)]),
    # Barriers
    (DIVERGENT.format("bar.sync 0;", ""), [("divergent-barrier", 1)]),
    (DIVERGENT.format("barrier.sync 3;", "barrier.sync 3;"), []),
    (DIVERGENT.format("barrier.sync 3;", "barrier.sync 4;"), [("divergent-barrier", 1), ("divergent-barrier", 2)]),
    (DIVERGENT.format("bar.sync 1, 64;", ""), []),
    (DIVERGENT.format("bar.warp.sync -1;", ""), []),
    (DIVERGENT.format("bar.sync 0;", "ret;"), []),  # who has ended is not waited for
    (DIVERGENT.format("bar.sync 0;", "").replace("tid", "ctaid"), []),  # all threads go the same way
    # Proxies
    ("st.shared.u32 [mine], 1; bar.sync 0; " + STORE,
     [("missing-proxy-fence", 1)]),
    ("st.shared.u32 [mine], 1; fence.proxy.async; bar.sync 0; " + STORE,
     []),
    ("st.shared.u32 [mine], 1; @%p1 bra E; fence.proxy.async;\nE: " + STORE,
     []),  # one way has it
    ("st.shared.u32 [object], 1; " + STORE, []),
    ("mbarrier.init.shared::cta.b64 [object], 1; bar.sync 0;\n" + BULK, [("unfenced-mbarrier-init", 2)]),
    ("mbarrier.init.shared::cta.b64 [object], 1; fence.mbarrier_init.release.cluster; bar.sync 0;\n" + BULK, []),
    ("mbarrier.init.shared::cta.b64 [object], 1; barrier.cluster.arrive; barrier.cluster.wait;\n" + BULK, []),
    # Asynchronous writes that nobody waits for
    (STORED_LATER + "barrier.cluster.arrive; barrier.cluster.wait;\nld.shared.u32 %r3, [mine];", [("unawaited-write", 4)]),
    (STORED_LATER + AWAITED + "ld.shared.u32 %r3, [mine];", []),
    (STORED_LATER + "@%p2 bra E;\n" + AWAITED + "E: bar.sync 0; ld.shared.u32 %r3, [mine];", []),  # one thread waits
    (STORED_LATER + "ld.shared.u32 %r3, [object];", []),  # something else
    ("ld.shared.u32 %r3, [mine];\n" + STORED_LATER, []),
    (BULK + "\nbar.sync 0; ld.shared.u32 %r3, [mine];", [("unawaited-write", 2)]),
    (ON_ANOTHER_PATH + "ld.shared.u32 %r3, [mine];", [("unawaited-write", 7)]),
    (ON_ANOTHER_PATH + AWAITED + "ld.shared.u32 %r3, [mine];", []),
    ("ld.shared.u32 %r3, [mine];\n" + ON_ANOTHER_PATH, []),  # before they meet nobody has written
    (NARROWED + "ld.shared.u32 %r3, [mine];", [("unawaited-write", 5)]),
    (STORE + "\nld.shared.u32 %r3, [mine];", []),  # it is read there
    # Scopes
    ("ld.relaxed.cta.global.u32 %r1, [flag];", [("cta-scope-global", 1)]),
    ("ld.relaxed.cta.u32 %r1, [flag];", [("cta-scope-global", 1)]),
    ("mov.u64 %rd1, flag;\natom.relaxed.cta.add.u32 %r1, [%rd1], 1;", [("cta-scope-global", 2)]),
    ("ld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\nred.relaxed.cta.add.u32 [%rd2+4], 1;",
     [("cta-scope-global", 3)]),
    ("ld.param.u64 %rd1, [p];\natom.acquire.cta.cas.b32 %r1, [%rd1], 0, 1;", [("cta-scope-global", 2)]),
    ("ld.param.u64 %rd1, [p];\nmov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;\n"
     "atom.acquire.cta.cas.b32 %r1, [%rd1], 0, 1;", []),  # a lock of each CTA
    ("mov.u64 %rd1, mine;\ncvta.shared.u64 %rd2, %rd1; atom.relaxed.cta.add.u32 %r1, [%rd2], 1;", []),
    ("ld.relaxed.cta.shared.u32 %r1, [mine];", []),
    ("ld.relaxed.gpu.global.u32 %r1, [flag];", []),
    # Weak and atomic
    ("atom.global.add.u32 %r1, [flag], 1;\nst.global.u32 [flag], 0;", [("weak-atomic", 2)]),
    ("st.weak.global.u32 [flag], 0;\nst.release.gpu.global.u32 [flag], 1;", [("weak-atomic", 1)]),
    ("ld.param.u64 %rd1, [p];\natom.global.add.u32 %r1, [%rd1+8], 1;\nadd.s64 %rd2, %rd1, 8;\n"
     "ld.global.u32 %r2, [%rd2];", [("weak-atomic", 4)]),
    ("atom.global.add.u32 %r1, [flag], 1;\nst.global.u32 [data], 0;", []),
    ("atom.global.add.u32 %r1, [flag], 1;\nst.relaxed.gpu.global.u32 [flag], 0;", []),
    ("st.shared.u32 [mine], 0; bar.sync 0; atom.shared.add.u32 %r1, [mine], 1; bar.sync 0; ld.shared.u32 %r2, [mine];",
     []),
    ("st.shared.u32 [mine], 0;\natom.shared.add.u32 %r1, [mine], 1;", [("weak-atomic", 1)]),
    # membar
    ("membar.gl;", [("membar", 1)]),
    ("fence.sc.gpu;", [("membar", 1)]),
    ("st.global.u32 [data], 1; membar.gl; st.relaxed.gpu.global.u32 [flag], 1;", [("membar", 1)]),
    ("st.relaxed.gpu.global.u32 [data], 1; fence.sc.gpu; ld.relaxed.gpu.global.u32 %r1, [data];", []),
    ("st.relaxed.gpu.global.u32 [data], 1; fence.sc.gpu; ld.relaxed.gpu.global.u32 %r1, [flag];\n"
     "st.relaxed.gpu.global.u32 [flag], 1; fence.sc.gpu; ld.relaxed.gpu.global.u32 %r1, [data];", []),
    ("st.relaxed.gpu.u32 [%rd1], 1; fence.sc.gpu; ld.relaxed.gpu.u32 %r1, [%rd2];", []),
    ("fence.acq_rel.gpu;", []),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), BODIES)
def test_warnings(body: str, expected: list[tuple[str, int]]) -> None:
    assert codes(body) == expected


@pytest.mark.parametrize(("version", "target"), [("5.0", "sm_70"), ("6.0", "sm_60")])
def test_membar_is_all_there_is_before_fences(version: str, target: str) -> None:
    assert codes("membar.gl;", version, target) == []


@pytest.mark.parametrize(
    ("body", "mended"),
    [
        (DIVERGENT.format("\n  bar.sync 0;\n", ""), DIVERGENT.format("\n\n", "").replace("B: ", "B: bar.sync 0;\n")),
        (DIVERGENT.format("", "bar.sync 0;"), DIVERGENT.format("", "").replace("B: ", "B: bar.sync 0;\n")),
        (DIVERGENT.format("bar.sync 0; st.global.u32 [data], 1;", ""), None),  # would come before it
        (DIVERGENT.format("bar.sync 0; bar.sync 0;", ""), None),
        (DIVERGENT.format("@%p2 bar.sync 0;", ""), None),
        (DIVERGENT.format("bar.sync 0;", "bar.sync 1;"), None),
        ("@%p3 bra B;\n" + DIVERGENT.format("bar.sync 0;", ""), None),  # others come there, who need not wait
        ("@%p3 bra A;\n" + DIVERGENT.format("", "bar.sync 0;"), None),
    ],
)
def test_a_barrier_is_moved_where_its_threads_do_the_same(body: str, mended: str | None) -> None:
    head = _HEAD.format(version="8.0", target="sm_90")
    text = f"{head}{body}\nret;\n}}\n"
    found = [d for d in advise(read_module(text)[0]) if d.code == "divergent-barrier"]
    assert found and all((d.fix is None) is (mended is None) for d in found)
    if mended is not None:
        new, left = applied(text, found)
        assert "".join(new.split()) == "".join(f"{head}{mended}\nret;\n}}\n".split()) and left == found
        assert not [d for d in advise(read_module(new)[0]) if d.code == "divergent-barrier"]


def test_accesses_of_one_location_are_one_warning_and_one_fix() -> None:
    body = (
        "ld.relaxed.cta.global.u32 %r1, [flag];\nld.acquire.cta.global.u32 %r2, [flag];\n"
        "ld.relaxed.cta.global.u32 %r1, [data];\nst.relaxed.cta.global.u32 [flag], 1;\nret;\n}\n"
    )
    module, found = read_module(_HEAD.format(version="8.0", target="sm_90") + body)
    assert not found
    flag, data = advise(module)
    assert "likewise on lines" in flag.message and "likewise" not in data.message
    assert flag.fix is not None and len(flag.fix.edits) == 3 and data.fix is not None and len(data.fix.edits) == 1


#: What no single edit mends: a loop, or a barrier of those alone who come by.
_NO_EDIT = {"unawaited-write", "divergent-barrier"}


@pytest.mark.skipif(ptxas.executable() is None, reason=f"no ptxas {ptxas.RELEASE} here")
def test_what_is_proposed_is_taken_by_ptxas_and_leaves_no_such_finding() -> None:
    codes: dict[str, int] = {}
    for body, _ in BODIES:
        text = f"{_HEAD.format(version='8.0', target='sm_90')}{body}\nret;\n}}\n"
        found = advise(read_module(text)[0])
        assert {d.code for d in found if d.fix is None} <= _NO_EDIT
        mendable = [d for d in found if d.fix is not None]
        for finding in mendable:
            codes[finding.code] = codes.get(finding.code, 0) + 1
            new, _ = applied(text, [finding])
            left = lint_text(new)
            assert [d for d in left if d.severity == "error"] == []
            before, after = ([d.code for d in several].count(finding.code) for several in (found, left))
            assert after < before, (body, finding)
        if mendable:
            assert ptxas.check_module(applied(text, mendable)[0]) == [], body
    assert len(codes) == len(WARNINGS) - len({"later-version", "unawaited-write"}) and sum(codes.values()) >= 35, codes
