"""What workers do: each request by its name. Answers are plain values; none discloses more than the text that was sent."""

from __future__ import annotations

import contextlib
from typing import Any

from axioms.errors import UnsupportedProgram
from ptxcore.clock import OutOfTime
from ptxcore.diagnostics import InputError
from ptxcore.records import NamedTuple
from ptxmm.web import deciding, limits, told
from ptxmm.web.asked import PageRequest
from ptxmm.web.reading import files_of, variants

_SMALL = """PTX warm
{ x=0; y=0; }
 P0 | P1 ;
 st.weak.u32 [y], 1 | ld.acquire.gpu.u32 %r0, [x] ;
 st.release.gpu.u32 [x], 1 | ld.weak.u32 %r1, [y] ;
~exists (1:%r0 = 1 /\\ 1:%r1 = 0)
"""
_SMALL_KERNEL = """.version 8.0
.target sm_80
.address_size 64
// ptxmm: grid=2 block=1 x=u32[1] forall="x[0] == 2" race_free
.visible .entry warm(.param .u64 x)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [x];
    atom.relaxed.gpu.global.add.u32 %r1, [%rd1], 1;
    ret;
}
"""


class PageAnswer(NamedTuple):
    """`value` goes to the page with this `status`; `lasting`: the same request always has the same answer."""

    value: dict[str, Any]
    lasting: bool = True
    status: int = 200


def work(name: str, asked: PageRequest, seconds: float) -> PageAnswer:
    """The answer to a request."""
    try:
        with files_of(asked):
            return _DOES[name](asked, seconds)
    except MemoryError:
        return PageAnswer({"error": "out of memory"}, False, 503)
    except Exception as error:
        return PageAnswer({"error": defect_of(name, error)}, False, 500)


def defect_of(name: str, error: Exception) -> str:
    """What is said of an exception that no request should cause."""
    from ptxmm.defects import defect

    return defect(error, "the text", f"request {name}").message


def warm() -> None:
    """Imports and remembers what first requests need, before workers are copies of this process."""
    from ptxmm.web import completing, diagnosing, making, pictured  # noqa: F401
    from ptxmm.web.examples import examples

    examples()
    small = PageRequest(text=_SMALL, kind="litmus", models=("ptx-9.0",))
    with contextlib.suppress(Exception):  # what fails here fails again where it can be told
        for name in ("check", "execution", "diagnose", "complete", "repair"):
            work(name, small._replace(offset=len(_SMALL) - 60), 20.0)
        for name in ("check", "execution", "diagnose"):
            work(name, PageRequest(text=_SMALL_KERNEL, kind="ptx", models=("ptx-9.0",)), 20.0)
        work("cycle", PageRequest(text="PodWW Rfe PodRR Fre"), 20.0)
        deciding.forget()


def _check(asked: PageRequest, seconds: float) -> PageAnswer:
    found = deciding.decided(asked, seconds, anew=True).outcome
    beside = _beside(asked, found)
    lasting = not found.result.stopped and told.is_finished(beside["diagnostics"])
    return PageAnswer(told.model(found, deciding.unroll_of(asked)) | beside, lasting)


def _beside(asked: PageRequest, found: Any) -> dict[str, Any]:
    """What concerns the text, whatever the model: taken out again where the answers of models come together."""
    if found.result.verdict != "error":
        return {"diagnostics": [], "variants": variants(asked)}
    from ptxmm.web.diagnosing import findings

    looked = findings(asked, 1.0)
    if not any(d["severity"] == "error" for d in looked):
        looked += told.general(told.headline(found.result))
    return {"diagnostics": looked, "variants": variants(asked)}


def _execution(asked: PageRequest, seconds: float) -> PageAnswer:
    from ptxmm.web.pictured import NoSuchExecution, picture, wrong_relation

    try:
        found = picture(asked, seconds)
        cut = found["more"] and found["count"] < limits.MOST_EXECUTIONS  # by time, which may be longer once more
        return PageAnswer(found, found["verdict"] != "undecided" and not cut)
    except NoSuchExecution as error:
        return PageAnswer({"error": str(error)}, True, 404)
    except InputError as error:
        return PageAnswer({"error": error.diagnostics[0].message, "diagnostics": wrong_relation(error)}, True, 400)
    except (OutOfTime, TimeoutError):
        return PageAnswer(late("execution", asked, seconds), False)


def _diagnose(asked: PageRequest, seconds: float) -> PageAnswer:
    from ptxmm.web.diagnosing import diagnose

    found = diagnose(asked, seconds)
    return PageAnswer(found, told.is_finished(found["diagnostics"]))


def _complete(asked: PageRequest, seconds: float) -> PageAnswer:
    from ptxmm.web.completing import complete

    return PageAnswer(complete(asked))


def _cycle(asked: PageRequest, seconds: float) -> PageAnswer:
    from ptxmm.web.making import cycle

    found = cycle(asked, seconds)
    return PageAnswer(found, told.is_finished(found.get("diagnostics", ())))


def _repair(asked: PageRequest, seconds: float) -> PageAnswer:
    from ptxmm.web.making import repair

    try:
        found = repair(asked, seconds)
    except UnsupportedProgram as error:
        return PageAnswer({"repairs": [], "text": str(error), "stopped": ""})
    return PageAnswer(found, not found.get("stopped"))


def _tables(asked: PageRequest, seconds: float) -> PageAnswer:
    """What does not change while a server runs."""
    from axioms.models import DEFAULT, about, load, names, text_of
    from ptxmm.web.examples import examples

    models = [
        {
            "name": name,
            "about": about(name),
            "default": name == DEFAULT,
            "axioms": list(dict.fromkeys(axiom.name for axiom in load(name).axioms)),
            "text": text_of(name),
        }
        for name in names()
    ]
    return PageAnswer({"models": models, "options": deciding.options_table(), "examples": examples()})


_DOES = {
    "tables": _tables,
    "check": _check,
    "execution": _execution,
    "diagnose": _diagnose,
    "complete": _complete,
    "cycle": _cycle,
    "repair": _repair,
}


def late(name: str, asked: PageRequest, seconds: float) -> dict[str, Any]:
    """The answer to a request whose worker was stopped."""
    words = deciding.late(asked, seconds).result.error or "out of time" if asked.models else "out of time"
    if name == "check":
        return told.model(deciding.late(asked, seconds)) | {"diagnostics": [], "variants": []}
    if name == "execution":
        nothing = {
            "svg": "",
            "count": 0,
            "more": False,
            "caption": "",
            "state": {},
            "satisfies": None,
            "relations": [],
            "lines": [],
            "reasons": [],
        }
        return {**nothing, "execution": asked.execution, "text": words, "verdict": "undecided"}
    if name == "repair":
        return {"repairs": [], "text": words, "stopped": words}
    if name == "complete":
        return {"from": asked.offset, "items": []}
    return {"diagnostics": told.general(words, "warning"), "variants": []}


def lost(name: str, asked: PageRequest, reason: str) -> dict[str, Any]:
    """The answer to a request whose worker died."""
    if name == "check":
        return told.model(deciding.lost(asked, reason)) | {"diagnostics": told.general(reason), "variants": []}
    return late(name, asked, 0.0) | ({"text": reason} if name in ("execution", "repair") else {})
