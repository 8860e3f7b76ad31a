"""The answers of `ptxmm serve`: each endpoint, and that they are the library's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from serving import Served

import ptxmm
from litmus.library import named
from ptxcore.clock import OutOfTime
from ptxcore.diagnostics import InputError
from ptxmm.checker import Outcome
from ptxmm.report.text import TextReport
from ptxmm.result import Result

ROOT = Path(__file__).resolve().parents[3]
TESTS = ("MP+rel+acq", "LB+acq+rel", "IRIW+acq", "CoRR", "CoRR+rlx+weak", "MP+bar.sync")
_TIME = re.compile(r"[\d.]+ m?s\b")


def text_of(name: str) -> str:
    return Path(named(name)[0]).read_text(encoding="utf-8")


MP = text_of("MP+rel+acq")
SB = """PTX SB
{ x=0; y=0; }
 P0                        | P1                        ;
 st.relaxed.gpu.u32 [x], 1 | st.relaxed.gpu.u32 [y], 1 ;
 ld.relaxed.gpu.u32 %r0, [y] | ld.relaxed.gpu.u32 %r0, [x] ;
exists (0:%r0 = 0 /\\ 1:%r0 = 0)
"""
WEAK = MP.replace("st.release", "st.relaxed")


def page(result: Result) -> str:
    return _TIME.sub("T", TextReport(result.model, colour=False, unroll=4).page(Outcome(result, {})))


def asked(served: Served, name: str, text: str, kind: str = "litmus", **more: Any) -> Any:
    found = served.post(name, {"text": text, "kind": kind, **more})
    assert found.status == 200, found
    return found.value


def test_models_are_those_that_ship(served: Served) -> None:
    from axioms.models import DEFAULT, names, text_of

    found = served.get("/api/models").value
    assert [model["name"] for model in found] == names() and all(model["about"] for model in found)
    assert [model["name"] for model in found if model["default"]] == [DEFAULT]
    assert served.get(f"/api/models/{DEFAULT}").value["text"] == text_of(DEFAULT)
    assert served.get("/api/models/ptx-1.0").status == 404


def test_every_option_that_is_offered_is_taken(served: Served) -> None:
    for option in served.get("/api/options").value:
        value = option["default"] if option["default"] is not None else 1
        assert asked(served, "check", MP, options={option["name"]: value})["models"]


def test_examples_are_the_library_kernels_models_and_exercises(served: Served) -> None:
    from axioms.models import names
    from litmus.library import tests
    from ptxmm.exercises import EXERCISES

    found = served.get("/api/examples").value
    groups = {g: [e["name"] for e in found if e["group"] == g] for g in ("litmus", "kernels", "models", "exercises")}
    library = [(e["topic"], e["name"], e["about"]) for e in found if e["group"] == "litmus"]
    assert (
        sorted(library) == sorted((t.folder, t.name, t.about) for t in tests()) and library[0][0] == "message-passing"
    )
    assert {*groups["models"]} == {"sc", "tso", *names()} and groups["exercises"] == [e.name for e in EXERCISES]
    assert len(groups["kernels"]) == 6 and sum(map(len, groups.values())) == len(found)
    assert len({e["path"] for e in found}) == len(found) and all(e["about"] for e in found)
    one = next(e for e in found if e["name"] == "MP+rel+acq")
    assert served.get(f"/api/examples/{one['path'].replace('+', '%2B')}").value["text"] == MP


@pytest.mark.part(3)
@pytest.mark.parametrize("name", ["handoff", "neighbour", "lock", "last-block", "copy", "grid-barrier"])
def test_a_kernel_of_the_page_holds_and_its_mistake_does_not(served: Served, name: str) -> None:
    listed = served.get("/api/examples").value
    path = next(e["path"] for e in listed if (e["group"], e["name"]) == ("kernels", name))
    one = served.get(f"/api/examples/{path}").value
    test = {key: one[key] for key in ("kind", "files")}
    right = asked(served, "check", one["text"], **test)
    first, second = right["variants"]
    assert right["models"][0]["verdict"] == "ok" and first == "right" and right["diagnostics"] == []
    wrong = asked(served, "check", one["text"], **test, variant=second)["models"][0]
    assert wrong["verdict"] in ("no", "undefined") and wrong["expected"] and wrong["pictures"]


def test_a_kernel_of_the_library_is_decided_though_a_reason_is_asked_for(served: Served) -> None:
    one = served.get("/api/examples/wgmma/wgmma%2Bproxy.ptx").value
    assert (one["kind"], one["topic"], one["asked"]) == ("ptx", "wgmma", "right: ok, unfenced: undefined")
    for variant, verdict in (("right", "ok"), ("unfenced", "undefined")):
        answer = asked(served, "check", one["text"], kind="ptx", variant=variant, options={"why": True})
        assert (answer["models"][0]["verdict"], answer["diagnostics"]) == (verdict, [])


@pytest.mark.parametrize("name", ["sc", "tso"])
def test_a_model_of_the_page_is_one_that_the_field_knows(served: Served, name: str) -> None:
    cat = served.get(f"/api/examples/models/{name}.cat").value["text"]
    words = {
        "SB": "PodWR Fre PodWR Fre",
        "MP": "PodWW Rfe PodRR Fre",
        "SB+fences": "Fence.sc.sysdWR Fre Fence.sc.sysdWR Fre",
    }
    found = {}
    for test, cycle in words.items():
        text = served.post("cycle", {"cycle": cycle}).value["text"]
        found[test] = asked(served, "check", text, models=["yours"], cat=cat)["models"][0]["verdict"]
    assert found == {"SB": "ok" if name == "tso" else "no", "MP": "no", "SB+fences": "no"}


def test_checks_are_those_of_the_library(served: Served) -> None:
    count = 0
    for name in TESTS:
        text = text_of(name)
        models = ["ptx-9.0", "ptx-7.5", "ptx-9.0/-causality"]
        for model, found in zip(models, asked(served, "check", text, models=models)["models"], strict=True):
            result = ptxmm.check(ptxmm.parse(text, "test.litmus"), model, why=True)
            assert (found["model"], found["verdict"]) == (model, result.verdict)
            assert [s["values"] for s in found["states"]] == result.states
            assert [s["satisfies"] for s in found["states"]] == list(result.satisfied)
            assert _TIME.sub("T", found["text"]) == page(result)
            assert [line["text"] for line in found["why"]] == (result.why["text"] if result.why else [])
            count += 1
    assert count == 3 * len(TESTS)


def test_edges_of_a_reason_are_between_events_of_its_picture(served: Served) -> None:
    (found,) = asked(served, "check", MP)["models"]
    edges = [edge for line in found["why"] for edge in line["edges"]]
    shown = asked(served, "execution", MP, model="ptx-9.0", execution="why")
    events = set(re.findall(r'data-event="([^"]*)"', shown["svg"]))
    assert {name for _, *pair in edges for name in pair} <= events and len(edges) >= 8


def test_a_model_of_the_user_stands_beside_others(served: Served) -> None:
    found = asked(served, "check", SB, models=["ptx-9.0"], cat="acyclic po | rf | co | fr as sc\n")
    assert [m["model"] for m in found["models"]] == ["ptx-9.0", "yours"]
    assert [len(m["states"]) for m in found["models"]] == [4, 3]
    wrong = asked(served, "check", MP, cat="acyclic po | rg as sc\n")
    assert [(d["in"], d["line"], d["column"]) for d in wrong["diagnostics"]] == [("cat", 1, 14)]


def test_pictures_are_those_of_the_library(served: Served) -> None:
    result = ptxmm.check(ptxmm.parse(WEAK, "test.litmus"), why=True)
    for number, witness in enumerate(result.witnesses):
        found = asked(served, "execution", WEAK, model="ptx-9.0", execution=number)
        assert found["svg"] == witness.svg() and found["state"] == witness.state
        assert found["count"] == len(result.witnesses) and found["lines"]
    more = asked(served, "execution", WEAK, model="ptx-9.0", execution=0, relations=["rf;po"])
    assert more["svg"] != asked(served, "execution", WEAK, model="ptx-9.0", execution=0)["svg"]
    assert {"name": "rf;po", "drawn": True} in more["relations"]
    assert served.post("execution", {"text": WEAK, "kind": "litmus", "execution": 99}).status == 404


def test_every_execution_can_be_stepped_through(served: Served) -> None:
    text = SB
    states = [w.state for w in ptxmm.executions(ptxmm.parse(text), "ptx-9.0")]
    found = [asked(served, "execution", text, model="ptx-9.0", execution=f"all-{i}") for i in range(len(states))]
    assert [f["state"] for f in found] == states and {f["count"] for f in found} == {len(states)}


WRONG = {
    "litmus": MP.replace("release", "relase"),
    "kernel": 'grid = 1\nblocks = 1\n[check]\nrace_free = "true"\n',
    "ptx": ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() { mov.u33 %r1, 1; ret; }\n",
    "cat": "acyclic po | rg as sc\n",
}


def diagnostics(kind: str, text: str) -> list[tuple[int, int, str]]:
    """What the readers say, asked directly."""
    try:
        if kind == "litmus":
            ptxmm.check(ptxmm.parse(text))
        elif kind == "kernel":
            from ptxmm.kernels.toml import KernelFile

            KernelFile(text)
        elif kind == "cat":
            from axioms.cat.model import compile_model

            compile_model("m.cat", text)
        else:
            from ptxmm.linting import lint_text

            return [(d.span.line, d.span.column, d.message) for d in lint_text(text)]
    except InputError as error:
        return [(d.span.line, d.span.column, d.message) for d in error.diagnostics]
    return []


@pytest.mark.parametrize("kind", WRONG)
def test_findings_are_those_of_the_readers(served: Served, kind: str) -> None:
    found = asked(served, "diagnose", WRONG[kind], kind)["diagnostics"]
    expected = diagnostics(kind, WRONG[kind])
    assert [(d["line"], d["column"], d["message"]) for d in found] == expected and expected
    assert all(d["endColumn"] > d["column"] for d in found)


def test_the_model_beside_a_test_is_looked_at_with_it(served: Served) -> None:
    found = asked(served, "diagnose", MP, cat='"mine"\nacyclic nothing as x\n')["diagnostics"]
    assert [(d["in"], d["line"], d["severity"]) for d in found] == [("cat", 2, "error")]
    assert asked(served, "diagnose", MP, cat='"mine"\nacyclic po as x\n')["diagnostics"] == []


def test_kernels_are_checked_with_the_files_that_came(served: Served) -> None:
    text, ptx = ((ROOT / "examples" / f"lock.{ending}").read_text(encoding="utf-8") for ending in ("toml", "ptx"))
    from ptxmm.kernels.toml import read

    names = read(ROOT / "examples" / "lock.toml").variants
    for name in names:
        (found,) = asked(served, "check", text, "kernel", files={"lock.ptx": ptx}, variant=name)["models"]
        result = ptxmm.check(ptxmm.load(f"{ROOT}/examples/lock.toml:{name}"), why=True)
        assert (found["verdict"], len(found["states"])) == (result.verdict, len(result.states))
    alone = asked(served, "check", text, "kernel")
    assert alone["models"][0]["verdict"] == "error" and alone["variants"] == [name for name in names if name]
    assert all("no file is read here" in d["message"] for d in alone["diagnostics"])


def test_instructions_of_the_library_are_offered(served: Served) -> None:
    from litmus.library import paths
    from ptxcore.syntax.tree import Instruction

    tests = [ptxmm.load(path) for path in paths()[::12]]
    statements = [
        s for test in tests for thread in test.threads for s in thread.statements if isinstance(s, Instruction)
    ]
    opcodes = sorted({".".join([s.opcode, *s.modifiers]) for s in statements if s.modifiers})
    missing = []
    for opcode in opcodes:
        begun = opcode.rpartition(".")[0] + "."
        offered = asked(served, "complete", f"P0;\n {begun}", offset=len(begun) + 5)
        missing += [opcode] if opcode not in [item["label"] for item in offered["items"]] else []
    assert len(opcodes) >= 15 and len(missing) <= len(opcodes) // 8, missing


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        ("cat", "let a = po-l", "po-loc"),
        ("cat", "acy", "acyclic"),
        ("cat", "let mine = po\nlet b = mi", "mine"),
        ("kernel", "[check]\nrace", "race_free = "),
        ("kernel", 'expect = "un', "undefined"),
        ("kernel", "dyn", "dynamic_shared = "),
        ("kernel", "[params]\np = {ty", "type = "),
        ("kernel", 'params.p = {type = "u3', "u32"),
        ("kernel", "params.p = {bytes = 16, fields = [{a", "at = "),
        ("cat", 'include "co', "cos.cat"),
        ("litmus", "PTX a\n{ x=0; }\n P0 ;\n st.we", "st.weak.u32"),
        ("litmus", "PTX a\n{ x=0; }\n P0 ;\n nop ;\n~ex", "~exists"),
        ("ptx", ".visible .entry k() { fen", "fence"),
    ],
)
def test_words_are_offered(served: Served, kind: str, text: str, wanted: str) -> None:
    found = asked(served, "complete", text, kind, offset=len(text))
    assert wanted in [item["label"] for item in found["items"]]
    assert all(item["label"].startswith(text[found["from"] :]) for item in found["items"])


def test_cycles_become_tests(served: Served) -> None:
    from litmus.cycles import generate
    from litmus.formats import write

    cycle = "PodWW.rel.gpu Rfe PodRR.acq.gpu Fre"
    (expected,) = generate(cycle)
    assert served.post("cycle", {"cycle": cycle}).value["text"] == write(expected)
    wrong = served.post("cycle", {"cycle": "PodWW Rfe PodRR Frx"}).value["diagnostics"]
    assert [(d["line"], d["column"], d["endColumn"]) for d in wrong] == [(1, 17, 20)]


def test_a_repair_is_a_text_that_holds(served: Served) -> None:
    assert asked(served, "check", WEAK)["models"][0]["verdict"] == "no"
    (repair,) = asked(served, "repair", WEAK, model="ptx-9.0")["repairs"]
    assert repair["text"] == MP and repair["diff"].count("\n+") == 1 and repair["says"].startswith("repair 1: ")
    assert asked(served, "check", repair["text"])["models"][0]["verdict"] == "ok"
    assert asked(served, "repair", MP)["repairs"] == []


def test_the_page_is_there_with_its_files(served: Served) -> None:
    found = served.get("/")
    assert found.status == 200 and found.headers["content-type"] == "text/html; charset=utf-8"
    names = re.findall(r'(?:src|href)="/?static/([^"]+)"', found.body.decode())
    for name in names:
        file = served.get(f"/static/{name}")
        assert file.status == 200 and file.body
        assert served.get(f"/static/{name}", If_None_Match=file.headers["etag"]).status == 304


def test_what_was_cut_short_is_asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither an answer that came to no end nor findings of half a look are kept: who asks again, with time, has the whole."""
    from ptxmm.web import deciding
    from ptxmm.web.asked import asked as wanted
    from ptxmm.web.tasks import work

    deciding.forget()
    body: dict[str, Any] = {"text": text_of("IRIW+acq"), "kind": "litmus"}
    bodies = {"check": body, "execution": {**body, "execution": "all-0"}, "diagnose": body}
    for name, one in bodies.items():
        short = work(name, wanted(name, one), 1e-6)
        whole = work(name, wanted(name, one), 60.0)
        assert (short.lasting, whole.lasting) == (False, True), (name, short, whole)
        assert short.value.get("verdict", "undecided") == "undecided"
    deciding.forget()

    def late(*given: object, **more: object) -> None:
        raise OutOfTime

    monkeypatch.setattr("litmus.cycles.generate", late)
    found = work("cycle", wanted("cycle", {"cycle": "PodWW Rfe PodRR Fre"}), 1.0)
    assert found.value["diagnostics"][0]["message"] == "out of time" and not found.lasting


def test_models_that_have_more_states_than_are_told_are_not_complete() -> None:
    from ptxmm.web import limits, told

    def complete(count: int) -> bool:
        states = [{"x": i} for i in range(count)]
        result = Result(path="a", name="a", model="m", verdict="ok", observation="sometimes", states=states)
        return bool(told.model(Outcome(result, {}))["complete"])

    assert [complete(limits.MOST_STATES + more) for more in (0, 1)] == [True, False]


def test_the_report_says_how_often_loops_were_followed() -> None:
    from ptxmm.web import told

    result = Result(path="a", name="a", model="m", verdict="bounded", complete=False)
    assert "at most 7 times" in told.model(Outcome(result, {}), 7)["text"]
