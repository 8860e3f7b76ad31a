"""Every explanation is true: each of its sentences is made of a claim, and each claim holds of the execution that it is about,
by a second evaluation that shares nothing with the first.

All outcomes of the library's tests are explained, allowed ones and forbidden ones, and with each axiom left out the outcomes
that it alone forbids; under the models that ship and under a user's. The counts say how much was compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from campaigns import lengths
from claims_again import MODELS, Again
from claims_again import kinds as kinds_again
from waiting import PATIENCE

import ptxmm
from axioms.cat.model import Model
from axioms.engine import decide
from axioms.explain import claims
from axioms.explain.account import Account
from axioms.explain.forbidding import without
from axioms.explain.why import broken_by, why
from axioms.models import load
from axioms.witness.execution import Execution
from axioms.witness.fitted import fitted
from axioms.witness.result import Decision
from axioms.witness.tearing import with_tearing
from ptxmm.kernels.toml import read
from ptxmm.pipeline import build
from ptxmm.result import Spot
from ptxmm.words.claims import ClaimWords
from ptxmm.words.linearisation import Cast, LinearisationWords
from ptxmm.words.why import Telling

LIBRARY = Path(__file__).resolve().parents[3] / "litmus" / "library"
SHARED = Path(__file__).resolve().parents[4] / "shared" / "litmus"
FOLDERS = sorted(path.name for path in LIBRARY.iterdir() if path.is_dir())
#: A user's model: total store order, with other names for what it has, and one of the manual's names for something else.
USERS = """"mine"
let sync = po
let fre = (rf^-1; co) & ext
let ppo = (po & R * M) | (po & W * W) | po; [F]; po | po; [RMW] | [RMW]; po
acyclic ppo | (rf & ext) | co | fre as coherence
acyclic (po & loc) | rf | co | (rf^-1; co) as uniproc
empty rmw & ((rf^-1; co) & ext; co & ext) as causality
"""
CAST = Cast(lambda t: f"P{t}", lambda e: Spot("test.litmus", e.line or 0))


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("models") / "mine.cat"
    path.write_text(USERS)
    return str(path)


class Compared:
    """What was evaluated twice: how many tests, outcomes and claims, and the kinds of these."""

    def __init__(self) -> None:
        self.tests = self.outcomes = self.sentences = 0
        self.kinds: Counter[str] = Counter()
        self.wrong: list[object] = []

    def execution(self, execution: Execution, text: str, shipped: str, name: str) -> None:
        """An allowed outcome: whatever is said of it."""
        account = Account(execution)
        again = Again(execution, account.ground, text, shipped)
        linearisation = LinearisationWords(execution, CAST)
        words = ClaimWords(account.ground, CAST)
        reasons = account.reasons()
        for reason in reasons:
            for claim in (*reason.all(), *(c for _, c in reason.culprits)):
                self.claim(again, claim, name)
        told = [words.told(reason).text for reason in reasons]
        printed = linearisation.told()
        if printed[len(printed) - len(told) :] != told or linearisation.reasons() != told:
            self.wrong.append((name, "what is printed is not what was claimed", told))
        self.order(again, account, name)
        self.outcomes += 1
        self.sentences += len(told)

    def order(self, again: Again, account: Account, name: str) -> None:
        """What the steps show: that they follow program order, and what is noted beside them."""
        for a, b in again.base("po"):
            if again.at(a) > again.at(b):
                self.wrong.append((name, "steps against program order", a, b))
        strange = dict(account.line.ahead()) or dict(account.line.passed()) or dict(account.line.kept())
        if again.runs_serially() == bool(strange or account.stale):
            self.wrong.append((name, "strange reads, and none missed", strange, account.stale))
        for kind, pairs in (("ahead", account.ahead), ("stale", account.stale)):
            for pair in pairs.items():
                self.claim(again, claims.Claim(kind, pair), name)

    def claim(self, again: Again, claim: claims.Claim, name: str) -> None:
        self.kinds[claim.kind] += 1
        if not again.holds(claim):
            self.wrong.append((name, claim))

    def forbidden(self, decision: Decision, text: str, model: Model, name: str) -> None:
        """An outcome that is not there: the edges, the axiom that they break, and no other axiom."""
        if decision.why is None:
            return
        execution = decision.why.execution
        ground = claims.Ground(execution)
        again = Again(execution, ground, text, model.shipped)
        telling = Telling(decision.why, CAST, complete=decision.complete)
        for claim in telling.claims():
            self.claim(again, claim, name)
        broken = {axiom.name for axiom in again.evaluation.violated()}
        if decision.why.axiom not in broken or not broken <= set(decision.forbidding):
            self.wrong.append((name, "it breaks other axioms than those that are named", decision.why.axiom, broken))
        steps = decision.why.steps
        if model.shipped and any(a.after != b.before for a, b in pairwise(steps)):
            self.wrong.append((name, "steps that do not follow one another", steps))
        self.outcomes += 1
        self.sentences += len(list(telling.lines()))


def explained(compared: Compared, path: Path, name: str, *, axioms: bool) -> None:
    """All outcomes of one test under one model; with `axioms`, those too that each axiom alone forbids."""
    model = load(name)
    text = (MODELS / f"{name}.cat" if model.shipped else Path(name)).read_text(encoding="utf-8")
    test = ptxmm.load(str(path))
    program = build(test)
    label = f"{path.stem} under {Path(name).stem}"
    compared.tests += 1
    decision = decide(program, model, explain=True)
    for witness in decision.witnesses:
        compared.execution(witness, text, model.shipped, label)
    plain = with_tearing(program, model)
    why(plain, model, decision, None, rests=False)
    compared.forbidden(decision, text, model, label)
    fit = fitted(model, plain, frozenset())
    for dropped in dict.fromkeys(a.name for a in fit.axioms) if axioms else ():
        for one in left_over(program, model, dropped, decision):
            judged = one.judged
            assert judged is not None
            for axiom in (a for a in fit.axioms if a.name == dropped and not judged._candidate.evaluation.holds(a)):
                again = Again(one, claims.Ground(one), text, model.shipped)
                compared.outcomes += 1
                for edge in broken_by(fit, axiom, judged._candidate):
                    for part in (edge, *edge.parts):
                        pair = judged.number[part.before], judged.number[part.after]
                        if pair[0] != pair[1]:
                            compared.claim(again, claims.Claim("edge", pair, (part.name,)), f"{label}, {dropped}")


def left_over(program: object, model: Model, dropped: str, decision: Decision) -> Iterator[Execution]:
    """The executions of the outcomes that only one axiom forbids."""
    weaker = without(model, {dropped})
    weaker.flags = model.flags
    found = decide(program, weaker)  # type: ignore[arg-type]
    known = [sorted(state.items()) for state in decision.states]
    yield from (w for w in found.witnesses if sorted(w.state.items()) not in known)


@pytest.mark.part(8)
@pytest.mark.parametrize("every", lengths(3, 1))
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_sentence_about_the_library_is_true(folder: str, every: int) -> None:
    compared = Compared()
    for path in sorted((LIBRARY / folder).glob("*.litmus"))[::every]:
        explained(compared, path, "ptx-9.0", axioms=False)
    assert compared.wrong == []
    assert compared.outcomes >= compared.tests and sum(compared.kinds.values()) >= compared.tests, vars(compared)


@pytest.mark.part(4)
@pytest.mark.parametrize("share", [*lengths(27, 9), pytest.param(1, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("model", ["ptx-6.0", "ptx-7.5", "ptx-9.0", "users"])
def test_every_axiom_that_forbids_is_explained(model: str, share: int, users: str) -> None:
    """Each axiom alone, for one in so many tests of the library; for all of them in campaigns."""
    compared = Compared()
    for path in sorted(LIBRARY.rglob("*.litmus"))[::share]:
        explained(compared, path, users if model == "users" else model, axioms=True)
    assert compared.wrong == []
    assert compared.kinds["edge"] >= compared.tests, vars(compared)


def test_every_kind_of_claim_is_evaluated_twice_and_has_words() -> None:
    from ptxmm.words import claims as words

    assert kinds_again() == set(claims.kinds())
    assert set(words._SENTENCES) | {"edge"} >= set(claims.kinds())


# What is said of races and of kernels, as reports say it.


def recorded(monkeypatch: pytest.MonkeyPatch, compared: Compared, text: str, shipped: str) -> None:
    """Has every reason that is put into words evaluated a second time, wherever it is said."""
    said = ClaimWords.told

    def told(self: ClaimWords, reason: claims.Reason) -> object:
        again = Again(self.ground.execution, self.ground, text, shipped)
        for claim in (*reason.all(), *(c for _, c in reason.culprits)):
            compared.claim(again, claim, "")
        compared.sentences += 1
        return said(self, reason)

    monkeypatch.setattr(ClaimWords, "told", told)


@pytest.mark.parametrize("share", [*lengths(6, 4), pytest.param(1, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("model", ["ptx-7.5", "ptx-9.0"])
def test_the_reasons_of_races_are_true(model: str, share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = Compared()
    text = (MODELS / f"{model}.cat").read_text(encoding="utf-8")
    recorded(monkeypatch, compared, text, model)
    raced = 0
    for path in sorted(LIBRARY.rglob("*.litmus"))[::share]:
        raced += bool(ptxmm.check(ptxmm.load(str(path)), model, races=True, witnesses=False).races)
    assert compared.wrong == []
    assert model == "ptx-7.5" or (raced >= 20 and compared.sentences >= raced), (raced, vars(compared))


KERNELS = sorted((Path(__file__).resolve().parents[2] / "kernels" / "museum").glob("*.toml"))


@pytest.mark.skipif(not SHARED.is_dir(), reason="the code of these kernels is in ../shared")
@pytest.mark.parametrize("share", [4, pytest.param(1, marks=pytest.mark.campaign)])
def test_what_is_said_of_kernels_that_fail_is_true(share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = Compared()
    recorded(monkeypatch, compared, (MODELS / "ptx-9.0.cat").read_text(encoding="utf-8"), "ptx-9.0")
    failed = 0
    for path in KERNELS[::share]:
        if "buggy" in read(str(path)).variants:
            failed += ptxmm.check(read(str(path)).test("buggy"), timeout=PATIENCE).verdict != "ok"
    assert compared.wrong == []
    assert compared.sentences >= failed >= len(KERNELS[::share]) // 2, (failed, vars(compared))


def test_nothing_is_said_twice_in_one_sentence() -> None:
    """Under a model that knows of no kernels, many steps lack the same."""
    path = LIBRARY / "kernels" / "host+sync-stream.litmus"
    result = ptxmm.check(ptxmm.load(str(path)), "ptx-7.5", races=True)
    lines = [race.reason for race in result.races] + (
        ptxmm.check(ptxmm.load(str(path)), "ptx-7.5", why=True).why or {}
    )["text"]
    assert any("which the model makes nothing of" in line for line in lines)
    for line in lines:
        parts = line.split(", and ")
        assert len(parts) == len(set(parts)), line


def test_where_no_execution_ends_nothing_more_is_said_of_why() -> None:
    """The check says who waits; `not explained` would be another thing."""
    text = (
        "PTX t\n{ x = 0; }\nP0 { L: ld.relaxed.gpu.u32 %r0, [x]; setp.eq.u32 %p, %r0, 0; @%p bra L; }\nforall (x = 1)\n"
    )
    result = ptxmm.check(ptxmm.parse(text), why=True)
    assert result.hangs and result.why is None and "P0 does not terminate" in result.checks[0].message


def test_every_sentence_about_published_tests_is_true() -> None:
    """The rows that others published, where they are at hand."""
    paths = sorted(SHARED.glob("dat3m/**/*.litmus"))
    if not paths:
        pytest.skip("../shared/litmus is not here")
    compared = Compared()
    for path in paths[::10]:
        explained(compared, path, "ptx-9.0", axioms=False)
    assert compared.wrong == []
    assert sum(compared.kinds.values()) >= compared.tests, vars(compared)


def test_the_second_evaluation_tells_true_claims_from_false_ones() -> None:
    """Of load buffering, what used to be said: that each read returns what was written last before it."""
    result = ptxmm.check(ptxmm.load(str(LIBRARY / "load-buffering" / "LB+rlx.litmus")))
    text = (MODELS / "ptx-9.0.cat").read_text(encoding="utf-8")
    serial = claims.Claim("serial")
    found = {}
    for witness in result.witnesses:
        ground = claims.Ground(witness.execution)
        both = claims.holds(serial, ground), Again(witness.execution, ground, text, "ptx-9.0").holds(serial)
        assert both[0] == both[1]
        found[tuple(witness.state.values())] = both[0]
    assert found == {(0, 0): True, (0, 1): True, (1, 0): True, (1, 1): False}
    lines = ptxmm.check(ptxmm.load(str(LIBRARY / "load-buffering" / "LB+rlx.litmus")), why=True).why
    assert lines is not None and not any("no read is out of date" in line for line in lines["text"])
    assert any(re.match("load buffering: .* go in a circle: .*without a dependency", line) for line in lines["text"])
