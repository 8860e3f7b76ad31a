"""A module without the kernels that are not launched: what is left is where it was, and means the same."""

from __future__ import annotations

import ptxmm
from ptxcore.syntax.reader import read_module
from ptxcore.syntax.tree import Instruction
from ptxmm.kernels.kernels_alone import kernels_alone
from ptxmm.repair.finding import answered
from ptxmm.repair.kernel_subject import KernelSubject
from ptxmm.repair.subjects import How

TEXT = """.version 8.6
.target sm_90
.address_size 64
	// .globl	other
.global .align 4 .b8 table[4] = {1, 2, 3, 4};
.func (.reg .b32 %o) helps(.reg .b32 %i) { mov.b32 %o, %i; ret; }
.visible .entry other(
	.param .u64 other_param_0
)
.maxntid 32, 1, 1
{
	.reg .b32 %r<3>; // a brace } that is none, and a "text
	{ .reg .b32 %q; mov.u32 %q, 0; }
	mov.u32 %r1, 1;
	ret;
}
.visible .entry mp(.param .u64 x, .param .u64 flag)
{
	.reg .b64 %rd<3>; .reg .b32 %r<4>; .reg .pred %p;
	ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [flag]; mov.u32 %r1, %ctaid.x;
	setp.ne.u32 %p, %r1, 0;
	@%p bra READS;
	st.global.u32 [%rd1], 1;
	st.relaxed.gpu.global.u32 [%rd2], 1;
	ret;
READS:
	ld.acquire.gpu.global.u32 %r2, [%rd2];
	setp.eq.u32 %p, %r2, 0;
	@%p bra DONE;
	ld.global.u32 %r3, [%rd1];
DONE:
	ret;
}
.visible .entry last() { ret; }
	.section	.debug_str
	{
$L__info_string0:
.b8 95,90,0
	}
"""


def _opcodes(text: str) -> list[tuple[str, int, int]]:
    return [(s.text, *s.start) for s in read_module(text)[0].statements if isinstance(s, Instruction)]


def test_what_is_left_stands_where_it_stood() -> None:
    alone = kernels_alone(TEXT, {"mp"})
    assert len(alone) == len(TEXT) and alone.count("\n") == TEXT.count("\n")
    assert all(new == old or new == " " for new, old in zip(alone, TEXT, strict=True))
    gone = {"mov.u32 %q, 0", "mov.u32 %r1, 1"}
    kept = [one for one in _opcodes(TEXT) if one[0] not in gone]
    assert [one for one in kept if one in _opcodes(alone)] == _opcodes(alone)
    assert ".entry other" not in alone and ".entry last" not in alone and ".entry mp" in alone
    assert (
        "helps" in alone and "table[4] = {1, 2, 3, 4}" in alone and "95,90" not in alone and "$L__info_string0" in alone
    )


def test_a_kernel_that_others_name_is_left_and_so_is_all_that_sections_speak_of() -> None:
    named = TEXT.replace("mov.u32 %r1, %ctaid.x;", "mov.u32 %r1, %ctaid.x; mov.u64 %rd0, other;")
    assert ".entry other" in kernels_alone(named, {"mp"}) and ".entry last" not in kernels_alone(named, {"mp"})
    debugged = TEXT.replace(".debug_str", ".debug_info")
    assert kernels_alone(debugged, {"mp"}) == debugged
    only = (
        TEXT[: TEXT.index(".visible .entry other")]
        + TEXT[TEXT.index(".visible .entry mp") : TEXT.index(".visible .entry last")]
    )
    assert kernels_alone(only, {"mp"}) == only


def test_what_is_repaired_is_the_whole_module() -> None:
    params = {name: {"type": "u32", "elements": 1} for name in ("x", "flag")}
    kernel = ptxmm.Kernel(TEXT, entry="mp", params=params, grid=2, block=1, race_free=True, terminates=True)
    (found,) = answered(KernelSubject(kernel.test, How()), "repair", every=False, most=None).found
    assert found.text == TEXT.replace("st.relaxed.gpu.global", "st.release.gpu.global")
