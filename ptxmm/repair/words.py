"""Repairs and weakenings told: in text, as a diff, as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ptxmm.diffs import filed, hunks_of, unified
from ptxmm.repair.building import REPAIR
from ptxmm.repair.found import Answer, Change, Found, Need
from ptxmm.repair.stages import Stage, TriedStage

#: What texts were tried by.
_STAGES = {
    Stage.SMALLER: "in smaller launches of the kernel",
    Stage.LINES: "by what the lines of the fault lead to",
    Stage.ABOVE: "with all there is as strong as can be, then less of it",
    Stage.BARRIERS: "with one barrier put in",
    Stage.CHEAPEST: "by sets of changes, the cheapest first",
    Stage.ARRIVALS: "by sets of changes with more arrivals, the cheapest first",
}
#: What stands before the lines of a diff that is only to be looked at.
_QUOTE = "    |"


def diff(answer: Answer, found: Found) -> str:
    """What changes in the file, as a unified diff; of a text that is in no file of the user's, without a file's name."""
    subject = answer.subject
    if subject.applies:
        return unified(subject.path, *filed(subject.path, subject.text, found.text))
    return hunks_of(subject.text, found.text)


def source_diff(found: Found) -> str:
    """What changes in the source, where an edit of it is proven; else nothing."""
    source = found.source
    if source is None or not source.text:
        return ""
    return unified(source.path, *filed(source.path, source.old, source.text))


def text(answer: Answer, width: int = 0) -> str:
    """The report of one test, for people; prose is wrapped to a `width`, where one is given, and diffs are not."""
    from ptxmm.words.brief import wrapped

    fitted = (
        part for line in _lines(answer) for part in (wrapped(line, width) if width and _is_prose(line) else [line])
    )
    return "\n".join(fitted) + "\n"


def _is_prose(line: str) -> bool:
    """A diff is one item of several lines; its lines in quotes are marked."""
    return "\n" not in line and not line.startswith(_QUOTE)


def _lines(answer: Answer) -> Iterator[str]:
    subject, repair = answer.subject, answer.mode == REPAIR
    yield f"{answer.mode}  {subject.name}"
    for claim in subject.claims:
        yield f"    {claim}{'  (fails as it is)' if claim in answer.base.failed else ''}"
    for note in subject.notes:
        yield f"    note: {note}"
    if repair and answer.base.holds is False and not set(answer.base.failed) & set(subject.claims):
        yield f"    fails as it is: {answer.base.reason or ', '.join(answer.base.failed)}"
    if answer.base.holds is None:
        yield f"    nobody knows whether this holds as it is: {answer.base.reason or answer.stopped}"
        return
    if answer.base.holds == repair:
        yield f"    {_nothing_to_do(answer)}"
        return
    for number, found in enumerate(answer.found, 1):
        yield ""
        yield title(answer, number, found)
        for change in found.changes:
            yield from _told(change, found)
        if not repair:
            yield from _rests_on(found.needs, "what is left")
        if found.larger.words:
            yield f"    {found.larger.words}{_for_its_launch(answer, found)}"
        yield from _in_source(found)
        yield from _in_text(answer, found)
    if answer.found:
        yield ""
    yield from _end(answer)
    yield from _rests_on(answer.needs, "what is there")


def _for_its_launch(answer: Answer, found: Found) -> str:
    """Why a repair that fails in a larger launch is one all the same."""
    if found.larger.holds is not False:
        return ""
    if answer.found[0].both:
        return "; repair 1 holds there, too"
    return "; a kernel that is written for the launch given may be right all the same"


def _told(change: Change, found: Found) -> Iterator[str]:
    """A change, at the line of the source first, where there is one: in words of the source, unless what is typed there is
    proven and shown, which may be spelled otherwise."""
    statement = f"{change.who} line {change.line}: {change.words}"
    typed = found.source is not None and found.source.text
    first = change.place if typed else change.source
    if not first:
        yield f"    {statement}"
    else:
        yield f"    {first}"
        yield f"        {statement}"


def _in_text(answer: Answer, found: Found) -> Iterator[str]:
    """What changes in the text that was searched. Where that is in no file of the user's, the edits above say it all beside a
    diff of the source; else it is shown as what no program applies."""
    if answer.subject.applies:
        yield diff(answer, found).rstrip("\n")
    elif not source_diff(found):
        yield from (f"{_QUOTE} {line}".rstrip() for line in diff(answer, found).rstrip("\n").split("\n"))


def _in_source(found: Found) -> Iterator[str]:
    if found.source is None:
        return
    if not found.source.text:
        yield f"    in CUDA C++: {found.source.why}"
        return
    holds = "holds within the bounds of loops, which is no proof" if found.source.bounded else "proven by check"
    yield f"in CUDA C++, compiled again and {holds}:"
    yield source_diff(found).rstrip("\n")


def _nothing_to_do(answer: Answer) -> str:
    if answer.mode == REPAIR:
        return f"everything holds as it is{', within the bounds of loops' if answer.base.bounded else ''}: nothing to repair"
    reason = f": {answer.base.reason}" if answer.base.reason else ""
    return f"not everything holds as it is{reason}; ptxmm repair comes first"


def title(answer: Answer, number: int, found: Found) -> str:
    """What was found, in one line."""
    edits = _counted(len(found.changes), "edit")
    proven = "holds within the bounds of loops, which is no proof" if found.bounded else "proven by check"
    if answer.mode == REPAIR:
        least = "; nothing of it can be left out or weaker" if found.minimal else "; whether less would do is not known"
        proven += " on both launches" * found.both
        first = "" if found.cheapest else "; there may be a cheaper one"
        return f"repair {number}: {edits}, cost {found.cost}, {proven}{least}{first}"
    most = "; nothing more can be weaker" if found.minimal else "; whether more can be weaker is not known"
    return f"weakening {number}: {edits}, {proven}{most}"


def _rests_on(needs: tuple[Need, ...], what: str) -> Iterator[str]:
    if needs:
        yield f"    {what} is needed:"
    for need in needs:
        yield f"      {need.who} line {need.line}: if {need.words}: {_fails(need)}"


def _fails(need: Need) -> str:
    if not need.failed:
        return "nobody knows what holds"
    undecided = f" (not decided: {', '.join(need.undecided)})" if need.undecided else ""
    where = f" on {need.launch}" if need.launch else ""
    return f"{', '.join(need.failed)} fail{'s' * (len(need.failed) == 1)}{where}{undecided}"


#: Of what no set of changes mends, where neither arrivals nor more edits are what is lacking.
_NO_ORDER = (
    "no order, scope, fence or barrier among these mends it: look for an operation that is missing or too narrow, "
    "or a value, an address or a condition that is another one than is meant; ptxmm check shows an execution"
)


def _end(answer: Answer) -> Iterator[str]:
    looked = f"({_counted(answer.options, 'change')} at {_counted(answer.sites, 'place')} considered)"
    what = answer.mode if answer.mode == REPAIR else "weakening"
    bound = f" of up to {_counted(answer.most, 'edit')}" if answer.most is not None and answer.mode == REPAIR else ""
    more = f"there may be other {what}s" if answer.found else f"there may be a {what}"
    if answer.upside_down:
        yield f"a weaker text held where a stronger one failed: {more} {looked}"
    elif answer.stopped:
        after = f" after {answer.seconds:.3g} s" if answer.seconds >= 1 else ""
        yield f"{answer.stopped}{after}: {more} {looked}"
        if not answer.found:
            yield from (f"tried: {_tried(stage)}" for stage in answer.tried)
    elif answer.undecided:
        yield f"{_counted(answer.undecided, 'text')} undecided: {more} {looked}"
    elif answer.found and answer.found[0].wide:
        alone = ", on the launch given alone" if answer.found[0].both else ""
        yield f"repair 2 is the cheapest of the changes considered{alone}; --all lists the others {looked}"
    elif not answer.complete:
        yield f"the cheapest of the changes considered; --all lists the others {looked}"
    elif answer.found:
        yield f"there is no other {what}{bound} {looked}"
    elif answer.mode == REPAIR:
        few = f", with up to {_counted(answer.arrivals, 'more arrival')}," if answer.arrivals is not None else ""
        yield f"no repair{bound}: of the changes considered{few} no set is enough {looked}"
        if answer.most is None and answer.arrivals is None:
            yield _NO_ORDER
    else:
        yield f"nothing can be weaker {looked}"
    for reason in answer.reasons:
        yield f"undecided: {reason}"
    for left in _not_considered(answer):
        yield f"not considered: {left}"


def _tried(tried: TriedStage) -> str:
    return f"{_counted(tried.texts, 'text')} {_STAGES[tried.stage]}, {tried.seconds:.3g} s"


def _not_considered(answer: Answer) -> list[str]:
    """What is not among the changes; of a repair that was not found, also what never is."""
    beyond = answer.subject.beyond if answer.mode == REPAIR and not answer.found else ()
    return [*answer.subject.left_out, *beyond]


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def document(answer: Answer) -> dict[str, Any]:
    """The report of one test, as data."""
    subject = answer.subject
    needs = {} if answer.mode == REPAIR else {"needs": _listed(answer.needs)}
    return {
        "name": subject.name,
        "path": subject.path,
        "claims": list(subject.claims),
        "holds": answer.base.holds,
        "failed": list(answer.base.failed),
        "complete": answer.complete,
        "stopped": answer.stopped,
        "undecided": answer.undecided,
        "max_edits": answer.most,
        "checked": answer.asked,
        "tried": [{"how": _STAGES[t.stage], "texts": t.texts, "seconds": round(t.seconds, 3)} for t in answer.tried],
        "places": answer.sites,
        "changes_considered": answer.options,
        "notes": subject.notes,
        "not_considered": _not_considered(answer),
        f"{answer.mode}s": [_found(answer, found) for found in answer.found],
        **needs,
    }


def _found(answer: Answer, found: Found) -> dict[str, Any]:
    return {
        "cost": found.cost,
        "bounded": found.bounded,
        "minimal": found.minimal,
        "cheapest": found.cheapest,
        "larger": found.larger.words,
        "larger_holds": found.larger.holds,
        "edits": [{"in": c.who, "line": c.line, "what": c.words, "source": c.source} for c in found.changes],
        "needs": _listed(found.needs),
        "diff": diff(answer, found),
        "applies": answer.subject.applies,
        "source": _source(found),
    }


def _listed(needs: tuple[Need, ...]) -> list[dict[str, Any]]:
    return [
        {
            "in": n.who,
            "line": n.line,
            "without": n.words,
            "fails": list(n.failed),
            "undecided": list(n.undecided),
            "on": n.launch,
        }
        for n in needs
    ]


def _source(found: Found) -> dict[str, Any] | None:
    if found.source is None:
        return None
    proven = bool(found.source.text) and not found.source.bounded
    return {"path": found.source.path, "proven": proven, "diff": source_diff(found), "why_not": found.source.why}
