"""What may be typed at a place of a source so that it compiles to an edit of the PTX: candidates, the likeliest first.

None of them is believed: `proof` compiles and checks each. A candidate that does something else as well is found out there, or
is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product

from ptxmm.repair.cuda.accesses import accesses
from ptxmm.repair.cuda.arguments import by_more, last_arguments
from ptxmm.repair.cuda.code import CudaCode, CudaStatement
from ptxmm.repair.cuda.parities import parities
from ptxmm.repair.cuda.source_edits import Places, SourceEdits
from ptxmm.repair.cuda.spellings import (
    FENCE,
    FENCE_CALL,
    FENCES,
    FUNCTION,
    ORDERS,
    SCOPES,
    SUFFIXES,
    OrderNames,
    Spelling,
    fences,
    statements,
)
from ptxmm.repair.cuda.waits import waits
from ptxmm.repair.sites import COMPUTED, MOVE, PARITY, STATE, AwaitedMbarrier, TextEdit, Wanted

#: So many candidates of one change are looked at.
MOST = 12
#: What is taken away as a whole: a call of a fence or a barrier that stands alone.
_CALL = re.compile(
    r"(?:__threadfence\w*+|__sync(?:threads|warp)|(?>(?:\w++::)*)(?:atomic_thread_fence|fence\w*+|barrier_cluster_\w++|\w*+\(\)\.sync|\w++\.sync))"
    r"\s*+\([^;]*+;"
)
#: What is called, and which orders it may have, the weakest first; any other operation reads and writes.
_CALLED = re.compile(r"(\w++)\s*+\(")
_ANY_ORDER = ("relaxed", "acquire", "release", "acq_rel")
_MAY_HAVE = (
    ("fence", ("acquire", "release", "acq_rel")),
    ("load", ("relaxed", "acquire")),
    ("wait", ("relaxed", "acquire")),
    ("store", ("relaxed", "release")),
    ("clear", ("relaxed", "release")),
)
#: An arrival at a `cuda::barrier`, and one whose token is kept.
_ARRIVES = re.compile(r"\.\s*(arrive)\s*\(\s*\)")
_TOKEN = re.compile(r"\b(\w+)\s*=\s*([\w\[\].%+*/ -]+?)\s*\.\s*arrive\s*\(")
_ASM = re.compile(r"(?:asm|__asm__)\b[\s\w]*+\(")


def candidates(code: CudaCode, wanted: Wanted, here: Places, before: Places) -> list[SourceEdits]:
    """The candidates for a change at a statement that comes from `here`; what is put in may also stand behind the statement
    that comes `before`."""
    makers = {
        "order": (_orders, _far),
        "gone": (_gone, _sequential),
        "number": (_numbers, _counted),
        "bytes": (),
        COMPUTED: (_counted,),
        "word": (_assembler, _reading),
    }
    if wanted.awaited is not None:
        made = (c for c in _waiting(code, wanted.awaited, here, before))
    elif wanted.kind == "put":
        forms = statements(wanted.new, wanted.order, wanted.scope, "cuda::" in code.bare)
        made = (c for way in (_awaited(code, wanted, before), _put(code, forms, here, before)) for c in way)
    elif wanted.kind == PARITY:
        made = (c for c in parities(code, wanted, here))
    elif wanted.kind == MOVE:
        made = (c for c in _moved(code, here, before))
    else:
        statements_there = [s for place in here for s in code.at(*place)]
        made = (c for make in makers[wanted.kind] for s in statements_there for c in make(code, wanted, s))
    found: dict[SourceEdits, None] = {}
    for candidate in made:
        found.setdefault(candidate)
        if len(found) == MOST:
            break
    return list(found)


# Orders and scopes.


def _orders(code: CudaCode, wanted: Wanted, statement: CudaStatement) -> Iterator[SourceEdits]:
    """An access or a fence with another order or scope: by its words, or written another way."""
    yield from _assembler(code, wanted, statement)
    if wanted.family == "fence":
        yield from _sequential(code, wanted, statement)
        yield from _called_fences(code, wanted, statement)
        yield from _named_fences(code, wanted, statement)
    yield from _functions(code, wanted, statement)
    if not (wanted.family == "fence" and wanted.order != wanted.old_order and _operations(code, statement)):
        yield from _worded(code, wanted, statement, far=False)
    for edits in accesses(code, wanted, statement):
        yield SourceEdits(edits, ("cuda/atomic",))


def _assembler(code: CudaCode, wanted: Wanted, statement: CudaStatement) -> Iterator[SourceEdits]:
    """The instruction as it is written in `asm`."""
    pattern = re.compile(rf"(?<![\w.]){re.escape(wanted.old)}(?![\w.:])")
    for found in pattern.finditer(code.text, statement.start, statement.end) if wanted.old else ():
        if code.bare[found.start()] == " ":
            yield SourceEdits((TextEdit(found.start(), found.end(), wanted.new),))


def _reading(code: CudaCode, wanted: Wanted, statement: CudaStatement) -> Iterator[SourceEdits]:
    """A wait for the reading of bulk copies that is one for all of them."""
    old, new = (name.replace(".", "_") for name in (wanted.old, wanted.new))
    for found in re.finditer(rf"\b{old}\b", code.bare[statement.start : statement.end]):
        start = statement.start + found.start()
        yield SourceEdits((TextEdit(start, start + len(old), new),))


def _named_fences(code: CudaCode, wanted: Wanted, statement: CudaStatement) -> Iterator[SourceEdits]:
    if wanted.scope in FENCES:
        for found in FENCE.finditer(code.bare, statement.start, statement.end):
            if found[0] != FENCES[wanted.scope]:
                yield SourceEdits((TextEdit(found.start(), found.end(), FENCES[wanted.scope]),))


def _called_fences(code: CudaCode, wanted: Wanted, statement: CudaStatement) -> Iterator[SourceEdits]:
    """A fence that is called, as one whose order and scope are others: `__threadfence()` says neither."""
    called = FENCE_CALL.match(code.bare, statement.start, statement.end)
    if called is None or not wanted.order:
        return
    for form in fences(wanted.order, wanted.scope):
        edit = TextEdit(called.start(), called.end(), form.code.rstrip(";"))
        yield SourceEdits((edit,), (form.header,) if form.header else ())


def _sequential(code: CudaCode, wanted: Wanted, statement: CudaStatement) -> Iterator[SourceEdits]:
    """An operation that is sequentially consistent in a weaker order: `fence.sc` stands before its access. First what the
    fence becomes, else the weakest that such an operation may have."""
    if not wanted.old.startswith("fence.sc"):
        return
    for names, match in _operations(code, statement):
        called = _CALLED.findall(code.bare[statement.start : match.start()])
        may = next((orders for word, orders in _MAY_HAVE if called and word in called[-1]), _ANY_ORDER)
        for order in sorted(may, key=lambda order: order != wanted.order):
            yield SourceEdits((TextEdit(match.start(1), match.end(1), names.words[order]),))


def _operations(code: CudaCode, statement: CudaStatement) -> list[tuple[OrderNames, re.Match[str]]]:
    """The words for sequential consistency in a statement."""
    found = [(n, m) for n in ORDERS for m in n.pattern.finditer(code.bare, statement.start, statement.end)]
    return [(names, match) for names, match in found if match[1] == names.words["sc"]]


def _far(code: CudaCode, wanted: Wanted, statement: CudaStatement) -> Iterator[SourceEdits]:
    """A scope as it is declared elsewhere."""
    yield from _worded(code, wanted, statement, far=True)


def _worded(code: CudaCode, wanted: Wanted, statement: CudaStatement, far: bool) -> Iterator[SourceEdits]:
    """`cuda::memory_order_relaxed` and such, in the statement; the scopes there, or those that are declared elsewhere."""
    if "weak" in (wanted.old_order, wanted.order) or (far and wanted.scope == wanted.old_scope):
        return
    orders: list[TextEdit | None] = [None]
    if wanted.order != wanted.old_order:
        orders = list(_replaced(code, ORDERS, wanted.order, wanted.old_order, statement.start, statement.end))
    scopes: list[TextEdit | None] = [None]
    if wanted.scope and wanted.scope != wanted.old_scope:
        at, change = statement.start, (wanted.scope, wanted.old_scope)
        near = list(_replaced(code, SCOPES, *change, at, statement.end))
        others = [e for e in _replaced(code, SCOPES, *change, 0, len(code.text)) if e not in near]
        nearest = sorted(others, key=lambda e: (e.start > at, abs(e.start - at)))
        scopes = list(nearest if far else near)
    for edits in product(orders, scopes):
        if any(edits):
            yield SourceEdits(tuple(e for e in edits if e is not None))


def _replaced(
    code: CudaCode, several: Sequence[OrderNames], new: str, old: str, start: int, end: int
) -> Iterator[TextEdit]:
    """Words become others; first those that say what is there now."""
    found: list[tuple[bool, TextEdit]] = []
    for names in several:
        if new in names.words:
            for match in names.pattern.finditer(code.bare, start, end):
                if match[1] != names.words[new]:
                    other = match[1] != names.words.get(old)
                    found.append((other, TextEdit(match.start(1), match.end(1), names.words[new])))
    yield from (edit for _, edit in sorted(found))


def _functions(code: CudaCode, wanted: Wanted, statement: CudaStatement) -> Iterator[SourceEdits]:
    """`atomicAdd` and such in another scope, and with fences around them where their order is another."""
    if wanted.family not in ("atom", "red") or wanted.scope not in SUFFIXES:
        return
    for found in FUNCTION.finditer(code.bare, statement.start, statement.end):
        end = found.end(2) if found[2] else found.end(1)
        named = TextEdit(found.start(), end, f"atomic{found[1]}{SUFFIXES[wanted.scope]}")
        if wanted.order == "relaxed":
            yield SourceEdits((named,))
            continue
        fence = Spelling(f"{FENCES[wanted.scope]}();")
        around: list[TextEdit] = [named] if code.text[found.start() : end] != named.new else []
        if wanted.order in ("release", "acq_rel"):
            around += next(_ahead(code, statement, fence), ())
        if wanted.order in ("acquire", "acq_rel"):
            around += next(_behind(code, statement, fence), ())
        if around:
            yield SourceEdits(tuple(around))


# What is put in, taken away, or counted.


def _put(code: CudaCode, forms: Sequence[Spelling], here: Places, before: Places) -> Iterator[SourceEdits]:
    """Before the statement, behind the one that comes before it, and within what governs it: first where the calls that led to
    the two part, then within them, then further out."""
    at_calls, past_calls = here[::-1], before[::-1]
    deepest = max(len(here), len(before))
    parted = next((d for d in range(deepest) if at_calls[d : d + 1] != past_calls[d : d + 1]), deepest)
    for form in forms:
        headers = (form.header,) if form.header else ()
        for depth in (*range(parted, deepest), *reversed(range(parted))):
            at = [s for place in at_calls[depth : depth + 1] for s in code.at(*place)]
            past = [s for place in past_calls[depth : depth + 1] for s in code.at(*place)]
            ways = [*(_ahead(code, s, form) for s in at), *(_behind(code, s, form) for s in reversed(past)),
                    *(_inside(code, s, form) for s in at), *(_at_the_end(code, s, form) for s in (*past, *at))]  # fmt: skip
            for edits in (edits for way in ways for edits in way):
                yield SourceEdits(tuple(edits), headers)


def _awaited(code: CudaCode, wanted: Wanted, before: Places) -> Iterator[SourceEdits]:
    """Who arrives at a `cuda::barrier` waits, too, at once or with the token that it keeps."""
    if wanted.family != STATE:
        return
    for statement in (s for place in before for s in code.at(*place)):
        kept = _TOKEN.search(code.bare, statement.start, statement.end)
        if kept is not None and (end := code.behind(statement)) is not None:
            said = f"{code.text[kept.start(2) : kept.end(2)]}.wait(std::move({kept[1]}));"
            yield SourceEdits((_line_behind(code, end, code.indent(statement.start) + said),), ("utility",))
        for found in _ARRIVES.finditer(code.bare, statement.start, statement.end):
            yield SourceEdits((TextEdit(found.start(1), found.end(1), "arrive_and_wait"),))


def _waiting(code: CudaCode, awaited: AwaitedMbarrier, here: Places, before: Places) -> Iterator[SourceEdits]:
    """A wait for an mbarrier, in each of the ways that it may be written: first where it stands likeliest, and the likeliest
    way."""
    place = next((s.start for at in here for s in code.at(*at)), None)
    if place is None:
        return
    ranked = [
        (way + where, way, edits)
        for way, form in enumerate(waits(code, awaited, place))
        for where, edits in enumerate(_put(code, [form], here, before))
    ]
    yield from (edits for _, _, edits in sorted(ranked, key=lambda one: one[:2]))


def _moved(code: CudaCode, here: Places, behind: Places) -> Iterator[SourceEdits]:
    """A statement that is all of its lines comes behind a later one of its block, or behind what holds that."""
    for place, past in product(here, behind):
        for statement, other in product(code.at(*place)[:1], code.at(*past)[:1]):
            later = code.holding(other, code.block(statement.start))
            end = None if later is None else code.behind(later)
            movable = statement.closer == ";" and code.in_function(statement.start) and code.is_alone(statement)
            if movable and later is not None and end is not None and later.start >= statement.end:
                first, last = code.line_start(statement.start), statement.end
                put = f"\n{code.text[first:last]}"
                gone = TextEdit(first, last + len(code.text[last:].partition("\n")[0]) + 1, "")
                yield SourceEdits((gone, TextEdit(end, end, put)))


def _ahead(code: CudaCode, statement: CudaStatement, form: Spelling) -> Iterator[list[TextEdit]]:
    start = statement.start
    if code.in_function(start) and not re.match(r"(?:else|case|default)\b", code.bare[start:]):
        yield [_line_before(code, start, form.code)]


def _behind(code: CudaCode, statement: CudaStatement, form: Spelling) -> Iterator[list[TextEdit]]:
    end = code.behind(statement)
    if end is not None and code.in_function(statement.start):
        yield [_line_behind(code, end, code.indent(statement.start) + form.code)]


def _inside(code: CudaCode, statement: CudaStatement, form: Spelling) -> Iterator[list[TextEdit]]:
    """Within an `if` or a loop: before what it governs, which gets braces, or at the start of its block."""
    if statement.closer == ";":
        body = code.body(statement)
        if body is not None:
            yield [TextEdit(body, body, f"{{ {form.code} "), TextEdit(statement.end, statement.end, " }")]
    elif code.in_function(statement.end):
        yield [TextEdit(statement.end, statement.end, f"\n{code.indent(statement.start)}    {form.code}")]


def _at_the_end(code: CudaCode, statement: CudaStatement, form: Spelling) -> Iterator[list[TextEdit]]:
    """At the end of the block that a head begins."""
    if statement.closer == "{" and (close := code.partner.get(statement.end - 1)) is not None:
        yield [_line_before(code, close, f"    {form.code}")]


def _line_behind(code: CudaCode, offset: int, new: str) -> TextEdit:
    """A line of its own behind what ends a line, and a comment that is there; else the same line."""
    rest = code.bare[offset:].partition("\n")[0]
    if rest.strip():
        return TextEdit(offset, offset, f" {new.lstrip()}")
    last = offset + len(rest)
    at = last if code.text[offset:last].lstrip().startswith("//") and code.text[last - 1] != "\\" else offset
    return TextEdit(at, at, f"\n{new}")


def _line_before(code: CudaCode, offset: int, new: str) -> TextEdit:
    """A line of its own before what begins a line; else the same line."""
    first = code.line_start(offset)
    if code.text[first:offset].strip():
        return TextEdit(offset, offset, f"{new.lstrip()} ")
    return TextEdit(first, first, f"{code.text[first:offset]}{new}\n")


def _gone(code: CudaCode, wanted: Wanted, statement: CudaStatement) -> Iterator[SourceEdits]:
    """A fence or a barrier, where it is all that a statement does."""
    plain = _CALL.fullmatch(code.bare, statement.start, statement.end)
    alone = (
        _ASM.match(code.bare, statement.start, statement.end)
        and f'"{wanted.old}' in code.text[statement.start : statement.end]
    )
    if (plain or alone) and code.in_function(statement.start):
        first = code.line_start(statement.start)
        rest = code.text[statement.end :].partition("\n")[0]
        whole = not code.text[first : statement.start].strip() and not rest.strip()
        end = statement.end + len(rest) + 1 if whole else statement.end
        yield SourceEdits((TextEdit(first if whole else statement.start, end, ""),))


def _numbers(code: CudaCode, wanted: Wanted, statement: CudaStatement) -> Iterator[SourceEdits]:
    """A number, wherever the statement says it: in `asm`, too."""
    pattern = re.compile(rf"(?<![\w.%]){re.escape(wanted.old)}(?=[uUlL]*(?![\w.]))")
    for found in pattern.finditer(code.text, statement.start, statement.end):
        yield SourceEdits((TextEdit(found.start(), found.end(), wanted.new),))


def _counted(code: CudaCode, wanted: Wanted, statement: CudaStatement) -> Iterator[SourceEdits]:
    """A number that is computed, or has a name, where a call is handed it: so much more or less."""
    for start, end in last_arguments(code, statement):
        more = int(wanted.new) - int(wanted.old)
        yield SourceEdits((TextEdit(start, end, by_more(code.text[start:end], more)),))
