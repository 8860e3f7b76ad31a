"""What the manual leaves open: shuffles from lanes that are not there (PTX ISA 9.0, 9.7.9.5 and 9.7.9.6). A test has no answer
that hangs on it, and any other answer is what it is for all values; both engines agree. Votes, matches and reductions leave
exited lanes out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import ptxmm

ENGINES = pytest.mark.parametrize("engine", ["solve", "enumerate"])
#: Lane 0 looks for lane 3, which no thread is. r2, r3 and r4 are computed from what it finds.
OUTSIDE = "mov.u32 %r1, 5; shfl.sync.idx.b32 %r0, %r1, 3, 31, 0x1;"
COMPUTED = OUTSIDE + "add.u32 %r2, %r0, 5; and.b32 %r3, %r0, 0; xor.b32 %r4, %r0, %r0; st.relaxed.gpu.u32 [x], 1;"


def verdict(threads: list[str], asked: str, engine: str, init: str = "x = 0; y = 0;") -> str:
    blocks = "\n".join(f"P{i}@warp 0,cta 0 {{ {code} }}" for i, code in enumerate(threads))
    return ptxmm.check(ptxmm.parse(f"PTX t\n{{ {init} }}\n{blocks}\n{asked}\n"), engine=engine).verdict


@pytest.mark.part(2)
@ENGINES
@pytest.mark.parametrize(
    ("condition", "exists", "never", "always"),
    [
        ("0:r0 = 5", "undefined", "undefined", "undefined"),  # its own value is one of many
        ("0:r0 = 42", "undefined", "undefined", "undefined"),
        ("0:r2 = 12", "undefined", "undefined", "undefined"),
        ("0:r0 != 7", "undefined", "undefined", "undefined"),
        (r"0:r0 = 7 \/ x = 0", "undefined", "undefined", "undefined"),
        (r"0:r0 = 7 /\ x = 0", "no", "ok", "no"),
        (r"0:r0 = 7 \/ x = 1", "ok", "no", "ok"),
        ("0:r3 = 0", "ok", "no", "ok"),
        ("0:r4 = 0", "ok", "no", "ok"),
        ("x = 1", "ok", "no", "ok"),
        ("x = 2", "no", "ok", "no"),
    ],
)
def test_an_answer_does_not_hang_on_what_is_open(
    condition: str, exists: str, never: str, always: str, engine: str
) -> None:
    found = [verdict([COMPUTED], f"{q} ({condition})", engine) for q in ("exists", "~exists", "forall")]
    assert found == [exists, never, always]


#: Two lanes; the first one's %r0 is what it gets. Whether that is open.
SHUFFLES = {
    "a lane outside of the mask that does its own": (
        "shfl.sync.idx.b32 %r0, 4, 1, 31, 1;", "shfl.sync.idx.b32 %r0, 9, 1, 31, 2;", True,
    ),
    "a lane that has exited": ("shfl.sync.idx.b32 %r0, 4, 1, 31, 3;", "exit;", True),
    "a lane that comes": ("shfl.sync.idx.b32 %r0, 4, 1, 31, 3;", "shfl.sync.idx.b32 %r0, 9, 1, 31, 3;", False),
    "itself": ("shfl.sync.idx.b32 %r0, 9, 0, 31, 3;", "exit;", False),
    "down to one that has exited": ("shfl.sync.down.b32 %r0, 4, 1, 31, 3;", "exit;", True),
    "down beyond the end of its segment": ("shfl.sync.down.b32 %r0, 9, 1, 0x1f1f, 3;", "exit;", False),
    "up beyond the beginning": ("shfl.sync.up.b32 %r0, 9, 1, 0, 3;", "exit;", False),
    "butterfly with one that has exited": ("shfl.sync.bfly.b32 %r0, 4, 1, 31, 3;", "exit;", True),
    "butterfly with one that is there": ("shfl.sync.bfly.b32 %r0, 4, 1, 31, 3;", "shfl.sync.bfly.b32 %r0, 9, 1, 31, 3;", False),
}  # fmt: skip


@ENGINES
@pytest.mark.parametrize(("first", "second", "is_open"), SHUFFLES.values(), ids=SHUFFLES)
def test_which_shuffles_leave_open_what_they_give(first: str, second: str, is_open: bool, engine: str) -> None:
    assert verdict([first, second], "exists (0:r0 = 9)", engine) == ("undefined" if is_open else "ok")


@ENGINES
def test_whether_the_lane_is_in_range_is_never_open(engine: str) -> None:
    thread = ".reg .pred p; shfl.sync.idx.b32 %r0|p, 4, 3, 31, 1; selp.u32 %r1, 1, 0, p;"
    assert verdict([thread], "forall (0:r1 = 1)", engine) == "ok"


@ENGINES
@pytest.mark.parametrize(
    ("instruction", "result"),
    [
        (".reg .pred p; setp.eq.u32 p, 0, 0; vote.sync.ballot.b32 %r0, p, 3;", 1),
        ("redux.sync.add.s32 %r0, 6, 3;", 6),
        ("match.any.sync.b32 %r0, 6, 3;", 1),
    ],
)
def test_votes_matches_and_reductions_leave_exited_lanes_out(instruction: str, result: int, engine: str) -> None:
    assert verdict([instruction, "exit;"], f"forall (0:r0 = {result})", engine) == "ok"


@ENGINES
@pytest.mark.parametrize(
    ("use", "asked", "expected"),
    [
        # Through memory, to another thread; as a condition of a store; as part of an address.
        ("st.relaxed.gpu.u32 [x], %r0;", "exists (1:r1 = 42)", "undefined"),
        ("st.relaxed.gpu.u32 [x], %r0;", "exists (1:r1 = 0)", "ok"),
        (".reg .pred q; setp.eq.u32 q, %r0, 77; @q st.relaxed.gpu.u32 [x], 1;", "exists (1:r1 = 1)", "undefined"),
        (".reg .pred q; setp.eq.u32 q, %r0, 77; @q st.relaxed.gpu.u32 [x], 1;", "exists (1:r1 = 0)", "ok"),
        (".reg .pred q; setp.eq.u32 q, %r0, 77; @q st.relaxed.gpu.u32 [x], 1;", "~exists (1:r1 = 2)", "ok"),
        ("and.b32 %r2, %r0, 1; shr.u32 %r2, %r2, 1; st.relaxed.gpu.u32 [x], %r2;", "forall (1:r1 = 0)", "ok"),
    ],
)
def test_where_it_goes(use: str, asked: str, expected: str, engine: str) -> None:
    threads = [OUTSIDE + use, "ld.relaxed.gpu.u32 %r1, [x];"]
    assert verdict(threads, asked, engine) == expected


KERNEL = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred p; .reg .b32 %r<9>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1; mov.u32 %r1, %tid.x; setp.ge.u32 p, %r1, LAST; @p bra done;
  shfl.sync.bfly.b32 %r2, %r1, DISTANCE, 31, -1; add.u32 %r3, %r1, %r2;
  mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2; st.global.u32 [%rd2], %r3;
done: ret;
}
"""


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("block", "last", "distance", "check", "expected"),
    [
        (64, 50, 16, "out[33] == 82", "ok"),  # 33 and 49 are there
        (64, 50, 16, "out[34] == 84", "undefined"),  # thread 50 has left
        (64, 50, 16, "out[0] == 16", "ok"),
        (64, 64, 16, "out[34] == 84", "ok"),
        (4, 4, 2, "out[0] == 2", "ok"),
        (4, 4, 4, "out[0] == 0", "undefined"),  # no such thread
    ],
)
def test_a_kernel_of_fewer_threads_than_its_mask_names(
    block: int, last: int, distance: int, check: str, expected: str, tmp_path: Path
) -> None:
    (tmp_path / "k.ptx").write_text(KERNEL.replace("LAST", str(last)).replace("DISTANCE", str(distance)))
    (tmp_path / "k.toml").write_text(
        f"""ptx = "k.ptx"
grid = [1, 1, 1]
block = [{block}, 1, 1]
[params]
out = {{type = "u32", elements = 64}}
[check]
forall = "{check}"
"""
    )
    assert ptxmm.check(ptxmm.load(tmp_path / "k.toml")).verdict == expected


#: Each of two threads, alone in its warp, asks a lane for %r2 that is not there. The first one also writes 1 to out[1], and
#: both read it into %r3.
ALONE = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred p; .reg .pred q; .reg .b32 %r<9>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1; mov.u32 %r1, %ctaid.x; mov.u32 %r3, 1;
  shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;
  setp.eq.u32 p, %r1, 0; @p st.relaxed.gpu.global.u32 [%rd1+4], 1; @!p ld.relaxed.gpu.global.u32 %r3, [%rd1+4];
  THEN
  ret;
}
"""


@pytest.fixture
def answers(tmp_path: Path) -> Callable[..., tuple[str, list[bool | None]]]:
    """The verdict of the kernel with some code in it, and what each check says."""

    def found(code: str, checks: str, engine: str = "solve") -> tuple[str, list[bool | None]]:
        (tmp_path / "k.ptx").write_text(ALONE.replace("THEN", code))
        (tmp_path / "k.toml").write_text(
            f"""ptx = "k.ptx"
grid = [2, 1, 1]
block = [1, 1, 1]
[params]
out = {{type = "u32", elements = 4}}
[check]
{checks}
"""
        )
        result = ptxmm.check(ptxmm.load(tmp_path / "k.toml"), engine=engine)
        return result.verdict, [check.holds for check in result.checks]

    return found


Answers = Callable[..., tuple[str, list[bool | None]]]


@pytest.mark.part(3)
@ENGINES
@pytest.mark.parametrize(
    ("checks", "expected"),
    [
        ('forall = "out[1] == 1"\nexists = "out[0] != 0"', ("undefined", [True, None])),
        ('forall = "out[1] == 1"\nexists = "out[0] == 0"', ("undefined", [True, None])),
        ('forall = "out[1] == 1"\nexists = "out[1] == 1"', ("ok", [True, True])),
        ('forall = "out[1] == 2"\nnever = "out[0] == 0"', ("no", [False, None])),
        ('forall = "out[1] == 2"\nnever = "out[1] == 3"', ("no", [False, True])),
        ('exists = ["out[1] == 2", "out[0] == 0"]', ("no", [False, None])),
    ],
)
def test_each_check_has_an_answer_of_its_own(
    checks: str, expected: tuple[str, list[bool | None]], engine: str, answers: Answers
) -> None:
    """One that is open is not told by another one that is not, and takes no answer from it."""
    assert answers("st.relaxed.gpu.global.u32 [%rd1], %r2;", checks, engine) == expected


#: Done where the first thread's write was seen, and the lane that is not there has given a number.
WHERE = "setp.eq.u32 q, %r3, 1; setp.eq.and.u32 q, {}, q;"


@pytest.mark.part(4)
@ENGINES
@pytest.mark.parametrize("number", ["%r2, 77", "%r3, 1"], ids=["open", "known"])
@pytest.mark.parametrize(
    ("check", "code"),
    [
        ("no_trap", "@q trap;"),
        ("terminates", "again: @q bra again;"),
        ("terminates", "again: ld.relaxed.gpu.global.u32 %r4, [%rd1]; setp.eq.and.u32 p, %r4, 0, q; @p bra again;"),
        ("no_deadlock", "@q barrier.sync 0, 64;"),
        ("race_free", "@q st.global.u32 [%rd1], %r1;"),
    ],
)
def test_who_never_ends_does_not_hang_on_what_is_open(
    check: str, code: str, number: str, engine: str, answers: Answers
) -> None:
    expected = "undefined" if number == "%r2, 77" else "no"
    for wanted, verdict in (("true", expected), ("false", "undefined" if expected == "undefined" else "ok")):
        assert answers(WHERE.format(number) + code, f"{check} = {wanted}", engine)[0] == verdict
    assert answers(WHERE.format("%r3, 2") + code, f"{check} = true", engine)[0] == "ok"


@pytest.mark.parametrize(("check", "code"), [("no_trap", "@q trap;"), ("race_free", "@q st.global.u32 [%rd1], %r1;")])
def test_the_solver_finds_a_number_that_nobody_names(check: str, code: str, answers: Answers) -> None:
    assert answers(f"mul.lo.u32 %r4, %r2, 3; {WHERE.format('%r4, 231')} {code}", f"{check} = true")[0] == "undefined"


def test_a_bound_that_cuts_with_some_number_is_told(answers: Answers) -> None:
    turns = "again: atom.relaxed.gpu.global.add.u32 %r5, [%rd1], 1; setp.ne.and.u32 p, %r5, 100, q; @p bra again;"
    known, open_ = ((f"{WHERE.format(n)} {turns}", 'never = "out[0] == 1"') for n in ("%r3, 2", "%r2, 77"))
    assert answers(*known)[0] == "ok"
    assert answers(*open_)[0] == "bounded"
