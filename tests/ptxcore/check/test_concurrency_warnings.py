"""Each warning for authors of concurrent code: where it is given, and where it is not."""

from __future__ import annotations

import pytest

from ptxcore.check.concurrency import warn
from ptxcore.syntax.reader import read_module

_HEAD = """.version {version}
.target {target}
.address_size 64
.global .u32 flag;
.global .u32 data;
.shared .u32 mine;
.visible .entry k(.param .u64 p)
{{
.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<9>;
"""


def codes(body: str, version: str = "8.0", target: str = "sm_90") -> list[tuple[str, int]]:
    """The codes of the warnings for a body, with their lines in it (from 1)."""
    head = _HEAD.format(version=version, target=target)
    module, found = read_module(f"{head}{body}\nret;\n}}\n")
    assert not found
    return [(d.code, d.span.line - head.count("\n")) for d in warn(module)]


CAS = "W: atom.global.cas.b32 %r1, [flag], {}, {}; setp.ne.s32 %p1, %r1, 0; @%p1 bra W;\n"
SPIN = "W: ld.{}.u32 %r1, [flag]; setp.eq.u32 %p1, %r1, 0; @%p1 bra W;\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # A loop that waits
        (SPIN.format("volatile.global") + "ld.global.u32 %r2, [data];", [("volatile-synchronization", 1)]),
        (SPIN.format("relaxed.gpu.global") + "ld.global.u32 %r2, [data];", [("relaxed-spin", 1)]),
        (SPIN.format("relaxed.gpu.global") + "st.global.u32 [data], 1;", [("relaxed-spin", 1)]),
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
        ("fence.acq_rel.gpu;\nst.volatile.global.u32 [flag], 1;", [("volatile-synchronization", 2)]),
        ("fence.acq_rel.gpu;\nst.global.u32 [data], 1;\nst.volatile.global.u32 [flag], 1;", []),
        # Scopes
        ("ld.relaxed.cta.global.u32 %r1, [flag];", [("cta-scope-global", 1)]),
        ("ld.relaxed.cta.u32 %r1, [flag];", [("cta-scope-global", 1)]),
        ("mov.u64 %rd1, flag;\natom.relaxed.cta.add.u32 %r1, [%rd1], 1;", [("cta-scope-global", 2)]),
        ("ld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\nred.relaxed.cta.add.u32 [%rd2+4], 1;",
         [("cta-scope-global", 3)]),
        ("ld.relaxed.cta.shared.u32 %r1, [mine];", []),
        ("ld.relaxed.gpu.global.u32 %r1, [flag];", []),
        # Weak and atomic
        ("atom.global.add.u32 %r1, [flag], 1;\nst.global.u32 [flag], 0;", [("weak-atomic", 2)]),
        ("st.weak.global.u32 [flag], 0;\nst.release.gpu.global.u32 [flag], 1;", [("weak-atomic", 1)]),
        ("ld.param.u64 %rd1, [p];\natom.global.add.u32 %r1, [%rd1+8], 1;\nadd.s64 %rd2, %rd1, 8;\n"
         "ld.global.u32 %r2, [%rd2];", [("weak-atomic", 4)]),
        ("atom.global.add.u32 %r1, [flag], 1;\nst.global.u32 [data], 0;", []),
        ("atom.global.add.u32 %r1, [flag], 1;\nst.relaxed.gpu.global.u32 [flag], 0;", []),
        # membar
        ("membar.gl;", [("membar", 1)]),
        ("fence.acq_rel.gpu;", []),
    ],
)  # fmt: skip
def test_warnings(body: str, expected: list[tuple[str, int]]) -> None:
    assert codes(body) == expected


@pytest.mark.parametrize(("version", "target"), [("5.0", "sm_70"), ("6.0", "sm_60")])
def test_membar_is_all_there_is_before_fences(version: str, target: str) -> None:
    assert codes("membar.gl;", version, target) == []
