"""What is missing at an mbarrier, found by what is seen to go wrong: a wait, what feeds the object that threads wait for."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_repair_numbers import COPY, HEAD, answer, written

import ptxmm
from ptxmm.repair.arrivals import not_put_in
from ptxmm.repair.guided import guided, places_apart
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.kernel_sites import bodies
from ptxmm.repair.meeting import met
from ptxmm.repair.objects import object_of, place_of
from ptxmm.repair.sites import EditSite, Vector
from ptxmm.repair.subjects import judging
from ptxmm.repair.waits import missing_waits, places_of_waits

COPIES = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
#: Nobody waits for the bytes.
UNAWAITED = COPY.replace(
    """WAIT:
	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
	@!%p2 bra WAIT;
""",
    "WAIT:\n",
).replace("BYTES", "16")
#: Thread 0 fills, waits until that is empty, and fills again; thread 1 reads twice, and says nothing in between.
TWO_OBJECTS = """	@%p1 bra READER;
	st.shared.u32 [tile], 1;
	mbarrier.arrive.shared.b64 _, [bar];
EMPTY:
	mbarrier.try_wait.parity.shared.b64 %p2, [empty], 0;
	@!%p2 bra EMPTY;
	st.shared.u32 [tile], 2;
	mbarrier.arrive.shared.b64 _, [bar];
	ret;
READER:
	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
	@!%p2 bra READER;
	ld.shared.u32 %r3, [tile];
AGAIN:
	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 1;
	@!%p2 bra AGAIN;
	ld.shared.u32 %r4, [tile];
	st.global.u32 [%rd1], %r4;
	ret;
}
"""


def test_a_wait_that_is_missing_is_put_in(tmp_path: Path) -> None:
    found = answer(tmp_path, UNAWAITED, COUNT=1)
    assert found.base.holds is False
    first = found.found[0]
    assert [change.words for change in first.changes] == [
        "a loop of mbarrier.try_wait.parity.shared.b64 [bar], 0 is put in before this"
    ]
    (tmp_path / "k.ptx").write_text(first.text, encoding="utf-8")
    assert ptxmm.check(ptxmm.load(tmp_path / "k.toml")).verdict == "ok"


def test_that_waits_and_arrivals_were_not_tried_is_said_of_each(tmp_path: Path) -> None:
    """Arrivals are passed over for a reason, which is none for waits."""
    subject = written(tmp_path, HEAD + COPY, COUNT=1, BYTES=16)
    every, more = subject.sites("repair", True), len(subject.sites("repair", True)) - len(subject.sites("repair"))
    arrivals = [site for site in every if site.options[-1].arrives]
    assert 0 < len(arrivals) < more
    assert [words.split()[0] for words in not_put_in(every, more)] == ["more", "waits"]
    assert [words.split()[0] for words in not_put_in(arrivals, len(arrivals))] == ["more"]
    assert not_put_in([], 0) == []


@pytest.mark.long
def test_what_threads_are_seen_waiting_for_is_fed(tmp_path: Path) -> None:
    """Two threads wait at two objects: the arrival that is lacking is at that of the first one."""
    head = HEAD.replace("\t.shared .align 16", "\t.shared .align 8 .b64 empty;\n\t.shared .align 16").replace(
        "\tfence.mbarrier_init", "\tmbarrier.init.shared.b64 [empty], 1;\n\tfence.mbarrier_init"
    )
    subject = written(tmp_path, head + TWO_OBJECTS, 'forall = "out[0] == 2"\n', COUNT=1)
    base, sites = subject.judge(subject.text), subject.sites("repair", True)
    assert base.waits
    tried: list[str] = []

    def judge(vector: Vector, patient: bool = False) -> Judgement:
        tried.append(told(sites, vector))
        return judging(subject, sites, vector)

    vector = next(guided(subject.text, sites, judge, base, subject.objects), None)
    assert vector is not None
    assert told(sites, vector) == "mbarrier.arrive.shared.b64 _, [empty] is put in before this"
    assert all("[empty]" in text or "[bar]" in text or "becomes" in text for text in tried)


def told(sites: list[EditSite], vector: Vector) -> str:
    return "; ".join(site.told(option) for site, option in zip(sites, vector, strict=True) if option)


def test_an_object_is_known_by_its_variable_whatever_register_holds_its_address() -> None:
    lines = """	mov.u32 %r2, bar;
	add.s32 %r3, %r2, 8;
	mbarrier.arrive.shared.b64 _, [%r3+8];
	mapa.shared::cluster.u32 %r4, %r3, %r1;
	mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];
	mov.u32 %r5, 3;
	bar.sync %r5, 64;
	ret;
}
"""
    ((_, body),) = bodies(HEAD.replace("COUNT", "1") + lines, {"k"})
    named = [name for k, s in enumerate(body) if (name := object_of(s, k, body))]
    assert named == ["bar", "barrier 0", "bar+16", "bar+8", "barrier 3"]
    remote = [place for k, s in enumerate(body) if s.text.endswith("[%r4]") and (place := place_of(s, k, body))]
    assert [place.remote for place in remote] == ["%r1"]


def test_waits_are_for_the_objects_of_the_kernel_and_before_what_they_may_order() -> None:
    ((_, body),) = bodies(HEAD.replace("COUNT", "1") + UNAWAITED, {"k"})
    assert {(wait.about, wait.parity) for wait in missing_waits(body)} == {("bar", "0"), ("bar", "1")}
    before = [body[i].text.split()[0] for i in places_of_waits(body)]
    assert before == ["mbarrier.arrive.expect_tx.shared.b64", COPIES, "ld.shared.u32"]


#: Each of two threads reads what the other one wrote: a barrier is missing in between.
EXCHANGE = """	mov.u32 %r2, tile;
	shl.b32 %r3, %r1, 2;
	add.s32 %r4, %r2, %r3;
	xor.b32 %r5, %r3, 4;
	add.s32 %r5, %r2, %r5;
	st.shared.u32 [%r4], %r1;
	ld.shared.u32 %r6, [%r5];
	add.s32 %r8, %r6, 1;
	bar.sync 0;
	st.shared.u32 [%r4], %r8;
	ld.shared.u32 %r6, [%r5];
	ret;
}
"""


def test_what_is_near_to_a_race_is_tried_first_and_then_what_is_near_to_the_next_one(tmp_path: Path) -> None:
    """Two barriers are missing, and neither is one alone: each text that races elsewhere leads to the next."""
    subject = written(tmp_path, HEAD + EXCHANGE, COUNT=1)
    base, sites = subject.judge(subject.text), subject.sites("repair")
    asked: list[Vector] = []

    def judge(vector: Vector, patient: bool = False) -> Judgement:
        asked.append(vector)
        return judging(subject, sites, vector)

    vector = next(guided(subject.text, sites, judge, base, subject.objects), None)
    assert vector is not None and judging(subject, sites, vector).holds
    put = [(s.line, s.told(o)) for s, o in zip(sites, vector, strict=True) if o]
    lines = subject.text.split("\n")
    assert [lines[line - 1].split()[0] for line, _ in put] == ["ld.shared.u32", "ld.shared.u32"]
    assert all(words == "bar.warp.sync 0xffffffff is put in before this" for _, words in put)
    assert len(asked) < 10 < sum(len(site.options) - 1 for site in sites)


def test_barriers_near_to_what_is_wrong_are_asked_first_and_what_holds_is_told(tmp_path: Path) -> None:
    subject = written(
        tmp_path,
        HEAD + EXCHANGE.replace("	bar.sync 0;\n	st.shared", "	bar.sync 0;\n	@%p1 st.shared"),
        COUNT=1,
    )
    base, sites, held = subject.judge(subject.text), subject.sites("repair"), list[Vector]()
    apart = places_apart(sites, base.clues)
    assert base.clues and min(apart) == 0 < max(apart)
    met(subject, sites, every=False, clues=base.clues, held=held.append)
    assert all(judging(subject, sites, vector).holds and sum(map(bool, vector)) == 1 for vector in held)


#: Thread 0 writes, arrives and goes on; thread 1 arrives, and waits for the state that this gives.
STATES = """	@%p1 bra READER;
	ld.shared.u32 %r3, [tile];
	mbarrier.arrive.shared.b64 %rd2, [bar];
	st.shared.u32 [tile], 7;
	ret;
READER:
	ld.shared.u32 %r4, [tile];
	mbarrier.arrive.shared.b64 %rd3, [bar];
WAIT:
	mbarrier.try_wait.shared.b64 %p2, [bar], %rd3;
	@!%p2 bra WAIT;
	ret;
}
"""


def test_who_arrives_waits_for_the_state_that_this_gives(tmp_path: Path) -> None:
    found = answer(tmp_path, STATES, COUNT=2)
    assert found.base.holds is False
    words = [change.words for one in found.found if len(one.changes) == 1 for change in one.changes]
    assert "a loop of mbarrier.try_wait.shared.b64 [bar], %rd2 is put in behind this" in words
    lines = [s.options[-1].words for s in found.subject.sites("repair") if "%rd" in s.options[-1].words]
    assert not any("%rd3" in words for words in lines)  # that is waited for
