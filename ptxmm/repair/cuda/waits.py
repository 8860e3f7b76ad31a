"""Waits for an mbarrier, as a source may write them: as it waits elsewhere, with the objects that it has and their parities.

Which object of the source is that of the module, and which expression is a parity that a register holds, the PTX shows in part:
a variable has its name there. What is likeliest comes first; each is compiled and checked, as all that may be typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptxcore.records import NamedTuple
from ptxmm.repair.cuda.arguments import arguments_of
from ptxmm.repair.cuda.code import CudaCode
from ptxmm.repair.cuda.parities import counters, other_parity
from ptxmm.repair.cuda.spellings import Spelling
from ptxmm.repair.parity_sites import in_words
from ptxmm.repair.sites import AwaitedMbarrier

#: Calls about an mbarrier, and those that wait for a phase by its parity.
_ABOUT = re.compile(r"\b((?:\w+::)*\w*(?:init|arrive|wait|expect|bulk|tensor|commit)\w*)\s*\(")
_BY_PARITY = re.compile(r"(?:try|test)_wait_parity|wait_parity")
_COPIES = re.compile("bulk|tensor")
_METHOD = re.compile(r"([A-Za-z_]\w*(?:\[[^\[\]]*\])?)\s*\.\s*(?:arrive|wait|try_wait)\w*\s*\(")
_PIPELINE = re.compile(r"\b(\w+)\s*=\s*(?:cuda::|nvcuda::)?make_pipeline\s*\(")
_OBJECT = re.compile(r"&\s*[A-Za-z_]\w*(?:\[[^\[\]]*\])*|[A-Za-z_]\w*(?:\s*\+\s*\w+)?\Z")
_ROOT = re.compile(r"[A-Za-z_]\w*")
_DEFINED = re.compile(r"\b([A-Za-z_]\w*)\s*\([^;{}()]*\)\s*\Z")
#: What is no expression: a declaration, an address, a text, a name of a library.
_NO_PARITY = re.compile(r'[A-Za-z_]\w*\s+[*&]*\s*[A-Za-z_]|^\s*&|"|::')
#: So many turns pass before a parity changes, where nothing says how many: the stages of a buffer.
_EVERY = (1, 2)
#: So many waits are written at most.
_MOST = 8


class _Form(NamedTuple):
    """A way to wait: `{object}` and `{parity}` stand for what is waited for, the former an address or (`bare`) the object."""

    text: str
    header: str = ""
    bare: bool = False


def waits(code: CudaCode, awaited: AwaitedMbarrier, offset: int) -> list[Spelling]:
    """Statements that wait for what is awaited, at a place of a source; the likeliest first."""
    start = _function_at(code, offset)
    seen = f"{_open_at(code, start, offset)} {_outside(code)}"
    nearest = sorted(_objects(code), key=lambda found: abs(found[0] - offset))
    objects = [o for o in dict.fromkeys(text for _, text in nearest) if _visible(o, seen)]
    objects = [o for o in objects if _named_so(o, awaited.about)] or objects
    found: dict[Spelling, int] = {}
    for p, parity in enumerate(_parities(code, awaited.parity, offset, seen)):
        for o, each in enumerate(objects):
            for f, form in enumerate(_forms(code)):
                text = form.text.replace("{object}", each.lstrip("& ") if form.bare else each).replace(
                    "{parity}", parity
                )
                found.setdefault(Spelling(text, form.header), o + p + f)
    ahead = [Spelling(f"{name}.consumer_wait();") for name in _PIPELINE.findall(code.bare[start:offset])]
    behind = [
        Spelling(f"{o.lstrip('& ')}.arrive_and_wait();")
        for o in objects
        if "arrive_and_wait" in code.bare or _of_class(code)
    ]
    several = sorted(found, key=lambda spelling: found[spelling])
    return [*ahead, *several[: _MOST - min(len(behind), 2)], *behind[:2]]


def _forms(code: CudaCode) -> Iterator[_Form]:
    """The ways in which a source waits by parity: by functions of its own, then by what they call; and such as it may."""
    own = set[str]()
    for statement in code.statements:
        head = _DEFINED.search(code.bare, statement.start, statement.end - 1) if statement.closer == "{" else None
        if head is not None and _BY_PARITY.search(code.text, statement.end, code.partner.get(statement.end - 1, -1)):
            own.add(head[1])
    found = {_Form(f"{name}({{object}}, {{parity}});"): None for name in sorted(own)}
    ptx = re.search(r"\b((?:\w+::)*)mbarrier_try_wait_parity\s*\(", code.bare)
    alias = re.search(r"\bnamespace\s+(\w+)\s*=\s*cuda::ptx\s*;", code.bare)
    prefix = ptx[1] if ptx is not None else f"{alias[1]}::" if alias is not None else "cuda::ptx::"
    native = _Form(f"while (!{prefix}mbarrier_try_wait_parity({{object}}, {{parity}})) ;", "cuda/ptx")
    if _of_class(code):
        found[_Form("{object}.wait_parity({parity});", "cuda/barrier", bare=True)] = None
    else:
        found[native] = None
    yield from found


def _of_class(code: CudaCode) -> bool:
    """Whether mbarriers are objects of `cuda::barrier`."""
    return re.search(r"\bcuda::barrier\s*<", code.bare) is not None


def _objects(code: CudaCode) -> Iterator[tuple[int, str]]:
    """What may be an mbarrier, and where: what calls about such are handed the address of, or have one called of."""
    for call in _ABOUT.finditer(code.bare):
        for start, end in arguments_of(code, call.end() - 1):
            plain = code.bare[start : start + 1] != "&"
            if _OBJECT.fullmatch(code.bare, start, end) and not (plain and _COPIES.search(call[1])):
                yield start, code.text[start:end]
    for call in _METHOD.finditer(code.bare):
        yield call.start(), f"&{call[1]}"


def _parities(code: CudaCode, parity: str, offset: int, seen: str) -> Iterator[str]:
    """What a parity may be: a number; as others wait, or the other one; or by what the loops around count."""
    written = dict.fromkeys(_written(code, seen))
    number = parity in ("0", "1")
    found: dict[str, None] = {parity: None} if number else {}
    inverted = parity.startswith("!")
    for one in written:
        for text in (other_parity(one), one) if inverted else (one, other_parity(one)):
            found.setdefault(text)
    statement = next((s for s in code.statements if s.start <= offset < s.end), None)
    known = counters(code, statement) if statement is not None else iter(())
    for counter in (name for name in known if _visible(name, seen)):
        for every in dict.fromkeys((*re.findall(rf"\b{re.escape(counter)}\s*%\s*(\w+)", code.bare), *_EVERY)):
            found.setdefault(in_words(counter, int(every) if str(every).isdigit() else every, 0, int(inverted)))
    yield from found


def _written(code: CudaCode, seen: str) -> Iterator[str]:
    """The parities that others wait for, of names that are known at a place."""
    for call in _ABOUT.finditer(code.bare):
        if "wait" in call[1] and len(several := list(arguments_of(code, call.end() - 1))) > 1:
            text = code.text[slice(*several[-1])]
            if _visible(text, seen) and not _NO_PARITY.search(text):
                yield text


def _named_so(each: str, about: str) -> bool:
    """Whether an object has the name of one in a module: `bar`, or `_ZZ1kvE3bar+8` for one of an array."""
    root = _ROOT.search(each)
    symbol = about.partition("+")[0]
    return root is not None and (symbol == root[0] or symbol.endswith(f"{len(root[0])}{root[0]}"))


def _visible(each: str, seen: str) -> bool:
    return all(re.search(rf"\b{re.escape(name)}\b", seen) for name in _ROOT.findall(each))


def _function_at(code: CudaCode, offset: int) -> int:
    """Where the head of the outermost block around a place begins, in which names are declared."""
    opened = min((o for o, end in code.partner.items() if o < offset <= end and code.bare[o] == "{"), default=0)
    return max((s.start for s in code.statements if s.end == opened + 1), default=opened)


def _open_at(code: CudaCode, start: int, offset: int) -> str:
    """What stands between two places, without the blocks that are closed there, and their heads: what they declare is gone."""
    kept, at = list[str](), start
    for statement in code.statements:
        closed = code.partner.get(statement.end - 1, offset) if statement.closer == "{" else offset
        if at <= statement.start and closed < offset:
            kept.append(code.bare[at : statement.start])
            at = closed + 1
    return "".join([*kept, code.bare[at:offset]])


def _outside(code: CudaCode) -> str:
    """What is declared in no block."""
    declared = (s for s in code.statements if s.closer == ";" and code.block(s.start) < 0)
    return " ".join(code.bare[s.start : s.end] for s in declared)
