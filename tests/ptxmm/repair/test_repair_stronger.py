"""Which changed modules are stronger alone, so that none of their threads waits where those of the module do not."""

from __future__ import annotations

import pytest

from ptxmm.kernels.launch import Buffer, Launch
from ptxmm.kernels.test import Check, KernelTest
from ptxmm.repair.kernel_subject import KernelSubject
from ptxmm.repair.stronger import only_stronger
from ptxmm.repair.subjects import How

_TEXT = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
    .reg .b32 %r<4>; .reg .b64 %rd<2>; .shared .align 8 .b64 m;
    ld.param.u64 %rd1, [x];
    st.global.u32 [%rd1], 1;
    fence.acq_rel.cta;
    atom.global.add.u32 %r1, [%rd1+4], 1;
    mbarrier.arrive.relaxed.cluster.shared::cta.b64 _, [m];
    bar.sync 0;
    ld.volatile.global.u32 %r2, [%rd1];
    ret;
}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("st.global", "st.release.gpu.global"),
        ("fence.acq_rel.cta", "fence.sc.gpu"),
        ("fence.acq_rel.cta", "membar.gl"),
        ("atom.global", "atom.acq_rel.gpu.global"),
        ("atom.global", "atom.relaxed.sys.global"),
        ("arrive.relaxed", "arrive.release"),
        ("    bar.sync", "    fence.proxy.async;\n    bar.sync"),
        ("    ret", "    .loc 1 2 3\n    ret"),
    ],
)
def test_orders_scopes_and_fences_are_stronger(old: str, new: str) -> None:
    text = _TEXT.replace(old, new)
    assert text != _TEXT and only_stronger(text, _TEXT) and ("ret" in old or not only_stronger(_TEXT, text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    ret", "    bar.sync 0;\n    ret"),
        ("    bar.sync 0;\n", ""),
        ("bar.sync 0", "bar.sync 1"),
        ("    fence.acq_rel.cta;\n", ""),
        ("fence.acq_rel.cta", "fence.acquire.cta"),
        ("    fence.acq_rel.cta;\n    atom", "    atom"),
        ("atom.global", "atom.acquire.cta.global"),
        ("%r1, [%rd1+4], 1", "%r1, [%rd1+4], 2"),
        ("ld.volatile", "ld.relaxed.gpu"),
        ("    mbarrier", "    @%p1 mbarrier"),
        (
            "    st.global.u32 [%rd1], 1;\n    fence.acq_rel.cta;",
            "    fence.acq_rel.cta;\n    st.global.u32 [%rd1], 1;",
        ),
    ],
)
def test_what_else_differs_is_not(old: str, new: str) -> None:
    text = _TEXT.replace(old, new)
    assert text != _TEXT and not only_stronger(text, _TEXT)


def test_who_waits_is_not_asked_of_what_is_stronger(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = Buffer("x", elements=2)
    text = _TEXT.replace("    mbarrier.arrive.relaxed.cluster.shared::cta.b64 _, [m];\n", "")
    launch = Launch(text, "k", "k.ptx", grid=(2, 1, 1), block=(2, 1, 1), params=(buffer,))
    subject = KernelSubject(KernelTest("k.ptx", "k", (launch,), (buffer,), (Check("no_trap"),)), How())
    asked = list[str]()
    checked = KernelSubject._checked

    def told(self: KernelSubject, test: KernelTest, text: str, patience: float | None = None) -> object:
        asked.extend(check.kind for check in test.checks)
        return checked(self, test, text, patience)

    monkeypatch.setattr(KernelSubject, "_checked", told)
    monkeypatch.setattr(KernelSubject, "_glance", lambda *_: None)
    subject.judge(text.replace("fence.acq_rel.cta", "fence.sc.gpu"))
    assert asked == ["no_trap"]
    subject.judge(text.replace("    bar.sync 0;", "    bar.sync 0;\n    bar.sync 0;"))
    assert "no_deadlock" in asked[1:]
