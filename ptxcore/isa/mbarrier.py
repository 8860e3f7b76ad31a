"""Barrier objects in shared memory: `mbarrier` and `cp.async.mbarrier.arrive` (PTX ISA 9.0, section 9.7.13.15)."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form

_OWN = "shared shared::cta"
_ANY = f"{_OWN} shared::cluster"
_NEEDS = {"shared::cta": "7.8", "shared::cluster": "8.0 sm_90"}
_SYNC_NEEDS = {**_NEEDS, "sem scope": "8.0", "relaxed": "8.6 sm_90", "cluster": "8.0 sm_90"}
_ADDRESS = "[addr:mbarrier]"
_COUNT = "count:u32 1..9223372036854775807"
#: In ptxas the two go together; the manual lets either be left out.
_TOGETHER = ("ptxas:sem -> scope", "ptxas:scope -> sem")
#: The manual asks nothing of the target for .relaxed.
_MANUAL = {"relaxed": "8.6"}

_mbarrier = partial(Form, kind="effect", version="7.0", target="sm_80", needs=_NEEDS)
_init = partial(_mbarrier, space=_OWN)
_transactions = partial(
    _mbarrier,
    version="8.0",
    target="sm_90",
    sem="relaxed",
    scope="cta cluster",
    space=_ANY,
    rules=_TOGETHER,
)


def _arrivals(what: str, section: str, sink: str) -> tuple[Form, ...]:
    """The forms of `.arrive` and `.arrive_drop`; `sink` is the version from which on the result may be dropped.

    The state of an object in another block of the cluster is not to be had: `_` must stand for it."""
    arrive = partial(
        _mbarrier,
        section=section,
        sem="release relaxed",
        scope="cta cluster",
        needs=_SYNC_NEEDS,
        manual=_MANUAL,
        rules=_TOGETHER,
        absent={"sem": "release", "scope": "cta"},
        first=what,
    )
    counted = partial(arrive, version="7.8", target="sm_90")
    expecting = partial(arrive, version="8.0", target="sm_90", first=f"{what} expect_tx")
    incomplete = partial(
        arrive,
        sem="release",
        scope="cta",
        space=_OWN,
        needs={**_NEEDS, "sem scope": "8.0"},
        manual={},
    )
    line = f"mbarrier.{what}{{.sem}}{{.scope}}{{.space}}.b64"
    expect = f"mbarrier.{what}.expect_tx{{.sem}}{{.scope}}{{.space}}.b64"
    no_complete = f"mbarrier.{what}.noComplete{{.sem}}{{.scope}}{{.space}}.b64"
    return (
        arrive(f"{line} d:u64, {_ADDRESS}", space=_OWN),
        arrive(f"{line} _:out dropped, {_ADDRESS}", space=_ANY, version=sink),
        counted(f"{line} d:u64 sink, {_ADDRESS}, {_COUNT}", space=_OWN),
        counted(f"{line} _:out dropped, {_ADDRESS}, {_COUNT}", space=_ANY),
        expecting(f"{expect} d:u64 sink, {_ADDRESS}, txCount:u32", space=_OWN),
        expecting(f"{expect} _:out dropped, {_ADDRESS}, txCount:u32", space=_ANY),
        incomplete(f"{no_complete} d:u64, {_ADDRESS}, {_COUNT}"),
        incomplete(f"{no_complete} _:out dropped, {_ADDRESS}, {_COUNT}", version=sink),
    )


def _waits(what: str, version: str, target: str, parity: str, hint: str) -> tuple[Form, ...]:
    """The forms of `.test_wait` and `.try_wait`; `parity` is the version that brought that form."""
    wait = partial(
        _mbarrier,
        section="9.7.13.15.16",
        target=target,
        sem="acquire relaxed",
        scope="cta cluster",
        space=_OWN,
        needs=_SYNC_NEEDS,
        manual=_MANUAL,
        rules=_TOGETHER,
        absent={"sem": "acquire", "scope": "cta"},
    )
    rest = f"{{.sem}}{{.scope}}{{.space}}.b64 p, {_ADDRESS}"
    return (
        wait(f"mbarrier.{what}{rest}, state:u64{hint}", version=version, first=what),
        wait(f"mbarrier.{what}.parity{rest}, phaseParity:u32 0..1{hint}", version=parity, first=f"{what} parity"),
    )


FORMS = (
    _init(f"mbarrier.init{{.space}}.b64 {_ADDRESS}, count:u32", section="9.7.13.15.9", first="init"),
    _init(f"mbarrier.inval{{.space}}.b64 {_ADDRESS}", section="9.7.13.15.10", first="inval"),
    _transactions(f"mbarrier.expect_tx{{.sem}}{{.scope}}{{.space}}.b64 {_ADDRESS}, txCount:u32",
                  section="9.7.13.15.11", first="expect_tx"),
    _transactions(f"mbarrier.complete_tx{{.sem}}{{.scope}}{{.space}}.b64 {_ADDRESS}, txCount:u32",
                  section="9.7.13.15.12", first="complete_tx"),
    *_arrivals("arrive", "9.7.13.15.13", "7.1"),
    *_arrivals("arrive_drop", "9.7.13.15.14", "7.0"),
    _init("cp.async.mbarrier.arrive{.noinc}{.space}.b64 [addr:narrow]", section="9.7.13.15.15",
          first="async mbarrier arrive"),
    *_waits("test_wait", "7.0", "sm_80", "7.1", ""),
    *_waits("try_wait", "7.8", "sm_90", "7.8", ", suspendTimeHint?:u32"),
    Form("mbarrier.pending_count.b64 d:u32, state:u64", section="9.7.13.15.17", version="7.0", target="sm_80",
         first="pending_count"),
)  # fmt: skip

DIFFERENCES = (
    Difference(
        "9.7.13.15",
        "a semantics asks for a scope and a scope for a semantics, in every mbarrier operation that has them",
        "either may be left out; arrivals then release, waits acquire, and the scope is .cta",
    ),
    Difference(
        "9.7.13.15",
        ".relaxed asks for sm_90 in mbarrier.arrive, .arrive_drop, .test_wait and .try_wait",
        ".relaxed asks for PTX 8.6 alone",
    ),
    Difference(
        "9.7.13.15.14",
        "modifiers of mbarrier.arrive_drop.expect_tx stand in any order",
        "the space stands before semantics and scope there, unlike everywhere else",
    ),
    Difference(
        "9.7.13.15.13",
        "count must be positive where it is a constant, and has no upper bound; mbarrier.init takes any",
        "counts go from 1 to 2^20 - 1",
    ),
    Difference("9.7.13.15.13", "count may be a vector of any length", "count has 32 bits", checked=False),
)
