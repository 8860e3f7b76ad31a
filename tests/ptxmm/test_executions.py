"""`--executions` and `ptxmm.executions`: each execution for itself, in both engines."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from agreement import either
from waiting import PATIENCE

import litmus
import ptxmm
from axioms.errors import UnsupportedProgram
from axioms.witness.candidate import Candidate
from axioms.witness.execution import Execution, ExecutionsFound
from ptxmm.cli.main import main

LIBRARY = sorted((Path(litmus.__file__).parent / "library").rglob("*.litmus"))
TEXT = """PTX two
{ x = 0; y = 0; }
 P0@cta 0 | P1@cta 1 ;
 st.relaxed.gpu.u32 [x], 1 | st.relaxed.gpu.u32 [x], 2 ;
 st.relaxed.gpu.u32 [y], 1 | ld.relaxed.gpu.u32 %r0, [y] ;
exists (1:r0 = 1 /\\ x = 1)
"""


def identity(execution: Execution) -> object:
    """What must be the same in two engines: events by thread and place in it, and what makes the execution."""
    count: Counter[int] = Counter()
    names: dict[int, object] = {}
    for e in execution.events:
        names[e.index] = e.thread, count[e.thread], e.kind, e.text, e.value
        count[e.thread] += 1
    assert execution.judged is not None
    relations = [
        frozenset((names[a], names[b]) for a, b in execution.judged.base(name))
        for name in ("rf", "co", "fr", "sync_fence", "syncbar")
    ]
    return *relations, frozenset(names.values()), tuple(sorted(execution.state.items()))


@pytest.mark.parametrize("model", ["ptx-6.0", "ptx-7.5", "ptx-9.0"])
def test_solver_and_brute_force_list_the_same_executions(model: str) -> None:
    for path in LIBRARY[::40]:
        found = either(lambda path=path: [counted(path, model, engine) for engine in ("solve", "enumerate")])
        if found is not None:
            assert found[0] == found[1], path


def counted(path: Path, model: str, engine: str) -> Counter[object]:
    """The executions of a test, each once. Raises OutOfTime, UnsupportedProgram."""
    test = ptxmm.load(path)
    assert isinstance(test, litmus.test.Test)
    try:
        listed = list(ptxmm.executions(test, model, engine=engine, unroll=2, timeout=PATIENCE))
    except ptxmm.InputError as error:
        raise UnsupportedProgram(str(error)) from None  # newer than the model
    return Counter(identity(w.execution) for w in listed)


def test_executions_with_one_state_are_told_apart() -> None:
    """Two coherence orders and two writes to read from: one order does not show in what is read."""
    test = ptxmm.parse(TEXT.replace("x = 1)", "y = 1)"))
    result = ptxmm.check(test, executions=100)
    assert result.executions is not None
    assert len(result.states) == 2
    assert (result.executions.positive, result.executions.negative, result.executions.listed_all) == (2, 2, True)
    assert {w.satisfied for w in result.executions.witnesses} == {True, False}


def test_their_states_are_those_that_are_listed() -> None:
    for path in LIBRARY[20::60]:
        test = ptxmm.load(path)
        assert isinstance(test, litmus.test.Test)
        result = ptxmm.check(test, executions=300, unroll=2, timeout=PATIENCE)
        if result.verdict not in ("ok", "no") or result.executions is None or not result.executions.listed_all:
            continue
        states = {tuple(sorted(w.state.items())) for w in result.executions.witnesses}
        listed = {tuple(sorted(s.items())) for s in result.states}
        assert states <= listed and (states == listed or not result.complete or result.executions.bounded), path


def test_every_report_says_where_there_are_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.litmus"
    path.write_text(TEXT)
    assert main(["check", "--executions", "all", str(path)]) == 0
    assert "executions: 1 of 4 satisfy the proposition" in capsys.readouterr().out
    assert main(["check", "--executions", "2", str(path)]) == 0
    assert "of at least 2 satisfy" in capsys.readouterr().out
    assert main(["check", "--executions", "all", "--format", "herd", str(path)]) == 0
    assert "Observation two Sometimes 1 3" in capsys.readouterr().out
    assert main(["check", "--executions", "2", "--format", "herd", str(path)]) == 0
    printed = capsys.readouterr()
    assert "Observation two Sometimes 1 3" in printed.out and "there may be more executions" in printed.err


def test_json_has_events_and_relations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.litmus"
    path.write_text(TEXT)
    assert main(["check", "--executions", "all", "--format", "json", "--svg", str(tmp_path / "g"), str(path)]) == 0
    found = json.loads(capsys.readouterr().out)["tests"][0]["executions"]
    assert (found["positive"], found["negative"], found["listed_all"], found["bounded"]) == (1, 3, True, False)
    assert len(found["list"]) == 4 == len(list((tmp_path / "g").iterdir()))
    for execution in found["list"]:
        events = {e["event"]: e for e in execution["events"]}
        for name, pairs in execution["relations"].items():
            assert all(a in events and b in events for a, b in pairs), name
        for write, read in execution["relations"]["rf"]:
            assert events[write]["value"] == events[read]["value"] and events[read]["kind"] == "R"
        later = [b for a, b in execution["relations"]["co"] if events[a]["thread"] is not None]
        assert len(later) == 1 and events[later[0]]["value"] == execution["state"]["x"]


def test_a_bound_of_loops_is_said_and_waiting_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "spin.litmus"
    text = (
        "PTX spin\n{ x = 0; y = 0; }\nP0@cta 0 { st.relaxed.gpu.u32 [x], 1; }\n"
        "P1@cta 1 { .reg .pred p; L: ld.relaxed.gpu.u32 %r0, [x]; STEP setp.eq.u32 p, %r0, 0; @p bra L; }\nforall (x = 1)\n"
    )
    path.write_text(text.replace("STEP", ""))
    main(["check", "--executions", "all", "--unroll", "3", str(path)])
    assert "executions: 1 of 1 satisfy the proposition\n" in capsys.readouterr().out
    path.write_text(text.replace("STEP", "st.relaxed.gpu.u32 [y], %r0;"))
    main(["check", "--executions", "all", "--unroll", "3", str(path)])
    assert "executions: 3 of 3 satisfy the proposition, within the bounds of loops\n" in capsys.readouterr().out


def test_what_is_no_litmus_test_is_refused() -> None:
    with pytest.raises(TypeError, match="litmus test"):
        ptxmm.executions("two.litmus")  # type: ignore[arg-type]


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
def test_executions_are_written_out_when_they_are_looked_at(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = Counter[str]()
    genuine = Candidate.execution

    def counting(self: Candidate, *arguments: Any, **more: Any) -> Execution:
        written["executions"] += 1
        return genuine(self, *arguments, **more)

    monkeypatch.setattr(Candidate, "execution", counting)
    result = ptxmm.check(ptxmm.parse(TEXT), engine=engine)
    assert len(result.witnesses) == len(result.states) > 2 and not written
    states = [witness.state for witness in result.witnesses]
    assert states == result.states and written["executions"] == len(states)
    first = result.witnesses[0]
    assert first.execution is first.execution and first.relations and first.evaluate("rf")
    assert written["executions"] == len(states)
    sent = pickle.loads(pickle.dumps(ptxmm.check(ptxmm.parse(TEXT), engine=engine).witnesses))
    assert [w.execution for w in sent] == [w.execution for w in result.witnesses]


def test_a_sequence_of_executions_is_as_a_list() -> None:
    made = [Execution((), {}, (), {"x": n}) for n in range(4)]
    asked: list[int] = []
    some = ExecutionsFound()
    for n, execution in enumerate(made):
        some.append(partial(lambda n, execution: (asked.append(n), execution)[1], n, execution))
    assert len(some) == 4 and not asked
    assert some[1:3] == made[1:3] and asked == [1, 2]
    assert some == made and list(some) == made and some[-1] is made[-1] and asked == [1, 2, 0, 3]
    assert pickle.loads(pickle.dumps(some)) == made and repr(some) == repr(made)
