"""Relaxations: what may be taken from a test, and that a test with a weaker order or a narrower scope allows more."""

from __future__ import annotations

from pathlib import Path

import pytest

import ptxmm
from litmus.formats import read
from litmus.formats.printer import write
from litmus.relaxations import open_question, relaxations
from litmus.test import Test

LIBRARY = sorted((Path(ptxmm.__file__).parents[1] / "litmus" / "library").rglob("*.litmus"))


def load(path: Path) -> Test:
    test = ptxmm.load(path)
    assert isinstance(test, Test)
    return test


def length(test: Test) -> int:
    return sum(len(thread.statements) for thread in test.threads)


def test_what_can_be_taken_from_message_passing() -> None:
    test = load(next(p for p in LIBRARY if p.stem == "MP+rel+acq"))
    whats = [r.what for r in relaxations(test)]
    assert whats[:2] == ["P0 dropped", "P1 dropped"]
    assert "P0: st.weak.u32 [x], 1 dropped" in whats
    assert "P1: ld.acquire.gpu.u32 %r0, [f] becomes ld.relaxed.gpu.u32 %r0, [f]" in whats
    assert "P0: st.release.gpu.u32 [f], 1 becomes st.release.cluster.u32 [f], 1" in whats
    assert len(whats) == len(set(whats)) == 10


@pytest.mark.part(3)
@pytest.mark.parametrize("path", LIBRARY[::7], ids=lambda p: p.stem)
def test_each_is_a_test_with_less_in_it(path: Path) -> None:
    test = load(path)
    found = list(relaxations(test))
    assert found or length(test) <= 1
    for relaxation in found:
        less = relaxation.test
        assert read(write(less)) == less
        assert length(less) < length(test) or length(less) == length(test)
        assert len(less.threads) <= len(test.threads)
        dropped = relaxation.what.endswith("dropped")
        assert dropped == (length(less) < length(test)), relaxation.what
        assert less != open_question(test), relaxation.what


def test_a_thread_that_goes_takes_its_part_in_barriers_and_kernels_along() -> None:
    test = read("""PTX t
{ x = 0; kernel k1 = [P0,P1]; kernel k2 = [P2]; }
P0@cta 0,gpu 0 { bar.sync 0, 64; st.weak.u32 [x], 1; }
P1@cta 0,gpu 0 { bar.sync 0, 64; ld.weak.u32 %r0, [x]; }
P2@cta 1,gpu 0 { ld.weak.u32 %r0, [x]; }
exists (1:%r0 = 0 /\\ 2:%r0 = 1)
""")
    less = next(r.test for r in relaxations(test) if r.what == "P0 dropped")
    assert [t.name for t in less.threads] == ["P0", "P1"]
    assert "bar.sync 0, 32" in write(less)
    assert [(k.name, k.threads) for k in less.kernels] == [("k1", ("P0",)), ("k2", ("P1",))]
    assert [str(term) for term in less.observed] == ["0:r0", "1:r0"]


def test_all_barriers_of_a_number_go_together() -> None:
    test = read("""PTX t
{ x = 0; }
P0@cta 0,gpu 0 { bar.sync 0, 64; bar.sync 1, 64; st.weak.u32 [x], 1; }
P1@cta 0,gpu 0 { bar.sync 0, 64; bar.sync 1, 64; ld.weak.u32 %r0, [x]; }
exists (1:%r0 = 0)
""")
    less = next(r.test for r in relaxations(test) if r.what == "barrier 1 dropped")
    assert "bar.sync 1" not in write(less) and write(less).count("bar.sync 0") == 2


@pytest.mark.part(2)
@pytest.mark.parametrize(
    "path", [p for p in LIBRARY if p.stem.startswith(("MP+", "SB+", "ISA2"))][::6], ids=lambda p: p.stem
)
def test_less_order_allows_more(path: Path) -> None:
    test = load(path)
    allowed = ptxmm.check(open_question(test))
    for relaxation in relaxations(test):
        if " becomes " in relaxation.what and allowed.verdict == "ok":
            wider = ptxmm.check(relaxation.test)
            assert all(state in wider.states for state in allowed.states) or wider.verdict == "undefined", (
                relaxation.what
            )
