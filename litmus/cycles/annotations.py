"""What an edge may say of the events at its ends: order, scope, and how the access is made (`.rel.gpu`, `.atom`, `.alias`)."""

from __future__ import annotations

from functools import lru_cache

from ptxcore.places import SCOPES
from ptxcore.records import dataclass

#: Orders of an event by the words that stand for them, the short one (in names and `Cycle=`) first.
_WORDS = {
    "weak": ("weak",),
    "relaxed": ("rlx", "relaxed"),
    "acquire": ("acq", "acquire"),
    "release": ("rel", "release"),
    "acq_rel": ("acq_rel",),
    "volatile": ("vol", "volatile"),
}
SEMANTICS = {word: semantics for semantics, words in _WORDS.items() for word in words}
SHORT = {semantics: words[0] for semantics, words in _WORDS.items()}
#: The orders that have no scope.
UNSCOPED = ("weak", "volatile")
OPERATIONS = ("atom", "red", "cp", "bulk", "reduce", "stasync")
#: Those by which an asynchronous operation makes the access; and of these the ones that only write.
COPIES = ("cp", "bulk", "reduce", "stasync")
WRITING = {"reduce": "a reduction by a copy returns nothing", "stasync": "st.async stores"}
#: Ways to a location beside its own name. `alias` is another virtual address of it.
WAYS = ("alias", "const")
#: Stands for the end of an edge of which nothing is said.
NOTHING = "_"
_FIT = {"R": ("weak", "relaxed", "acquire", "volatile"), "W": ("weak", "relaxed", "release", "volatile")}


@dataclass(frozen=True, slots=True, order=True)
class Annotation:
    """What is said of an event. `semantics` "" is what is said of none: `relaxed` at scope `sys`. `scope` goes with the
    semantics; `operation` is one of `OPERATIONS`, `way` one of `WAYS`."""

    semantics: str = ""
    scope: str = ""
    operation: str = ""
    way: str = ""

    def __str__(self) -> str:
        words = (SHORT.get(self.semantics, ""), self.scope, self.operation, self.way)
        return ".".join(filter(None, words)) or NOTHING


PLAIN = Annotation()


class Unfit(ValueError):
    """Two things that are said of one event, or of an event that cannot be so."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def read_annotations(words: list[str]) -> list[Annotation]:
    """The annotations that the words behind an edge make, each of an order with its scope, an operation, a way.

    Raises `Unfit` for a word that is none, a scope without an order, an order without its scope.
    """
    found: list[Annotation] = []
    at = 0
    while at < len(words):
        annotation, at = _read_one(words, at)
        found.append(annotation)
    return found


def _read_one(words: list[str], at: int) -> tuple[Annotation, int]:
    start = at
    if words[at] == NOTHING:
        return PLAIN, at + 1
    semantics = scope = operation = way = ""
    if words[at] in SEMANTICS or words[at] == "*":
        semantics = SEMANTICS.get(words[at], "*")
        at += 1
        if semantics not in UNSCOPED:
            if at == len(words) or words[at] not in (*SCOPES, "*"):
                raise Unfit(
                    f"'{words[at - 1]}' needs a scope",
                    f"as in .{words[at - 1]}.gpu; the scopes are cta, cluster, gpu, sys",
                )
            scope = words[at]
            at += 1
    if at < len(words) and words[at] in OPERATIONS and not (semantics and words[at] in COPIES):
        operation = words[at]
        at += 1
    if at < len(words) and words[at] in WAYS:
        way = words[at]
        at += 1
    if at == start:
        if words[at] in SCOPES:
            raise Unfit(f"the scope '{words[at]}' stands behind an order", f"as in .rlx.{words[at]}")
        known = (*SEMANTICS, *OPERATIONS, *WAYS)
        raise Unfit(f"'{words[at]}' says nothing of an event", f"what may be said: {', '.join(known)}")
    return Annotation(semantics, scope, operation, way), at


@lru_cache(maxsize=4096)
def merged(a: Annotation, b: Annotation) -> Annotation:
    """What two edges say together of the event between them. Raises `Unfit` where they say different things."""
    semantics, scope = (a.semantics, a.scope) if a.semantics else (b.semantics, b.scope)
    if a.semantics and b.semantics and (a.semantics, a.scope) != (b.semantics, b.scope):
        raise Unfit(f"the event is '{a}' by the edge before and '{b}' by this one")
    if (a.operation and b.operation and a.operation != b.operation) or (a.way and b.way and a.way != b.way):
        raise Unfit(f"the event is '{a}' by the edge before and '{b}' by this one")
    return Annotation(semantics, scope, a.operation or b.operation, a.way or b.way)


@lru_cache(maxsize=4096)
def settled(annotation: Annotation, direction: str) -> Annotation:
    """The annotation of an event of this direction, `relaxed.sys` left unsaid. Raises `Unfit` where it cannot be so.

    An event of both directions (`RW`) is an atomic operation that reads and writes; of one that is not known (`*`) anything
    may be said.
    """
    semantics, operation = annotation.semantics, annotation.operation
    if direction == "*":
        return annotation
    what = {"R": "a read", "W": "a write", "RW": "an atomic operation"}[direction]
    fit = (*_FIT["R"], "release", "acq_rel") if direction == "RW" else _FIT[direction]
    if semantics and semantics not in fit:
        raise Unfit(f"{what} cannot be '{SHORT[semantics]}'", f"{what} can be {', '.join(SHORT[s] for s in fit)}")
    if operation in COPIES:
        if direction == "RW" or semantics not in ("", "weak") or annotation.way:
            raise Unfit(
                f"{what} as '{annotation}' cannot be made by a copy", "a copy reads or writes, and has no order"
            )
        if operation in WRITING and direction != "W":
            raise Unfit(f"{what} cannot be a '{operation}'", f"{WRITING[operation]}: it is a write")
        return Annotation("", "", operation, "")
    atomic = operation or (direction == "RW")
    if atomic and semantics in UNSCOPED:
        raise Unfit(f"an atomic operation cannot be '{SHORT[semantics]}'", "it can be rlx, acq, rel or acq_rel")
    if operation == "red" and (direction != "W" or semantics not in ("", "relaxed", "release")):
        raise Unfit(f"{what} cannot be a 'red'", "a reduction writes and returns nothing: it is a write, rlx or rel")
    if annotation.way == "const" and (direction != "R" or operation or semantics not in ("", "weak")):
        raise Unfit(f"{what} as '{annotation}' cannot go through constant memory", "only weak reads can")
    if annotation.way == "const":
        semantics = "weak"
    if (semantics, annotation.scope) == ("relaxed", "sys"):
        return Annotation("", "", operation, annotation.way)
    return Annotation(semantics, "" if semantics in UNSCOPED else annotation.scope, operation, annotation.way)


def expanded(annotation: Annotation) -> list[Annotation]:
    """What an annotation with `*` for its order or scope stands for."""
    found = []
    for semantics in SHORT if annotation.semantics == "*" else (annotation.semantics,):
        scopes: tuple[str, ...] = SCOPES if annotation.scope == "*" else (annotation.scope,)
        for scope in ("",) if semantics in UNSCOPED else scopes:
            found.append(Annotation(semantics, scope, annotation.operation, annotation.way))
    return found
