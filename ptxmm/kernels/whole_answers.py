"""What the checks of a kernel test answer where runs of all its threads decide them: by all outcomes, by one, or by one that
fails."""

from __future__ import annotations

from collections.abc import Callable

from ptxmm.answers import Coverage, own_verdict_of, settle, verdict_of
from ptxmm.kernels.broken import broken_elements
from ptxmm.kernels.launch import Buffer
from ptxmm.kernels.numbers import Declared
from ptxmm.kernels.runs import FinalValues, open_elements, truth
from ptxmm.kernels.several import FinalStates
from ptxmm.kernels.test import Check, KernelTest
from ptxmm.kernels.whole_contents import OPEN_KINDS, ContentsOfRuns
from ptxmm.result import Checked, Result, observation_of
from ptxmm.words import checks as words
from ptxmm.words import whole as told


def tell_all(
    test: KernelTest, result: Result, several: FinalStates, differing: Callable[[str, list[str]], str] = told.of_places
) -> None:
    """All outcomes, in which all threads end: every check answers by them, but those that are about what may differ, of which
    `differing` says why. (Some may not be told that are as the checks want them.)"""
    states = several.states
    declared = Declared(p for p in test.parameters if isinstance(p, Buffer))
    shown = [declared.state(state) if declared.types else state for state in states]
    safe = [check for check in test.checks if check.kind in ("forall", "never")]
    for checked, check in zip(result.checks, test.checks, strict=True):
        truths = [truth(test, check, state) for state in states]
        wanted = check.kind == "exists"
        at = truths.index(wanted) if wanted in truths else 0
        open_ = open_elements(test, check, states[at], several.differing, several.orders)
        if truths[at] is not wanted and open_:
            message = differing(checked.text, sorted(open_))
            checked.message = told.OtherOrders(message)
        else:
            _answer(test, checked, check, truths[at], shown[at])
    result.verdict, result.own = verdict_of(result.checks), own_verdict_of(result.checks)
    if result.verdict == "undecided":
        result.error = next(c.message for c in result.checks if c.holds is None)
    result.states, result.complete, result.runs = shown, True, several.runs
    result.listed_all = not (several.beyond or several.differing)
    asked = safe or [check for check in test.checks if check.kind == "exists"]
    if asked:
        holds = [all(truth(test, check, state) for check in asked) for state in states]
        result.satisfied, result.positive, result.negative = holds, holds.count(True), holds.count(False)
        result.kind = "forall" if safe else "exists"
        result.condition = " && ".join(check.condition for check in asked)
        if result.listed_all or several.beyond or (result.positive and result.negative):
            result.observation = observation_of(result.positive, result.negative)


def tell(test: KernelTest, result: Result, contents: ContentsOfRuns, additions: int) -> None:
    """One outcome, or with open contents one of those with each, in which all threads end: every check answers by it.
    `additions`: to each place where the order decides what they come to, at least."""
    declared = Declared(contents.buffers)
    states = [state for i, state in enumerate(contents.states) if state not in contents.states[:i]]
    truths = [truth(test, check, states[0]) for check in test.checks if check.expression is not None]
    safe = [check for check in test.checks if check.kind in ("forall", "never")]
    for checked, check in zip(result.checks, test.checks, strict=True):
        existential = check.kind == "exists" or not check.wanted
        state = next((s for s in states if truth(test, check, s) is existential), None)
        open_ = contents.open_in(check) if state is None else []
        orders = contents.open_sources(check, "order") if state is None else []
        if products := contents.open_sources(check, "product"):
            checked.message = told.of_products(checked.text, products)
        elif addresses := contents.open_sources(check, "allocation"):
            checked.message = told.of_addresses(checked.text, addresses)
        elif orders:
            checked.message = told.of_order(checked.text, orders, additions)
            checked.spots = [(spot, told.BY_ORDER) for spot in contents.open_spots(check, "order")]
        elif open_:
            checked.message = told.of_contents(checked.text, open_)
        else:
            shown = states[0] if state is None else state
            _answer(test, checked, check, truth(test, check, shown), declared.state(shown))
            if checked.holds is False and state is not None:
                checked.linearisation = contents.begins(state)
    result.verdict, result.own = verdict_of(result.checks), own_verdict_of(result.checks)
    if result.verdict == "undecided":
        result.error = next(c.message for c in result.checks if c.holds is None)
    result.listed_all = not any(
        contents.open_in(check) or any(contents.open_sources(check, kind) for kind in OPEN_KINDS)
        for check in test.checks
    )
    result.states, result.complete, result.runs = list(map(declared.state, states)), True, len(contents.states)
    if truths:
        asked = safe or [check for check in test.checks if check.kind == "exists"]
        result.satisfied = [all(truth(test, check, state) for check in asked) for state in states]
        result.positive, result.negative = result.satisfied.count(True), result.satisfied.count(False)
        result.kind = "forall" if safe else "exists"
        result.condition = " && ".join(check.condition for check in asked)
        if result.listed_all or (result.positive and result.negative):
            result.observation = observation_of(result.positive, result.negative)


def all_hold(test: KernelTest, states: list[FinalValues]) -> bool:
    """Whether no check asks for an execution, and none of the outcomes is against one."""
    universal = all(check.kind != "exists" and check.wanted for check in test.checks)
    return universal and all(truth(test, check, state) for check in test.checks for state in states)


def tell_failed(test: KernelTest, result: Result, state: FinalValues | None) -> None:
    """One execution that is against a check, with its outcome where it terminates; of the others nothing is known."""
    declared = Declared(p for p in test.parameters if isinstance(p, Buffer))
    shown = {} if state is None else declared.state(state) if declared.types else state
    for checked, check in zip(result.checks, test.checks, strict=True):
        if state is None and check.kind == "terminates" and check.wanted:
            checked.holds = False  # who waits where the caller tells
        elif state is not None and check.kind in ("forall", "never") and not truth(test, check, state):
            _answer(test, checked, check, False, shown)
        else:
            checked.message = told.not_looked_at(checked.text)
    if verdict_of(result.checks) != "no":
        for checked in result.checks:
            checked.holds, checked.message = None, ""
        return
    result.verdict, result.own, result.runs = "no", own_verdict_of(result.checks), 1
    result.listed_all = False
    result.states = [shown] if state is not None else []


def _answer(test: KernelTest, checked: Checked, check: Check, holds: bool, state: FinalValues) -> None:
    existential = check.kind == "exists" or not check.wanted
    settle(checked, Coverage.COMPLETE, shown=holds is existential, existential=existential)
    if checked.holds:
        return
    if check.kind in ("forall", "never"):
        checked.state, checked.message = state, words.broken(checked, broken_elements(test, check, state))
    elif check.kind == "exists":
        checked.message, checked.linearisation = words.unsatisfied(checked), [words.state_of(state)]
    elif check.kind == "race_free":
        checked.message = words.raceless(checked)
    else:
        checked.message = words.goes_on(checked)
