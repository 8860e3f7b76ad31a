"""`deterministic` asks whether a buffer ends the same in every execution; who found something out of date is told."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agreement import compared

import ptxmm
from ptxcore.diagnostics import InputError
from ptxmm.kernels import determinism
from ptxmm.kernels.toml import KernelFile
from ptxmm.result import Result

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
#: Threads of two CTAs add to a word, store to others, and read.
LINES = (
    "red.relaxed.gpu.global.add.u32 [%rd0], 1;",
    "st.relaxed.gpu.global.u32 [%rd0+4], %r0;",
    "st.relaxed.gpu.global.u32 [%rd0+4], 3;",
    "ld.relaxed.gpu.global.u32 %r1, [%rd0]; st.relaxed.gpu.global.u32 [%rd1], %r1;",
    "atom.relaxed.gpu.global.exch.b32 %r1, [%rd0+4], 7; st.relaxed.gpu.global.u32 [%rd1], %r1;",
    "fence.acq_rel.gpu;",
)
#: A last block: each CTA stores a part and counts itself in, by the first of its threads; the last one adds the parts up.
LAST = """
.visible .entry total(.param .u64 part, .param .u64 count, .param .u64 sum)
{
    .reg .b64 %part, %count, %sum, %at, %wide; .reg .b32 %t, %c, %n, %v, %s, %i; .reg .pred %p;
    .shared .align 4 .u32 last;
    ld.param.u64 %part, [part]; ld.param.u64 %count, [count]; ld.param.u64 %sum, [sum];
    mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %n, %nctaid.x;
    mul.wide.u32 %wide, %c, 4; add.s64 %at, %part, %wide; add.u32 %v, %c, 1;
    setp.ne.u32 %p, %t, 0;
@%p bra MET;
    st.volatile.global.u32 [%at], %v;
    FENCE
    atom.relaxed.gpu.global.inc.u32 %v, [%count], %n;
    FENCE
    st.shared.u32 [last], %v;
MET:
    bar.sync 0;
    ld.shared.u32 %v, [last]; sub.u32 %n, %n, 1;
    setp.ne.u32 %p, %v, %n; @%p bra END;
    setp.ne.u32 %p, %t, 0; @%p bra END;
    mov.u32 %s, 0; mov.u32 %i, 0;
NEXT:
    mul.wide.u32 %wide, %i, 4; add.s64 %at, %part, %wide;
    ld.volatile.global.u32 %v, [%at]; add.u32 %s, %s, %v;
    add.u32 %i, %i, 1; setp.le.u32 %p, %i, %n; @%p bra NEXT;
    st.volatile.global.u32 [%sum], %s;
END:
    ret;
}
"""


Checker = Callable[..., Result]


@pytest.fixture
def check(tmp_path: Path) -> Checker:
    """Checks a kernel by its text."""

    def checked(text: str, **launch: Any) -> Result:
        path = tmp_path / "k.ptx"
        path.write_text(text, encoding="utf-8")
        return ptxmm.check(str(path), **launch)

    return checked


def kernel(lines: list[list[str]]) -> str:
    """A kernel in which each of two CTAs executes lines of its own, and has a word for what it finds."""
    bodies = "".join(f"C{cta}:\n    {' '.join(own)}\n    ret;\n" for cta, own in enumerate(lines))
    return (
        f"{HEAD}.visible .entry k(.param .u64 x)\n{{\n    .reg .b64 %rd<3>; .reg .b32 %r<2>; .reg .pred %p;\n"
        "    ld.param.u64 %rd0, [x]; mov.u32 %r0, %ctaid.x;\n"
        "    mul.wide.u32 %rd2, %r0, 4; add.s64 %rd1, %rd0, %rd2; add.s64 %rd1, %rd1, 8;\n"
        f"    setp.eq.u32 %p, %r0, 1; @%p bra C1;\n{bodies}}}\n"
    )


@pytest.mark.compares(0.9)
def test_it_holds_where_all_executions_end_alike(check: Checker) -> None:
    """Compared with the list of all outcomes."""
    draw, verdicts = random.Random(3), []
    for _ in range(40):
        text = kernel([draw.sample(LINES, draw.randint(1, 2)) for _ in range(2)])
        launch = {"grid": 2, "block": 1, "args": {"x": "u32[4]"}}
        all_of_them = check(text, **launch, never="all(x[i] == 99 for i in range(4))")
        result = check(text, **launch, deterministic="x", timeout=300)
        alike = len({tuple(state[f"x[{i}]"] for i in range(4)) for state in all_of_them.states}) == 1
        assert result.verdict == ("ok" if alike else "no"), text
        compared(True)
        verdicts.append(alike)
    assert 5 < verdicts.count(True) < 35


@pytest.mark.parametrize("grid", [3, 4])
def test_who_found_something_out_of_date_is_told(grid: int, check: Checker) -> None:
    """At the size at which it is launched: nothing races, and the last block may find a part that is not there yet."""
    launch = {"grid": grid, "block": 64, "args": {"part": f"u32[{grid}]", "count": "u32[1]", "sum": "u32[1]"}}
    right = check(HEAD + LAST.replace("FENCE", "fence.acq_rel.gpu;"), **launch, deterministic="sum", timeout=300)
    assert right.verdict == "ok" and right.checks[0].text == "deterministic sum"
    wrong = check(HEAD + LAST.replace("FENCE", ""), **launch, deterministic=["sum[0]"], timeout=300)
    (failed,) = wrong.checks
    assert wrong.verdict == "no" and failed.text == "deterministic sum[0]"
    assert failed.message.startswith("deterministic sum[0] does not hold: sum[0] = ")
    lines = (HEAD + LAST.replace("FENCE", "")).splitlines()
    (cause,) = failed.causes
    assert "no release semantics" in cause.what and "atom.relaxed" in lines[cause.spot.line - 1]
    ((spot, what),) = failed.spots
    assert "finds here what was there before" in what and "ld.volatile" in lines[spot.line - 1]


def test_without_anything_to_compare_with_nothing_is_said(check: Checker) -> None:
    text = kernel([["fence.acq_rel.gpu;"], ["fence.acq_rel.gpu;"]])
    opened = check(text, grid=2, block=1, args={"x": "u32[4]=any"}, deterministic="x")
    assert opened.verdict == "undecided" and "x may hold anything at first" in str(opened.error)
    endless = text.replace("C1:\n", "C1:\n    trap;\n")
    trapped = check(endless, grid=2, block=1, args={"x": "u32[4]"}, deterministic="x")
    named, *ends = trapped.checks
    assert trapped.verdict == "no" and named.holds is None and "does not end" in named.message
    assert [(check.kind, check.besides) for check in ends] == [("terminates", True), ("no_trap", True)]
    assert ends[1].holds is False


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("y", "no parameter is called 'y'"),
        ("x[4]", "lies outside"),
        ("x[0] == 1", "'deterministic' names a buffer"),
        ("all(x[i] for i in range(4))", "'deterministic' names a buffer"),
    ],
)
def test_what_names_no_buffer_is_refused(named: str, message: str, check: Checker) -> None:
    with pytest.raises(InputError, match=message.replace("[", "\\[")):
        check(kernel([[LINES[0]], [LINES[0]]]), grid=2, block=1, args={"x": "u32[4]"}, deterministic=named)


def test_a_page_about_whole_buffers_names_what_is_wrong_alone(
    check: Checker, capsys: pytest.CaptureFixture[str]
) -> None:
    """256 elements, one of which is not as it must be."""
    from ptxmm.cli.main import main

    text = kernel([["st.relaxed.gpu.global.u32 [%rd0+308], 5;"], ["fence.acq_rel.gpu;"]])
    launch = {"grid": 2, "block": 1, "args": {"x": "u32[256]"}}
    for claim in ("all(x[i] == 0 for i in range(256))", " && ".join(f"x[{i}] == 0" for i in range(256))):
        result = check(text, **launch, forall=claim)
        assert result.verdict == "no" and result.checks[0].message.endswith("does not hold: x[77] = 5")
        path = result.path.split(":")[0]
        words = ["--grid", "2", "--block", "1", "--arg", "x=u32[256]", "--forall", claim]
        assert main(["check", "--no-defaults", path, *words]) == 1
        assert len(capsys.readouterr().out.splitlines()) <= 25
    assert check(text, **launch, never="any(x[i] == 5 for i in range(256))").checks[0].message.endswith("x[77] = 5")
    many = check(text, **launch, forall="all(x[i] != 0 for i in range(256))").checks[0].message
    assert "x[7] = 0, and 247 more" in many and "x[77]" not in many


def test_it_is_repaired_and_asked_of_launches_of_other_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    from ptxmm.cli.main import main

    path = Path(__file__).parents[2] / "docs/mistakes/last-block-no-acquire/wrong.ptx"
    words = ["--grid", "2", "--block", "1", "--arg", "part=u32[8]", "--arg", "count=u32[1]", "--arg", "sum=u32[1]"]
    assert main(["repair", str(path), *words, "--deterministic", "sum"]) == 0
    said = capsys.readouterr().out
    assert "proven by check" in said and "on the next larger launch (grid 3, block 1): deterministic sum: holds" in said


def test_a_value_that_is_no_number_is_compared_as_one(check: Checker) -> None:
    text = kernel([["st.relaxed.gpu.global.u32 [%rd0], 0x7fc00000;"], ["fence.acq_rel.gpu;"]])
    assert check(text, grid=2, block=1, args={"x": "f32[4]"}, deterministic="x").verdict == "ok"


def test_zeros_of_two_signs_are_not_the_same_contents(check: Checker) -> None:
    """Who stores last decides which zero stays; as numbers, they are equal."""
    text = kernel([[f"st.relaxed.gpu.global.u32 [%rd0], {bits};"] for bits in ("0x80000000", "0")])
    result = check(text, grid=2, block=1, args={"x": "f32[4]"}, deterministic="x[0]")
    assert result.verdict == "no" and len(result.states) == 2
    assert check(text, grid=2, block=1, args={"x": "f32[4]"}, forall="x[0] == 0").verdict == "ok"


def test_a_run_without_end_is_given_up(check: Checker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread counts on and on."""
    monkeypatch.setattr(determinism, "LIMIT", 1000)
    text = kernel([["L: add.u32 %r1, %r1, 1; setp.ne.u32 %p, %r1, 0; @%p bra L;"], ["fence.acq_rel.gpu;"]])
    tree = {
        "ptx": "k.ptx", "grid": 2, "block": 1, "check": {"deterministic": "x"},
        "params": {"x": {"type": "u32", "elements": 4}},
    }  # fmt: skip
    launch = KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
    with pytest.raises(determinism.NothingToCompare, match="does not end"):
        determinism.with_expected(launch, None)
