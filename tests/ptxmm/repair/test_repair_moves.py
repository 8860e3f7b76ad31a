"""What hands over too early is moved, at all places that look alike; what the text shows to be lacking is tried first."""

from __future__ import annotations

from pathlib import Path

from test_repair_numbers import HEAD, written

import ptxmm
from litmus.test import Test
from ptxcore.syntax.tree import Instruction
from ptxmm.repair import words
from ptxmm.repair.building import Lines
from ptxmm.repair.counts import copied_next
from ptxmm.repair.finding import answered
from ptxmm.repair.guided import guided
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.kernel_sites import bodies, waited_before
from ptxmm.repair.layout import Layout
from ptxmm.repair.moves import is_move, moved_sites
from ptxmm.repair.repeated import AlikeSites
from ptxmm.repair.roles import Roles
from ptxmm.repair.sites import EditSite, Option, TextEdit, Vector, edited, separate
from ptxmm.repair.source_words import SourceWords
from ptxmm.repair.subject_of import subject_of
from ptxmm.repair.subjects import How, LitmusSubject, judging
from ptxmm.repair.waits import places_of_waits

#: Thread 1 tells that the tile is read before it reads it, twice; thread 0 writes it again when it was told so.
TOLD_TOO_EARLY = """	@%p1 bra READER;
	st.shared.u32 [tile], 1;
	mbarrier.arrive.shared.b64 _, [bar];
EMPTY:
	mbarrier.try_wait.parity.shared.b64 %p2, [empty], 0;
	@!%p2 bra EMPTY;
	st.shared.u32 [tile], 2;
	mbarrier.arrive.shared.b64 _, [bar];
EMPTY2:
	mbarrier.try_wait.parity.shared.b64 %p2, [empty], 1;
	@!%p2 bra EMPTY2;
	st.shared.u32 [tile], 3;
	ret;
READER:
	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
	@!%p2 bra READER;
	mbarrier.arrive.shared.b64 _, [empty];
	ld.shared.u32 %r3, [tile];
	st.global.u32 [%rd1], %r3;
AGAIN:
	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 1;
	@!%p2 bra AGAIN;
	mbarrier.arrive.shared.b64 _, [empty];
	ld.shared.u32 %r3, [tile];
	st.global.u32 [%rd1+4], %r3;
	ret;
}
"""
TWO = HEAD.replace("\t.shared .align 16", "\t.shared .align 8 .b64 empty;\n\t.shared .align 16").replace(
    "\tfence.mbarrier_init", "\tmbarrier.init.shared.b64 [empty], 1;\n\tfence.mbarrier_init"
)


def body_of(lines: str) -> tuple[str, list[Instruction]]:
    """The text of a kernel of some statements, and its instructions."""
    text = HEAD.replace("COUNT", "1") + lines
    ((_, body),) = bodies(text, {"k"})
    return text, [s for s in body if isinstance(s, Instruction)]


def moves_of(lines: str) -> list[tuple[str, str]]:
    """What may be moved in the text of a kernel, and behind what."""
    text = HEAD.replace("COUNT", "1") + lines
    ((_, body),) = bodies(text, {"k"})
    found = moved_sites(body, "k", Layout(Lines(text), table=False), SourceWords(text))
    words = [option.words.split(" is moved behind ") for site in found for option in site.options[1:]]
    return [(what, behind.split(" of line")[0]) for what, behind in words]


def test_what_is_told_before_it_is_done_is_told_later_at_each_place_that_looks_alike(tmp_path: Path) -> None:
    subject = written(tmp_path, TWO + TOLD_TOO_EARLY, 'forall = "out[0] == 1 && out[1] == 2"\n', COUNT=1)
    base, sites = subject.judge(subject.text), subject.sites("repair", True)
    assert base.holds is False
    asked: list[Vector] = []

    def judge(vector: Vector, patient: bool) -> Judgement:
        asked.append(vector)
        return judging(subject, sites, vector)

    vector = next(guided(subject.text, sites, judge, base, subject.objects, subject.guards), None)
    assert vector is not None
    moved = [site.told(option) for site, option in zip(sites, vector, strict=True) if option]
    assert len(moved) == 2 and all(" is moved behind ld.shared.u32 of line " in words for words in moved)
    assert len(asked) < 12
    text = edited(subject.text, (e for s, o in zip(sites, vector, strict=True) for e in s.options[o].edits))
    (tmp_path / "k.ptx").write_text(text, encoding="utf-8")
    assert ptxmm.check(ptxmm.load(tmp_path / "k.toml")).verdict == "ok"


def test_behind_what_holds_comes_what_costs_less(tmp_path: Path) -> None:
    subject = written(tmp_path, TWO + TOLD_TOO_EARLY, 'forall = "out[0] == 1 && out[1] == 2"\n', COUNT=1)
    base, sites = subject.judge(subject.text), subject.sites("repair", True)
    asked: list[int] = []

    def cost(vector: Vector) -> int:
        return sum(site.options[option].cost for site, option in zip(sites, vector, strict=True))

    def judge(vector: Vector, patient: bool) -> Judgement:
        asked.append(cost(vector))
        return Judgement(True) if len(asked) > 8 and len(asked) % 2 else Judgement(False, wrong=True, clues=base.clues)

    found = [cost(v) for v in guided(subject.text, sites, judge, base, subject.objects, subject.guards)]
    assert len(found) > 1 and found == sorted(set(found), reverse=True)
    assert max(asked[9:]) < found[0] and max(asked) > found[-1]


def test_what_is_moved_stays_in_its_stretch_and_behind_what_it_needs() -> None:
    arrive, load = "mbarrier.arrive.shared.b64", "\tld.shared.u32 %r3, [tile];\n"
    plain = f"\t{arrive} %rd2, [bar];\n{load}\tadd.u32 %r4, %r3, 1;\n\tst.global.u32 [%rd1], %r4;\n\tret;\n}}\n"
    assert moves_of(plain) == [(arrive, "ld.shared.u32"), (arrive, "st.global.u32")]
    assert moves_of(plain.replace("\tadd", "L:\n\tadd")) == [(arrive, "ld.shared.u32")]
    assert moves_of(plain.replace("\tadd", "\t@%p1 bra READY;\n\tadd")) == [(arrive, "ld.shared.u32")]
    assert moves_of(plain.replace("%r3, 1", "%r3, %rd2")) == [(arrive, "ld.shared.u32")]  # what it gives is read
    held = plain.replace("[bar]", "[%r4]")
    assert moves_of(held) == [(arrive, "ld.shared.u32")]  # what it reads is written
    assert moves_of(plain.replace(f"\t{arrive}", f"\t@%p1 {arrive}")) == []
    again = plain.replace("\tadd", f"\t{arrive} _, [bar];\n\tadd")
    assert moves_of(again) == [(arrive, "ld.shared.u32"), (arrive, "st.global.u32")]  # not past the same object


def test_arrivals_in_a_row_are_moved_together_and_a_group_by_itself() -> None:
    copies = """	cp.async.mbarrier.arrive.shared.b64 [bar];
	mbarrier.arrive.shared.b64 _, [bar];
	cp.async.ca.shared.global [tile], [%rd1], 4;
	ret;
}
"""
    both = "cp.async.mbarrier.arrive.shared.b64 and mbarrier.arrive.shared.b64"
    assert moves_of(copies) == [(both, "cp.async.ca.shared.global")]
    groups = """	wgmma.commit_group.sync.aligned;
	mbarrier.arrive.shared.b64 _, [bar];
	wgmma.wait_group.sync.aligned 0;
	ret;
}
"""
    assert ("mbarrier.arrive.shared.b64", "wgmma.wait_group.sync.aligned") in moves_of(groups)
    assert all(" and " not in what for what, _ in moves_of(groups))


def test_one_change_is_made_at_all_places_that_look_alike() -> None:
    one = "\tst.shared.u32 [tile], %r1;\n\tadd.u32 %r1, %r1, 1;\n\tld.shared.u32 %r3, [tile];\n\tst.global.u32 [%rd1], %r3;\n"
    text, _ = body_of(one * 3 + "\tret;\n}\n")
    lines = [n for n, line in enumerate(text.split("\n"), 1) if "ld.shared" in line]
    there = [n for n, line in enumerate(text.split("\n"), 1) if "st.global" in line]

    def site(line: int) -> EditSite:
        none, put = (
            Option((), 0, (0,)),
            Option((TextEdit(line, line, "x"),), 1, (1,), "bar.sync 0 is put in before this"),
        )
        return EditSite("k", line, (none, put), (frozenset({0}), frozenset({0, 1})))

    sites = [site(line) for line in (*lines, there[0])]
    repeated = AlikeSites(text, sites)
    assert repeated.everywhere((1, 0, 0, 0), 0) == (1, 1, 1, 0)
    assert repeated.everywhere((1, 1, 1, 0), 0) is None and repeated.everywhere((0, 0, 0, 1), 3) is None


def test_edits_of_the_same_characters_are_not_made_together() -> None:
    assert separate([TextEdit(4, 4, "a"), TextEdit(0, 4, "b"), TextEdit(4, 9, "c")])
    assert not separate([TextEdit(0, 5, "a"), TextEdit(4, 9, "b")])


def test_who_tells_and_who_reads_are_told_apart_by_the_branches_between_them() -> None:
    _, body = body_of(TOLD_TOO_EARLY)
    roles = Roles(body)
    arrives = [k for k, s in enumerate(body) if s.text.startswith("mbarrier.arrive") and "[bar]" in s.text]
    reads = [k for k, s in enumerate(body) if s.opcode == "ld" and "shared" in s.modifiers]
    assert len(arrives) == 2 and all(roles.apart(k, arrives) for k in reads)
    assert not roles.apart(arrives[0], arrives) and not roles.apart(0, arrives)


def test_what_is_waited_for_last_before_a_line_is_known() -> None:
    text = HEAD.replace("COUNT", "1") + TOLD_TOO_EARLY
    lines = text.split("\n")
    written_again = next(n for n, line in enumerate(lines, 1) if "[tile], 2" in line)
    assert waited_before(text, {"k"}, {written_again}) == {"empty"}
    assert waited_before(text, {"k"}, {1}) == set()


def test_the_bytes_that_are_copied_next_are_those_that_may_be_told() -> None:
    copy = "\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 16, [bar];\n"
    told = "\tmbarrier.arrive.expect_tx.shared.b64 _, [bar], 8;\n"
    _, body = body_of(told + copy + copy + told + copy + "\tret;\n}\n")
    expected = [copied_next(s, body) for s in body if "expect_tx" in s.modifiers]
    assert expected == [32, 16]
    text = HEAD + told + copy
    moved = moved_sites(body, "k", Layout(Lines(text), table=False), SourceWords(text))
    assert not list(moved)  # who tells of bytes is to do so before they are copied


def test_who_arrives_and_goes_on_may_have_to_wait(tmp_path: Path) -> None:
    exchange = """	mov.u32 %r2, tile;
	@%p1 bra OTHER;
	st.shared.u32 [tile], 1;
	bar.arrive 1, 64;
	ret;
OTHER:
	bar.arrive 1, 64;
	ld.shared.u32 %r6, [tile];
	ret;
}
"""
    head = HEAD.replace("\tsetp.ne.u32 %p1, %r1, 0;", "\tsetp.gt.u32 %p1, %r1, 31;")
    subject = written(tmp_path, head + exchange, COUNT=1)
    options = [o for site in subject.sites("repair") for o in site.options if o.words == "bar.arrive becomes bar.sync"]
    assert len(options) == 2 and all(o.meets and o.alters and not is_move(o) for o in options)


def test_a_store_that_releases_before_the_data_are_there_is_moved_behind_them(tmp_path: Path) -> None:
    """There is no mbarrier: a flag is set too early."""
    flag = """	mov.u32 %r2, 1;
	@%p1 bra READER;
	st.release.gpu.global.u32 [%rd1+4], %r2;
	st.global.u32 [%rd1], 42;
	ret;
READER:
	ld.acquire.gpu.global.u32 %r3, [%rd1+4];
	setp.eq.u32 %p2, %r3, 0;
	@%p2 bra END;
	ld.global.u32 %r4, [%rd1];
END:
	ret;
}
"""
    subject = written(tmp_path, HEAD + flag, COUNT=1)
    found = answered(subject, "repair", every=False, most=None)
    moved = "st.release.gpu.global.u32 is moved behind st.global.u32 of line"
    assert [change.words[: len(moved)] for change in found.found[0].changes] == [moved]


def test_of_what_no_change_mends_the_report_says_what_to_look_for() -> None:
    test = ptxmm.parse("PTX value\n{ x = 0; }\n P0@cta 0 ;\n st.weak.u32 [x], 1 ;\nforall (x = 2)")
    assert isinstance(test, Test)
    found = answered(LitmusSubject(test, How()), "repair", every=False, most=None)
    assert found.complete and found.status == 1
    assert "an operation that is missing or too narrow" in " ".join(words.text(found).split())


def test_a_wait_is_put_in_before_a_fence_between_proxies_and_not_behind_it() -> None:
    _, body = body_of("\tfence.proxy.async;\n\tld.shared.u32 %r3, [tile];\n\tst.global.u32 [%rd1], %r3;\n\tret;\n}\n")
    places = [body[i].name for i in places_of_waits(body)]
    assert places[-1] == "fence.proxy.async"


def test_bytes_of_copies_that_others_may_make_show_nothing() -> None:
    copy = "\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
    copy += "[tile], [%rd1], 16, [bar], %rs1;\n"
    _, body = body_of("\tmbarrier.arrive.expect_tx.shared.b64 _, [bar], 8;\n" + copy + "\tret;\n}\n")
    assert [copied_next(s, body) for s in body if "expect_tx" in s.modifiers] == [0]


def test_a_barrier_that_takes_in_too_few_is_tried_last(tmp_path: Path) -> None:
    """The threads that race are of two warps."""
    exchange = """	setp.ne.u32 %p2, %r1, 32;
	@%p1 bra OTHER;
	st.shared.u32 [tile], 1;
OTHER:
	@%p2 bra END;
	ld.shared.u32 %r3, [tile];
END:
	ret;
}
"""
    subject = written(tmp_path, HEAD + exchange, COUNT=1)
    (tmp_path / "k.toml").write_text((tmp_path / "k.toml").read_text().replace("block = 2", "block = 64"))
    subject = subject_of(str(tmp_path / "k.toml"), How())
    base, sites = subject.judge(subject.text), subject.sites("repair")
    assert base.between == "cta"
    tried: list[str] = []

    def judge(vector: Vector, patient: bool) -> Judgement:
        tried.append(next(site.told(o) for site, o in zip(sites, vector, strict=True) if o))
        return judging(subject, sites, vector)

    assert next(guided(subject.text, sites, judge, base, subject.objects, subject.guards), None) is not None
    assert not any("bar.warp.sync" in words for words in tried)
