"""Repairs and weakenings of kernels: those after public bug reports are mended at no more cost than by the known fix."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import kept
import pytest

import ptxmm
from axioms.program import UnsupportedProgram
from axioms.witness.result import Site, Undefined
from ptxcore.syntax.reader import read_module
from ptxcore.syntax.tree import Instruction
from ptxmm.cli.main import main
from ptxmm.kernels.launch import Buffer
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import read
from ptxmm.repair import kernel_sites
from ptxmm.repair.accesses import Strength, family, spelled, strength
from ptxmm.repair.building import Lines
from ptxmm.repair.finding import answered
from ptxmm.repair.found import Answer
from ptxmm.repair.kernel_sites import sites
from ptxmm.repair.kernel_subject import KernelSubject
from ptxmm.repair.larger import next_larger, shape_of
from ptxmm.repair.layout import Layout
from ptxmm.repair.sites import EditSite as Place
from ptxmm.repair.sites import edited
from ptxmm.repair.subject_of import subject_of
from ptxmm.repair.subjects import How, Larger, LitmusSubject, of_result
from ptxmm.result import Result

ROOT = Path(__file__).resolve().parents[3]
MUSEUM, GATE = (ROOT / "tests" / "kernels" / folder for folder in ("museum", "gate"))
#: What the cheapest repair changes in each.
BUGS = {
    "16-lamport-counter-relaxed-red": ["red.global.gpu.add.u32 becomes red.release.gpu.global.add.u32"],
    "42-cluster-barrier-relaxed": ["barrier.cluster.arrive.relaxed becomes barrier.cluster.arrive.release"],
    "22-caslock-block-scope": [
        "atom.cas.acquire.cta.b32 becomes atom.cas.acquire.gpu.b32",
        "st.release.cta.b32 becomes st.release.gpu.b32",
    ],
}


def answer(path: str, mode: str = "repair") -> Answer:
    return answered(subject_of(path, How()), mode, every=False, most=None)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", BUGS)
def test_a_kernel_after_a_bug_report_is_mended(name: str) -> None:
    path = MUSEUM / f"{name}.toml"
    ptx = next(v for v in read(path).document.tree["variant"] if v["name"] == "buggy")["ptx"]
    if not os.path.exists(MUSEUM / ptx):
        pytest.skip("the collection of kernels is not here")
    found = answer(f"{path}:buggy")
    assert [change.words for change in found.found[0].changes] == BUGS[name]
    assert found.found[0].minimal and found.found[0].cheapest and not found.undecided


CORRECT = [
    (path, variant["name"])
    for path in kept.MUSEUM
    for tree in [read(path).document.tree]
    for variant in tree["variant"]
    if "ok" in variant.get("expect", tree.get("expect", "ok"))
]


@pytest.mark.part(20)
@pytest.mark.parametrize(("path", "variant"), CORRECT, ids=map(kept.named, CORRECT))
def test_a_weakening_of_a_correct_kernel_holds(path: Path, variant: str) -> None:
    """And the search for all of them comes to its end."""
    test = kept.loaded(path, variant)
    found = answered(KernelSubject(test, How()), "weaken", every=True, most=None)
    assert found.complete and not found.undecided and (found.found or found.needs)
    for weaker in found.found:
        launches = tuple(replace(launch, text=weaker.text) for launch in test.launches)
        assert ptxmm.check(replace(test, launches=launches)).verdict == "ok", weaker.text


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    for name in ("lock.toml", "lock.ptx", "lock.cu"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    return tmp_path / "lock.toml"


def test_the_lock_is_mended_in_its_file(lock: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a diff of the PTX and, for it has line information, in the words of CUDA C++; then the file is right."""
    assert main(["repair", f"{lock}:weak", "--apply"]) == 0
    out = capsys.readouterr().out
    assert "+\tst.release.gpu.b32 [%rd2],%r2;" in out and "lock.cu:12: store with cuda::memory_order_release" in out
    assert out.index("lock.cu:12") < out.index("weak line 114")  # what its author wrote comes first
    assert "computed on the next larger launch (grid 3, block 1): race_free, terminates: holds" in out
    assert ptxmm.check(ptxmm.load(f"{lock}:weak")).verdict == "ok"
    assert ptxmm.check(ptxmm.load(f"{lock}:correct")).verdict == "ok"


def test_a_bare_module_is_mended_in_its_file(lock: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the command line says what is launched, the module is a file of its own all the same."""
    path = lock.with_suffix(".ptx")
    words = ["--entry", "weak", "--grid", "2", "--block", "1", "--arg", "lock=u32[1]", "--arg", "counter=u32[1]"]
    assert main(["repair", str(path), *words, "--forall", "counter[0] == 2", "--apply"]) == 0
    assert f"was written to {path}" in capsys.readouterr().out
    assert "st.release.gpu.b32" in path.read_text(encoding="utf-8")
    assert main(["check", str(path), *words, "--forall", "counter[0] == 2"]) == 0


def test_a_larger_launch_of_the_file_is_tried(lock: Path) -> None:
    lock.write_text(
        lock.read_text(encoding="utf-8")
        + '\n[[variant]]\nname = "three"\nentry = "weak"\ngrid = [3, 1, 1]\ncheck.forall = "counter[0] == 3"\nexpect = "no"\n',
        encoding="utf-8",
    )
    assert answer(f"{lock}:weak").found[0].larger.words == "larger launches: lock.toml:three: holds"


def test_the_next_larger_launch_has_memory_for_its_threads() -> None:
    """One more block, or twice the threads of one, and elements for them."""
    test = ptxmm.load(f"{ROOT / 'examples' / 'barrier.toml'}:narrow")
    assert isinstance(test, KernelTest)
    larger = next_larger(test)
    assert larger is not None and shape_of(larger) == "grid 3, block 2"
    sizes = [(p.elements, q.elements) for p, q in zip(test.launches[0].params, larger.launches[0].params, strict=True)
             if isinstance(p, Buffer) and isinstance(q, Buffer)]  # fmt: skip
    assert sizes == [(1, 2), (4, 6), (4, 6)]
    assert {p.name: p for p in larger.parameters} == {p.name: p for p in larger.launches[0].params}  # which runs have
    own, more = (replace(test.launches[0], grid=grid, dynamic_shared=24) for grid in ((1, 1, 1), (2, 1, 1)))
    for launch, shared in ((own, 48), (more, 24)):  # dynamic shared memory is that of a block
        enlarged = next_larger(replace(test, launches=(launch,)))
        assert enlarged is not None and enlarged.launches[0].dynamic_shared == shared
    assert {c.kind for c in larger.checks} <= {"race_free", "no_deadlock", "terminates", "no_trap"}
    alone = next_larger(replace(test, launches=tuple(replace(l, grid=(1, 1, 1)) for l in test.launches), checks=()))
    assert (
        alone is not None and shape_of(alone) == "grid 1, block 4" and [c.kind for c in alone.checks] == ["race_free"]
    )


#: Each thread reads what its neighbour wrote, and nothing orders that.
NEIGHBOURS = """.version 9.0
.target sm_90
.address_size 64
.shared .align 4 .b8 s[{bytes}];
.visible .entry k(.param .u64 out)
{{
	.reg .b32 %r<5>;
	.reg .b64 %rd<4>;
	mov.u32 %r1, %tid.x;
	shl.b32 %r2, %r1, 2;
	mov.u32 %r3, s;
	add.s32 %r3, %r3, %r2;
	st.shared.u32 [%r3], %r1;
	xor.b32 %r3, %r3, {other};
	ld.shared.u32 %r4, [%r3];
	ld.param.u64 %rd1, [out];
	cvta.to.global.u64 %rd1, %rd1;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], %r4;
	ret;
}}
"""


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("bytes_of_shared", "other", "kinds"),
    [(256, 128, ["bar.sync", "bar.warp.sync"]), (256, 4, ["bar.warp.sync"]), (8, 4, ["bar.warp.sync"])],
    ids=["across warps", "within a warp", "written for two threads"],
)
def test_what_a_barrier_of_a_warp_rests_on_is_tried(
    tmp_path: Path, bytes_of_shared: int, other: int, kinds: list[str]
) -> None:
    """On a block of two warps. Where it fails there, and a barrier of the CTA holds, that one comes first."""
    text = NEIGHBOURS.format(bytes=bytes_of_shared, other=4 if other == 4 else "%r2")
    if other != 4:  # what the other end of the block wrote
        text = text.replace(
            "xor.b32 %r3, %r3, %r2;",
            "mov.u32 %r3, %ntid.x;\n\tsub.u32 %r3, %r3, %r1;\n\tsub.u32 %r3, %r3, 1;\n\tshl.b32 %r3, %r3, 2;\n\t"
            "mov.u32 %r2, s;\n\tadd.s32 %r3, %r3, %r2;",
        )
    (tmp_path / "k.ptx").write_text(text, encoding="utf-8")
    path = tmp_path / "k.toml"
    path.write_text(
        'ptx = "k.ptx"\nentry = "k"\ngrid = 1\nblock = 2\nparams.out = {type = "u32", elements = 2}\ncheck.race_free = true\n',
        encoding="utf-8",
    )
    found = answer(str(path)).found
    assert [one.changes[0].words.split(" ")[0] for one in found] == kinds
    assert [one.wide for one in found] == [True, False][-len(kinds) :]
    assert [one.larger.holds for one in found[:1]] == [bytes_of_shared > 8]
    assert "block 64" in found[-1].larger.words


def test_a_larger_launch_that_is_not_supported_takes_no_repair_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def larger(self: KernelSubject, text: str) -> Larger:
        raise UnsupportedProgram("of this one too much")

    monkeypatch.setattr(KernelSubject, "larger", larger)
    (tmp_path / "k.ptx").write_text(NEIGHBOURS.format(bytes=256, other=4), encoding="utf-8")
    path = tmp_path / "k.toml"
    path.write_text(
        'ptx = "k.ptx"\nentry = "k"\ngrid = 1\nblock = 2\nparams.out = {type = "u32", elements = 2}\ncheck.race_free = true\n',
        encoding="utf-8",
    )
    found = answer(str(path)).found[-1]
    assert (found.larger.words, found.larger.holds) == ("a larger launch is not decided: of this one too much", None)


#: Threads meet at a barrier object, of which one of them may not have heard yet.
UNHEARD = """.version 9.0
.target sm_90
.address_size 64
.shared .align 8 .b64 m;
.visible .entry k()
{
	.reg .pred %p<3>;
	.reg .b32 %r<5>;
	.reg .b64 %rd<4>;
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, m;
	setp.ne.u32 %p1, %r1, 0;
	@%p1 bra $READY;
	mbarrier.init.shared.b64 [%r3], %r2;
$READY:
	mbarrier.arrive.shared.b64 %rd1, [%r3];
$WAIT:
	mbarrier.test_wait.shared.b64 %p2, [%r3], %rd1;
	@!%p2 bra $WAIT;
	ret;
}
"""


@pytest.mark.long
def test_what_is_used_before_it_is_certainly_there_is_waited_for(tmp_path: Path) -> None:
    """A text that has no meaning since a barrier object need not be there rules out what is no stronger, as an execution does:
    some ten texts are asked of, and not each pair of changes by itself. How many hangs on how long each takes, too."""
    (tmp_path / "k.ptx").write_text(UNHEARD, encoding="utf-8")
    path = tmp_path / "k.toml"
    path.write_text('ptx = "k.ptx"\nentry = "k"\ngrid = 1\nblock = 2\ncheck.race_free = true\n', encoding="utf-8")
    found = answer(str(path))
    assert found.base.wrong and found.base.failed == ("undefined",)
    assert [one.changes[0].words.split(" ")[0] for one in found.found][-1] == "bar.warp.sync"
    assert found.asked < 2 * found.options and not found.undecided and not found.upside_down


@pytest.mark.parametrize(
    ("instruction", "wrong"), [("mbarrier.arrive.shared.b64 %rd1, [%r3]", True), ("bar.sync 0, 33", False)]
)
def test_a_rule_that_is_broken_is_broken_by_weaker_texts_unless_at_a_barrier(instruction: str, wrong: bool) -> None:
    undefined = Undefined("a rule", (Site(0, "P0", 3, instruction),))
    result = Result(path="k", name="k", model="m", verdict="undefined", error="a rule", undefined=undefined)
    assert of_result(result).wrong == wrong


def test_nothing_of_the_correct_lock_can_be_weaker(lock: Path) -> None:
    found = answer(f"{lock}:correct", "weaken")
    assert found.complete and not found.found and found.status == 1


@pytest.mark.long
def test_what_is_stronger_than_needed_is_found(lock: Path) -> None:
    """An order and a scope too many go, and a fence; what is left fails when it is weaker."""
    ptx = lock.with_suffix(".ptx")
    text = ptx.read_text(encoding="utf-8")
    head, tail = text.split(".entry weak(", 1)
    head = head.replace("st.release.gpu.b32 [%rd2]", "fence.acq_rel.gpu;\n\tst.release.sys.b32 [%rd2]")
    head = head.replace("atom.cas.acquire.gpu.b32", "atom.cas.acq_rel.gpu.b32")
    ptx.write_text(f"{head}.entry weak({tail}", encoding="utf-8")
    found = answer(f"{lock}:correct", "weaken")
    assert found.complete and found.found
    for one in found.found:
        assert one.minimal and all(need.failed for need in one.needs)
        ptx.write_text(one.text, encoding="utf-8")
        assert ptxmm.check(ptxmm.load(f"{lock}:correct")).verdict == "ok"
    least = found.found[0].text.split(".entry weak(")[0]
    assert "atom.cas.acquire.gpu.b32" in least and "st.release.gpu.b32 [%rd2]" in least and "fence" not in least


def test_the_checker_of_ptx_refuses_no_option(lock: Path) -> None:
    from ptxmm.linting import lint_text
    from ptxmm.repair.sites import edited

    subject = subject_of(f"{lock}:weak", How())
    assert not isinstance(subject, LitmusSubject)
    tried = 0
    for site in subject.sites("repair"):
        for option in site.options:
            assert lint_text(edited(subject.text, option.edits), warnings=False) == []
            tried += 1
    assert tried > 15


@pytest.mark.parametrize(
    ("name", "refused"), [("global_then_bulk_load", True), ("proxy_fence_on_writer", True), ("mcs_lock", False)]
)
def test_options_are_refused_as_if_each_were_checked_alone(
    name: str, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And modules are read a few times for it, and not once for each option."""
    launches = ptxmm.load(f"{GATE / name / 'test.toml'}:buggy").launches
    text, known, asked = launches[0].text, list[list[Place]](), list[str]()
    together, errors = kernel_sites.accepted, kernel_sites.errors

    def kept(text: str, found: list[Place], wrong: int) -> list[Place]:
        known.append(found)
        return together(text, found, wrong)

    def counted(text: str) -> int:
        asked.append(text)
        return errors(text)

    monkeypatch.setattr(kernel_sites, "accepted", kept)
    monkeypatch.setattr(kernel_sites, "errors", counted)
    found = sites(launches, "repair")
    (every,), wrong = known, errors(text)
    alone = [
        site.kept([n for n, o in enumerate(site.options) if not o.edits or errors(edited(text, o.edits)) <= wrong])
        for site in every
    ]
    assert found == [site for site in alone if site is not None]
    options = sum(len(site.options) for site in every)
    assert (sum(len(site.options) for site in found) < options) == refused
    assert len(asked) < options / 2


@pytest.mark.parametrize(
    ("written", "wanted", "text"),
    [
        ("ld.global.u32 %r, [%rd]", Strength("acquire", "gpu"), "ld.acquire.gpu.global.u32"),
        ("st.relaxed.cta.global.u32 [%rd], 1", Strength("release", "sys"), "st.release.sys.global.u32"),
        ("st.relaxed.cta.global.u32 [%rd], 1", Strength("weak", ""), "st.weak.global.u32"),
        ("atom.cas.acquire.cta.b32 %r, [%rd], 0, 1", Strength("acq_rel", "gpu"), "atom.cas.acq_rel.gpu.b32"),
        ("membar.gl", Strength("acq_rel", "gpu"), "fence.acq_rel.gpu"),
        ("barrier.cluster.arrive.aligned", Strength("relaxed", ""), "barrier.cluster.arrive.relaxed.aligned"),
        ("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%rd], 1", Strength("relaxed", "cluster"),
         "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cta.b64"),
    ],
)  # fmt: skip
def test_an_instruction_is_spelled_with_another_order(written: str, wanted: Strength, text: str) -> None:
    module, _ = read_module(f".version 9.0\n.target sm_90\n.address_size 64\n.entry k() {{ {written}; }}\n")
    one = next(s for s in module.statements if isinstance(s, Instruction))
    kind = family(one)
    assert kind is not None and spelled(one, kind, wanted) == text and strength(one, kind) != wanted


def test_a_bad_kernel_test_is_refused_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.toml").write_text("grid = 0\n", encoding="utf-8")
    assert main(["repair", str(tmp_path / "bad.toml")]) == 2
    assert "bad.toml:1" in capsys.readouterr().err


def test_sites_of_a_launch_of_one_thread_put_no_fence_in(lock: Path) -> None:
    """Nobody else is there to be ordered with."""
    test = ptxmm.load(f"{lock}:weak")
    assert isinstance(test, KernelTest)
    launches = [replace(launch, grid=(1, 1, 1)) for launch in test.launches]
    assert not [o for s in sites(launches, "repair") for o in s.options if "put in" in o.words]


def test_what_is_put_before_a_label_is_indented_as_what_it_marks() -> None:
    text = "{\n\tmov.u32 %r1, 0;\n$L__1:\n\n\tbar.sync 0;\n\tret;\n}\n"
    layout = Layout(Lines(text), table=False)
    assert layout.put((3, 1), "fence.sc.gpu") == (text.index("$L__1"), "\tfence.sc.gpu;\n")
    assert layout.put((5, 2), "fence.sc.gpu") == (text.index("\tbar"), "\tfence.sc.gpu;\n")
