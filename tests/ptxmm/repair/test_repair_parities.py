"""Parities of waits for an mbarrier that are computed: what a run shows of the turns, and what they become."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import ptxmm
from ptxmm.cli.main import main
from ptxmm.kernels.test import KernelTest
from ptxmm.repair.cuda.candidates import candidates
from ptxmm.repair.cuda.code import CudaCode
from ptxmm.repair.finding import answered
from ptxmm.repair.kernel_subject import KernelSubject
from ptxmm.repair.parity_sites import in_words
from ptxmm.repair.sites import PARITY, InTurn, Wanted, edited
from ptxmm.repair.subjects import How
from ptxmm.repair.turns import turns

#: Thread 0 fills stages in turn, thread 1 reads them and gives them back: a loop each, of ROUNDS rounds.
_RING = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
    .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<4>;
    .shared .align 8 .b64 full[4]; .shared .align 8 .b64 empty[4]; .shared .align 4 .b32 s[4];
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, full;
    mov.u32 %r3, empty;
    mov.u32 %r4, s;
    mov.u32 %r5, 0;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra MEET;
    mbarrier.init.shared::cta.b64 [full], 1;
    mbarrier.init.shared::cta.b64 [full+8], 1;
    mbarrier.init.shared::cta.b64 [full+16], 1;
    mbarrier.init.shared::cta.b64 [empty], 1;
    mbarrier.init.shared::cta.b64 [empty+8], 1;
    mbarrier.init.shared::cta.b64 [empty+16], 1;
MEET: bar.sync 0;
LOOP:
    rem.u32 %r6, %r5, STAGES;
    shl.b32 %r7, %r6, 3;
    add.u32 %r8, %r2, %r7;
    add.u32 %r9, %r3, %r7;
    shl.b32 %r7, %r6, 2;
    add.u32 %r10, %r4, %r7;
    @%p1 bra READ;
FREE_PARITY
FREE: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r9], %r11;
    @!%p2 bra FREE;
    st.shared.u32 [%r10], %r5;
    mbarrier.arrive.shared::cta.b64 _, [%r8];
    bra NEXT;
READ:
FULL_PARITY
FULL: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r8], %r11;
    @!%p2 bra FULL;
    ld.shared.u32 %r12, [%r10];
    st.global.u32 [%rd1], %r12;
    mbarrier.arrive.shared::cta.b64 _, [%r9];
NEXT: add.u32 %r5, %r5, 1;
    setp.lt.u32 %p3, %r5, ROUNDS;
    @%p3 bra LOOP;
    ret;
}
"""
#: What gives %r11 the parity of %r5 / STAGES, and the other one.
_TURN = "    div.u32 %r11, %r5, STAGES;\n    and.b32 %r11, %r11, 1;\n"
_OTHER = _TURN + "    xor.b32 %r11, %r11, 1;\n"


def _ring(full: str = _TURN, free: str = _OTHER, stages: int = 2, rounds: int = 4) -> KernelTest:
    text = _RING.replace("FULL_PARITY\n", full).replace("FREE_PARITY\n", free)
    text = text.replace("STAGES", str(stages)).replace("ROUNDS", str(rounds))
    return ptxmm.Kernel(
        text, params={"x": {"type": "u32", "elements": 1}}, grid=1, block=2, race_free=True, terminates=True
    ).test


def _first(test: KernelTest) -> str:
    answer = answered(KernelSubject(test, How()), "repair", every=False, most=None)
    assert answer.found and answer.found[0].minimal
    mended = ptxmm.check(ptxmm.Kernel(
        answer.found[0].text, params={"x": {"type": "u32", "elements": 1}}, grid=1, block=2, race_free=True, terminates=True
    ).test, timeout=300)  # fmt: skip
    assert mended.verdict == "ok"
    return "; ".join(change.words for change in answer.found[0].changes)


_WAIT = "%r11 of mbarrier.try_wait.parity.shared::cta.b64 becomes"


@pytest.mark.parametrize(
    ("full", "stages", "rounds", "meant"),
    [
        ("    and.b32 %r11, %r5, 1;\n", 2, 4, "(%r5 / 2) & 1"),  # the parity of the round
        ("    mov.b32 %r11, 0;\n", 2, 4, "(%r5 / 2) & 1"),  # it never changes
        ("    and.b32 %r11, %r5, 1;\n", 3, 6, "(%r5 / 3) & 1"),
        (_OTHER, 2, 4, "%r11 ^ 1"),
    ],
)
def test_a_parity_becomes_that_of_the_turn(full: str, stages: int, rounds: int, meant: str) -> None:
    assert _first(_ring(full, stages=stages, rounds=rounds)) == f"{_WAIT} {meant}"


def test_who_fills_empty_stages_begins_with_the_other_parity() -> None:
    assert _first(_ring(free=_TURN)) == f"{_WAIT} %r11 ^ 1"
    assert _first(_ring(free="    mov.b32 %r11, 1;\n")) == f"{_WAIT} (%r5 / 2 + 1) & 1"


@pytest.mark.parametrize("full", [_TURN, "    and.b32 %r11, %r5, 1;\n", "    mov.b32 %r11, 1;\n"])
def test_a_run_shows_the_turns_whatever_the_parities_are(full: str) -> None:
    """Nobody waits in it: each thread comes by all its waits."""
    test = _ring(full, stages=3, rounds=7)
    found = turns(test)
    lines = test.launches[0].text.split("\n")
    numbers = {lines[line - 1].partition(":")[0]: [turn.number for turn in several] for line, several in found.items()}
    assert numbers == {"FREE": [0, 0, 0, 1, 1, 1, 2], "FULL": [0, 0, 0, 1, 1, 1, 2]}
    assert [turn.registers["%r5"] for several in found.values() for turn in several] == [*range(7), *range(7)]


def test_nothing_that_is_right_becomes_the_same() -> None:
    """A parity in turn may begin with the other one, and be nothing else."""
    sites = KernelSubject(_ring(), How()).sites("repair", True)
    words = [o.words for site in sites for o in site.options if o.wanted is not None and o.wanted.kind == PARITY]
    assert words == [f"{_WAIT} %r11 ^ 1"] * 2


def test_a_parity_in_words() -> None:
    assert in_words("i", 1, 0, 0) == "i & 1" and in_words("i", 1, 0, 1) == "(i + 1) & 1"
    assert in_words("i", "STAGES", 0, 1) == "(i / STAGES + 1) & 1" and in_words("i", 3, -1, 0) == "((i - 1) / 3) & 1"


_SOURCE = """__global__ void k(int n) {
    int tiles = 0;
    for (int i = 0; i < n; ++i) {
        int at = i % STAGES;
        wait(&full[at], phase);
        for (int j = 0; j < 2; j++) if (!try_wait(empty + at, (j + 1) & 1, 0u)) { use(j); tiles += 1; }
    }
}
"""


def _typed(wanted: InTurn, line: int) -> list[str]:
    told = candidates(CudaCode(_SOURCE), Wanted(PARITY, 1, in_turn=wanted), [(line, 9)], [])
    old = _SOURCE.splitlines()
    return [text.strip() for c in told for text in edited(_SOURCE, c.edits).splitlines() if text not in old]


def test_a_parity_is_typed_by_what_the_loops_count() -> None:
    assert _typed(InTurn(2, 0, 0, False), 5)[:3] == [
        "wait(&full[at], (i / STAGES) & 1);",
        "wait(&full[at], (j / 2) & 1);",
        "wait(&full[at], (tiles / 2) & 1);",
    ]
    assert _typed(InTurn(0, 0, 0, True), 5) == ["wait(&full[at], phase ^ 1);"]
    inner = _typed(InTurn(1, 0, 1, True), 6)
    assert inner[:2] == [
        "for (int j = 0; j < 2; j++) if (!try_wait(empty + at, (j + 1) & 1, 1)) { use(j); tiles += 1; }",
        "for (int j = 0; j < 2; j++) if (!try_wait(empty + at, (j + 1) & 1, (j + 1) & 1)) { use(j); tiles += 1; }",
    ]


_CUDA = """
__device__ unsigned place(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(unsigned m) { asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(m) : "memory"); }
__device__ void arrive(unsigned m) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(m) : "memory"); }
__device__ void wait(unsigned m, unsigned parity) {
  asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }"
               :: "r"(m), "r"(parity) : "memory");
}
constexpr unsigned STAGES = 2;
extern "C" __global__ void k(unsigned *out, unsigned n) {
  __shared__ unsigned long long full[STAGES], empty[STAGES];
  __shared__ unsigned s[STAGES];
  if (threadIdx.x == 0)
    for (unsigned i = 0; i < STAGES; i++) { init(place(&full[i])); init(place(&empty[i])); }
  __syncthreads();
  for (unsigned i = 0; i < n; i++) {
    unsigned at = i % STAGES;
    if (threadIdx.x == 0) {
      wait(place(&empty[at]), (i / STAGES + 1) & 1);
      s[at] = i;
      arrive(place(&full[at]));
    } else {
      wait(place(&full[at]), i & 1);
      out[i] = s[at];
      arrive(place(&empty[at]));
    }
  }
}
"""


@pytest.mark.long
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_a_parity_is_mended_where_the_wait_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """nvcc unrolls the loop: the parities are numbers in the PTX, and an expression of the loop in the source."""
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "ring.cu"
    source.write_text(_CUDA)
    launch = ["--entry", "k", "--grid", "1", "--block", "2", "--arg", "out=u32[4]", "--arg", "n=4"]
    claims = ["--check", "race_free", "--check", "terminates", "--timeout", "300"]
    assert main(["repair", "ring.cu", *launch, *claims, "--apply"]) == 0
    capsys.readouterr()
    assert source.read_text() == _CUDA.replace("i & 1", "(i / STAGES) & 1")
    assert main(["check", "ring.cu", *launch, *claims]) == 0
