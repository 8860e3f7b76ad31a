"""Numbers as edits: expected arrivals, bytes of a copy, parities, threads of a barrier."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaigns import some

import ptxmm
from ptxmm.repair.arrivals import arrivals
from ptxmm.repair.counts import copied
from ptxmm.repair.finding import answered
from ptxmm.repair.found import Answer
from ptxmm.repair.kernel_sites import bodies
from ptxmm.repair.subject_of import subject_of
from ptxmm.repair.subjects import How, Subject

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
	.reg .pred %p<4>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<9>;
	.shared .align 8 .b64 bar;
	.shared .align 16 .b8 tile[32];
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	mov.u32 %r7, COUNT;
	setp.ne.u32 %p1, %r1, 0;
	@%p1 bra READY;
	mbarrier.init.shared.b64 [bar], %r7;
	fence.mbarrier_init.release.cluster;
READY:
	bar.sync 0;
"""
#: Thread 0 writes; both arrive, and thread 1 reads when all have.
ARRIVE = """	@%p1 bra MEET;
	st.global.u32 [%rd1], 42;
MEET:
	mbarrier.arrive.shared.b64 %rd2, [bar];
WAIT:
	mbarrier.try_wait.parity.shared.b64 %p2, [bar], PARITY;
	@!%p2 bra WAIT;
	setp.eq.u32 %p3, %r1, 0;
	@%p3 bra END;
	ld.global.u32 %r3, [%rd1];
	st.global.u32 [%rd1+4], %r3;
END:
	ret;
}
"""
#: Thread 0 copies; both wait for the bytes.
COPY = """	@%p1 bra WAIT;
	mbarrier.arrive.expect_tx.shared.b64 %rd2, [bar], BYTES;
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 16, [bar];
WAIT:
	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
	@!%p2 bra WAIT;
	ld.shared.u32 %r3, [tile];
	ret;
}
"""
#: The arrival tells of no bytes: the phase ends before they are there.
UNTOLD = COPY.replace(".expect_tx.shared.b64 %rd2, [bar], BYTES", ".shared.b64 %rd2, [bar]")
TEST = """ptx = "k.ptx"
entry = "k"
grid = 1
block = 2
[params]
out = {type = "u32", elements = 8}
[check]
race_free = true
terminates = true
"""


def answer(folder: Path, code: str, claims: str = "", **numbers: int) -> Answer:
    return answered(written(folder, HEAD + code, claims, **numbers), "repair", every=False, most=None)


def written(folder: Path, text: str, claims: str = "", **numbers: int) -> Subject:
    """The kernel of a text with these numbers, and a test of it with these claims, as what is repaired."""
    for name, number in numbers.items():
        text = text.replace(name, str(number))
    (folder / "k.ptx").write_text(text, encoding="utf-8")
    (folder / "k.toml").write_text(TEST + claims, encoding="utf-8")
    return subject_of(str(folder / "k.toml"), How())


@pytest.mark.long
@pytest.mark.parametrize(
    ("code", "numbers", "words"),
    some(
        4,
        [
            (ARRIVE, {"COUNT": 3, "PARITY": 0}, "%r7 of mbarrier.init.shared.b64, which is 3, becomes 2"),
            (ARRIVE, {"COUNT": 1, "PARITY": 0}, "%r7 of mbarrier.init.shared.b64, which is 1, becomes 2"),
            (ARRIVE, {"COUNT": 2, "PARITY": 1}, "1 of mbarrier.try_wait.parity.shared.b64 becomes 0"),
            (COPY, {"COUNT": 1, "BYTES": 32}, "32 of mbarrier.arrive.expect_tx.shared.b64 becomes 16"),
            (
                UNTOLD,
                {"COUNT": 1},
                "mbarrier.arrive.shared.b64 becomes mbarrier.arrive.expect_tx.shared.b64 of 16 bytes",
            ),
        ],
    ),
)
def test_a_number_is_mended(code: str, numbers: dict[str, int], words: str, tmp_path: Path) -> None:
    found = answer(tmp_path, code, 'forall = "out[1] == 42"\n' if code == ARRIVE else "", **numbers)
    assert found.base.holds is False
    assert [change.words for change in found.found[0].changes] == [words]
    (tmp_path / "k.ptx").write_text(found.found[0].text, encoding="utf-8")
    assert ptxmm.check(ptxmm.load(tmp_path / "k.toml")).verdict == "ok"


@pytest.mark.long
def test_a_number_after_which_threads_deadlock_is_no_repair(tmp_path: Path) -> None:
    """Nothing is claimed of ends: more arrivals than there are would leave no read, and no race."""
    (tmp_path / "k.toml").write_text("", encoding="utf-8")
    found = answer(tmp_path, ARRIVE, COUNT=1, PARITY=1)
    assert found.found
    for one in found.found:
        (tmp_path / "k.ptx").write_text(one.text, encoding="utf-8")
        result = ptxmm.check(ptxmm.load(tmp_path / "k.toml"), checks=["terminates"])
        assert all(check.holds for check in result.checks)


def test_an_arrival_is_known_where_the_number_of_its_barrier_is_in_a_register() -> None:
    """As compilers write `bar.sync` with numbers that a function is given."""
    lines = "mov.u32 %r2, 3;\n\tbar.sync %r2, 64;\n\tadd.u32 %r3, %r1, 1;\n\tbar.sync %r3, 64;\n\tret;\n}\n"
    ((_, body),) = bodies(HEAD.replace("COUNT", "1") + "\t" + lines, {"k"})
    found = [
        arrival.statement
        for arrival in arrivals(body, body)
        if arrival.statement.startswith("bar.") and "," in arrival.statement
    ]
    assert found == ["bar.sync 3, 64", "bar.arrive 3, 64"]  # which one that of the sum is nobody knows


def test_bytes_of_asynchronous_stores_and_reductions_are_those_that_may_be_meant(tmp_path: Path) -> None:
    """Eight of a reduction and sixteen of a store complete at one object; those of another one do not count for it."""
    told = """	mbarrier.arrive.expect_tx.release.cluster.shared::cta.b64 %rd2, [bar], 20;
	red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%r3], %rd3, [bar];
	st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r3], {%r4, %r4, %r4, %r4}, [bar];
	st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r3], %r4, [tile];
	ret;
}
"""
    ((_, body),) = bodies(HEAD.replace("COUNT", "1") + told, {"k"})
    sizes = [size for s in body if (size := copied(s, body)) is not None]
    assert sizes == [8, 16, 4]
    options = [o.words for s in written(tmp_path, HEAD + told, COUNT=1).sites("repair") for o in s.options]
    assert "20 of mbarrier.arrive.expect_tx.release.cluster.shared::cta.b64 becomes 24" in options
