"""Expressions of the cat language on witnesses, and what models show of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import ptxmm
from ptxmm.cli.main import main
from ptxmm.listing import document

ROOT = Path(__file__).resolve().parents[3]
TESTS = sorted((ROOT / "litmus/library/message-passing").glob("*.litmus"))[::6]
LB = """PTX LB
{ x = 0; y = 0; }
 P0@cta 0,gpu 0              | P1@cta 1,gpu 0              ;
 ld.relaxed.gpu.u32 %r0, [x] | ld.relaxed.gpu.u32 %r0, [y] ;
 st.relaxed.gpu.u32 [y], 1   | st.relaxed.gpu.u32 [x], 1   ;
exists (0:r0 = 1 /\\ 1:r0 = 1)
"""


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "m.cat"
    path.write_text(text)
    return str(path)


def listed(model: str) -> list[ptxmm.result.Witness]:
    found = []
    for path in TESTS:
        executions = ptxmm.check(ptxmm.load(path), model, executions=20).executions
        assert executions is not None
        found += executions.witnesses
    return found


@pytest.mark.part(3)
@pytest.mark.parametrize("model", ["ptx-6.0", "ptx-9.0", "ptx-9.0 --dep data"])
def test_what_is_listed_is_what_expressions_give(model: str) -> None:
    """Base relations as JSON lists them; definitions of the model as explanations see them; and operators on both."""
    compared = 0
    for witness in listed(model):
        relations = {name: {(a, b) for a, b in pairs} for name, pairs in document(witness)["relations"].items()}
        judged = witness.execution.judged
        assert judged is not None
        for name in ("po", "rf", "co", "fr", "rmw"):
            assert set(witness.evaluate(name)) == relations[name], name
            compared += 1
        for name in judged.model.names:
            defined = judged.defined(name)
            if defined is not None:
                assert set(witness.evaluate(name)) == defined, name
                compared += 1
        rf, co = relations["rf"], relations["co"]
        assert set(witness.evaluate("rf^-1; co")) == {(r, v) for w, r in rf for u, v in co if u == w}
        assert witness.evaluate("domain(rf) \\ IW") == tuple(
            sorted({w for w, _ in rf if witness.events[w].thread >= 0})
        )
        assert witness.evaluate("_") == tuple(event.index for event in witness.events)
        compared += 3
    assert compared > 400


def test_names_are_those_of_the_model_with_what_it_includes(tmp_path: Path) -> None:
    text = (
        "include \"ptx-9.0.cat\"\nlet both = cause & rf\nenum E = 'a || 'b\nlet f(x) = x; x\nacyclic po | rf as no-lb"
    )
    for witness in ptxmm.check(ptxmm.parse(LB), written(tmp_path, text)).witnesses:
        assert witness.evaluate("both") == tuple(sorted({*witness.evaluate("cause")} & {*witness.evaluate("rf")}))
        assert witness.evaluate("f(po|rf)") == witness.evaluate("(po|rf); (po|rf)")
        assert witness.evaluate("match 'a with 'a -> po || 'b -> 0 end") == witness.relations["po"]
        assert witness.evaluate("{}") == ()


def test_choices_of_the_model_mean_what_they_mean_where_its_tests_hold(tmp_path: Path) -> None:
    text = "with s from linearisations(W & ~IW, 0)\nempty po & s^-1\nacyclic rf | po | s as total"
    for witness in ptxmm.check(ptxmm.parse(LB), written(tmp_path, text)).witnesses:
        assert len(witness.evaluate("s")) == 1
        assert witness.evaluate("s & (rf | po)+^-1") == ()


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        (
            "rff",
            "<expression>:1:1: error: unknown set or relation 'rff'\n    rff\n    ^^^\n    hint: did you mean 'rf'?",
        ),
        ("rf;\n(co", "<expression>:2:1: error: '(' is never closed"),
        ("po; W", "<expression>:1:5: error: ';' takes a relation, this is a set"),
        ("{rf, co}", "<expression>:1:1: error: this is a set of values, and no set of events and no relation"),
        ("domain", "<expression>:1:1: error: this is a function"),
        ("po rf", "<expression>:1:1: error: 'po' is not a function"),
        ("po let", "<expression>:1:4: error: expected an operator, found 'let'"),
        ("", "<expression>:1:1: error: expected a relation or a set"),
        ("iico_data", "<expression>:1:1: error: 'iico_data' means nothing for PTX"),
    ],
)
def test_an_expression_without_a_meaning_is_told_with_its_place(expression: str, told: str) -> None:
    witness = ptxmm.check(ptxmm.parse(LB)).witnesses[0]
    with pytest.raises(ptxmm.InputError) as caught:
        witness.evaluate(expression)
    assert caught.value.render().startswith(told)


SHOWS = """include "ptx-9.0.cat"
let obs = po | rf
show obs, po-loc as same-place
show (obs; obs) as twice
show loc
show nothing-of-this-name as none
unshow fr, twice
acyclic po as pos
"""


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
def test_what_a_model_shows_is_in_relations_pictures_and_json(tmp_path: Path, engine: str) -> None:
    model = written(tmp_path, SHOWS)
    result = ptxmm.check(ptxmm.parse(LB), model, engine=engine, executions=10)
    assert result.executions is not None and result.executions.witnesses
    for witness in [*result.witnesses, *result.executions.witnesses]:
        assert set(witness.relations["obs"]) == {*witness.evaluate("po | rf")}
        assert {*witness.relations["loc"]} == {(a, b) for a, b in witness.evaluate("loc") if a != b}
        assert witness.relations.keys().isdisjoint(("twice", "fr", "none", "same-place"))  # the last is empty
        assert "obs" in witness.svg() and "obs" in witness.dot() and "loc" in witness.dot()
        lists = json.loads(json.dumps(document(witness)))["relations"]
        assert {tuple(pair) for pair in lists["obs"]} == {*witness.evaluate("obs")} and "fr" not in lists
    shown = ptxmm.check(ptxmm.parse(LB), written(tmp_path, SHOWS + "show twice, fr")).witnesses
    assert any(w.relations.get("fr") for w in shown)


@pytest.mark.parametrize("base", ["ptx-9.0", "own.cat"])
def test_what_is_asked_to_be_shown_is_what_the_model_would_show(
    tmp_path: Path, base: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lb.litmus").write_text(LB)
    (tmp_path / "own.cat").write_text('include "ptx-9.0.cat"\n')
    model = base if base == "ptx-9.0" else str(tmp_path / base)
    asked = ptxmm.check(ptxmm.parse(LB), f"{model} --show rf; po as next --show ACQ | REL as strong, loc").witnesses
    plain = ptxmm.check(ptxmm.parse(LB), model).witnesses
    assert len(asked) == len(plain) > 1
    for witness, without in zip(asked, plain, strict=True):
        assert {*witness.relations["next"]} == {*without.evaluate("rf; po")}
        assert {*witness.relations["loc"]} == {(a, b) for a, b in without.evaluate("loc") if a != b}
        assert witness.relations.keys() - without.relations.keys() <= {"next", "strong", "loc"}
    command = ["check", str(tmp_path / "lb.litmus"), "--model", model, "--executions", "9", "--format", "json"]
    main([*command, "--show", "rf; po as next"])
    told = json.loads(capsys.readouterr().out)
    assert told["model"] == model  # what is shown is no part of the model
    assert all("next" in execution["relations"] for execution in told["tests"][0]["executions"]["list"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("cuase", "<show>:1:6: error: unknown set or relation 'cuase'"),
        ("rf; fr", "<show>:1:8: error: what is shown needs a name"),
        ("rf as one acyclic po", "<show>:1:6: error: '--show' takes"),
        ("", "<show>:1:6: error: expected a relation or a set"),
        ("po; W as one", "<show>:1:10: error: ';' takes a relation, this is a set"),
    ],
)
def test_what_cannot_be_shown_is_told_with_its_place(
    tmp_path: Path, words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lb.litmus").write_text(LB)
    assert main(["check", str(tmp_path / "lb.litmus"), "--show", words]) == 2
    assert capsys.readouterr().err.startswith(message)


def test_what_only_an_execution_says_is_shown_too(tmp_path: Path) -> None:
    text = "with s from linearisations(W & ~IW, 0)\nshow s as order\nacyclic rf | po | s as total"
    for witness in ptxmm.check(ptxmm.parse(LB), written(tmp_path, text)).witnesses:
        assert witness.relations["order"] == witness.evaluate("s") and "order" in witness.svg()


@pytest.mark.parametrize(
    "axioms", ["acyclic po as pos", "with s from linearisations(W & ~IW, 0)\nacyclic po | s as total"]
)
def test_a_set_that_is_shown_stands_at_its_events(tmp_path: Path, axioms: str) -> None:
    """In pictures `{news}` stands at the events, in relations the set is the relation of its events with themselves."""
    model = written(tmp_path, f"{axioms}\nlet news = W & ~IW\nshow news, [R] as seen\nshow M & F as none\n")
    witnesses = ptxmm.check(ptxmm.parse(LB), model).witnesses
    assert witnesses
    for witness in witnesses:
        assert set(witness.relations["news"]) == {(e, e) for e in witness.evaluate("W & ~IW")}
        assert set(witness.relations["seen"]) == {(e, e) for e in witness.evaluate("R")}
        assert "none" not in witness.relations
        for picture in (re.sub("<title>.*?</title>", "", witness.svg()), witness.dot()):
            assert picture.count("{news}") == 2 == picture.count("{seen}")
            assert picture.count("news") == 2  # no line, and no word in the legend
        pairs = json.loads(json.dumps(document(witness)))["relations"]["news"]
        assert {tuple(pair) for pair in pairs} == set(witness.relations["news"])


def test_a_model_of_flags_alone_allows_all_and_tells(tmp_path: Path) -> None:
    """As in herd7: it forbids nothing, and flags tell of executions."""
    flags = written(tmp_path, "flag ~empty rf & ext & ~(IW * _) as seen")
    result = ptxmm.check(ptxmm.parse(LB), flags, races=True)
    every = ptxmm.check(ptxmm.parse(LB), written(tmp_path, "empty 0"))
    assert result.states == every.states and len(every.states) == 4
    assert {race.kind for race in result.races} == {"seen"}
