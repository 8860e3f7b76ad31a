"""The published grammars beside the readers: words to generate texts with, and whether each of the two takes a text."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from lark import Lark, UnexpectedInput
from lark.grammar import NonTerminal, Symbol

from axioms.cat import reader as cat_reader
from litmus.formats import gpu_ptx
from litmus.formats.condition import read_tail
from litmus.formats.declarations import read_declarations
from litmus.formats.header import read_head
from litmus.formats.program import read_program
from litmus.formats.source import LitmusSource, blank_comments, normalised
from ptxcore.diagnostics import InputError
from ptxcore.syntax.reader import read_module

ROOT = Path(__file__).resolve().parents[2]
GRAMMARS = ROOT / "docs" / "grammars"


class Language(NamedTuple):
    """`found`: what the reader says of the syntax of a text, nothing where it takes it. `samples`: words for each terminal
    that is no fixed text. `meaning`: findings that are about the meaning of what has the right form. `frames`: rules to
    generate from beside the whole, and what goes around them. `looser`: words of texts in which the reader takes more than
    the grammar has."""

    name: str
    found: Callable[[str], list[str]]
    samples: dict[str, str]
    meaning: re.Pattern[str]
    frames: dict[str, str]
    looser: tuple[str, ...] = ()


def _ptx(text: str) -> list[str]:
    return [d.message for d in read_module(text)[1]]


def _cat(text: str) -> list[str]:
    try:
        cat_reader.read(text)
    except InputError as error:
        return [d.message for d in error.diagnostics]
    return []


def _litmus(text: str) -> list[str]:
    """The reader's parts, without the checks of names, types and places that follow them."""
    source = LitmusSource(normalised(text), "test.litmus")
    try:
        if text.lstrip().startswith(gpu_ptx.HEAD):
            gpu_ptx.read_parts(source)
            return [d.message for d in source.findings]
        _, at = read_head(source)
        blank_comments(source, at)
        _, at = read_declarations(source, at)
        _, at = read_program(source, at)
        read_tail(source, at)
    except InputError as error:
        source.keep(error)
    return [d.message for d in source.findings]


#: Samples of a terminal, with blanks between them.
_PTX_WORDS = {
    "NAME": "a %r1 $x _b WARP_SIZE x1",
    "SINK": "_",
    "LABEL": "L: $L__BB0_1: done:",
    "WORD": ".foo .debug_info .b8 .shared::cta",
    "OPCODE": "add mov ret st bar",
    "CALL": "call",
    "MODIFIER": ".u32 .v2 .3d .shared::cluster",
    "COMPONENT": ".x .b0 .h1",
    "NUMBER_PAIR": "9.0 7.8",
    "NUMBER": "0 1 17 0x1F 4U 010 0b11",
    "FLOAT": "1.5 .5 2e3 0f3F800000 0d3FF0000000000000",
    "STRING": '"a" "nounroll"',
    "CAST": ".s64 .u64",
    "WARP_SZ": "WARP_SZ",
    "GENERIC": "generic",
    "FUNCTION_NAME": "function_name",
    "INLINED_AT": "inlined_at",
    "REMAINDER": "%",
    "LINKAGE": ".visible .weak .extern",
    "ENTRY_NUMBER": ".maxnreg .minnctapersm",
    "ENTRY_SHAPE": ".maxntid .reqntid",
    "ENTRY_FLAG": ".explicitcluster",
    "ABI_NUMBER": ".abi_preserve",
    "OTHER_SPACE": ".global .shared .local",
    "VECTOR": ".v2 .v4",
    "TYPE": ".u32 .b8 .pred .f64",
    "POINTED": ".global .shared",
}
_CAT_WORDS = {
    "STRING": '"x"',
    "NAME": "a po-loc b' _c",
    "WORD": "0a _1",
    "NOBODY": "_",
    "NOTHING": "0",
    "TAG": "'a 'b-c",
    "PRODUCT": "*",
    "STAR": "*",
    "PLUS": "+",
    "INVERSE": "^-1",
}
_LITMUS_WORDS = {
    "STRING": '"about"',
    "NAME": "x y flag",
    "REGISTER_NAME": "r0 %r1",
    "NUMBER": "0 1 0x1F -2",
    "COUNT": "1 2 4",
    "THREAD": "P0 P1 P23",
    "THREAD_NAME": "P0 P1 P2 P3",
    "REGISTER": "0:r0 P1:%r1 2:rd",
    "SPACE": ".global .shared .const",
    "TYPE": ".u32 .b8 .s64",
    "PROXY": "generic surface texture constant",
    "LEVEL": "cta gpu cluster",
    "TREE_LEVEL": "sys gpu cluster cta",
    "PROPERTY": "race_free no_deadlock terminates",
    "NOT_EXISTS": "~exists",
    "SCOPES": "scopes:",
    "TRUTH": "true false",
    "COMPARISON": "= == != <> < <= > >=",
    "NOT": "not",
    "SCOPE_TREE": "scopeTree",
    "DEVICE": "device gpu",
    "WIDE_LEVEL": "kernel cta block warp",
    "FINAL": "final",
    "QUALIFIER": "volatile",
    "C_TYPE": "int uint64_t",
    "POINTED": "int foo",
    "OTHER_TYPE": ".pred .f32",
    "KERNEL": "kernel",
}
#: Words with blanks in them, or of one line.
_LINES = {
    "DWARF": ["@@DWARF .byte 1\n"],
    "KEY": ["Author = me\n"],
    "CELL": ["st.weak.u32 [x], 1", "fence.sc.gpu", "L0:", "setp.eq.u32 p | q, %r1, 0"],
    "STATEMENT": ["st.weak.u32 [x], 1", "L: ret", "mov.u32 %r0, 1", "ld.v2.u32 {%r0, %r1}, [x]"],
    "TYPED": ["0:.reg ", "P1 : .reg "],
    "MAPPED": ["x: global ", "y:shared"],
    "TITLE": ["test \n", "PTX\n"],
}
_BLANKS = {
    "ptx": [" ", "\n", "// x\n", "/* ; */"],
    "cat": [" ", "\n", "// x\n", "# x\n", "(* let (* a *) *)"],
    "litmus": [" ", " // x\n", "(* } *)"],
}
#: Terminals that are one keyword, as their patterns say it.
_KEYWORD = re.compile(r"(\\?\.?[A-Za-z_]+)\(\?!")
LANGUAGES = {
    language.name: language
    for language in (
        Language(
            "ptx",
            _ptx,
            _PTX_WORDS,
            re.compile(
                "division by zero|constant expressions? |takes integer constants|not a floating-point constant"
                "|between an integer and|needs a label before it|constant is exact|more than"
                "|only one of two|this is not an address"
            ),
            {
                "instruction": ".func f\n{{\n{}\n}}",
                "variable": "{}",
                "expression": ".func f\n{{ mov.u32 a, {}; }}",
                "body": ".func f\n{}",
                "function": "{};",
            },
            ("call", "extern"),
        ),
        Language(
            "cat",
            _cat,
            _CAT_WORDS,
            re.compile(
                "twice|neither for a title|a definition, an axiom or a title|last in a match|a match of a set has"
            ),
            {"expression": "let a = {}", "item": "{}"},
        ),
        Language(
            "litmus",
            _litmus,
            _LITMUS_WORDS,
            re.compile(
                "twice|two scope trees|out of the range|values are given|takes a list|has at most|does not fit"
                "|alignment is a power"
                "|array has|does not lie inside|alone|among the|more cells|part of a CTA"
                "|is never used|aliases? |expected (the alignment|the number|a thread)|declared|stands in the wrong"
            ),
            {
                "proposition": "PTX t\n{{ }}\nP0 ;\nret ;\nexists ({})",
                "init": "PTX t\n{}\nP0 ;\nret ;\nexists true",
                "tail": "PTX t\n{{ }}\nP0 {{ ret; }}\n{}",
                "scope_tree": "GPU_PTX t\n{{ }}\nP0 ;\nret ;\n{}\nx: global exists (x = 1)",
                "memory_map": "GPU_PTX t\n{{ }}\nP0 ;\nret ;\nscopeTree P0\n{}\nexists (x = 1)",
            },
        ),
    )
}


@cache
def grammar(name: str) -> Lark:
    """The published grammar of a language as an LALR parser."""
    return Lark.open(str(GRAMMARS / f"{name}.lark"), parser="lalr")


def takes(name: str, text: str) -> bool:
    """Whether the published grammar takes a text."""
    try:
        grammar(name).parse(text)
    except UnexpectedInput:
        return False
    return True


def words(language: Language, rule: str) -> dict[str, list[str]]:
    """For each terminal what it may be, with a blank behind each word that another could be glued to."""
    found = {}
    terminals, _, ignored = grammar(language.name).grammar.compile([rule], ())
    for terminal in terminals:
        if terminal.pattern.type == "str":
            found[terminal.name] = [terminal.pattern.value]
        elif terminal.name in ignored:
            found[terminal.name] = _BLANKS[language.name]
        elif terminal.name in _LINES:
            found[terminal.name] = _LINES[terminal.name]
        else:
            samples = language.samples.get(terminal.name)
            if samples is None:
                keyword = _KEYWORD.match(terminal.pattern.value)
                assert keyword is not None, f"no samples of {terminal.name}"
                samples = keyword[1].replace("\\", "")
            found[terminal.name] = [f"{word} " for word in samples.split(" ")]
    return found


class Writer:
    """Writes texts of a rule: at each turn one of the alternatives that were taken least so far, and of those that come to
    an end soonest once the text has `size` words. So a few texts have every alternative of the grammar."""

    def __init__(self, language: Language, rule: str, size: int = 40) -> None:
        self.rule, self.size = rule, size
        self.words = words(language, rule)
        _, rules, ignored = grammar(language.name).grammar.compile([rule], ())
        self.blanks = [word for name in ignored for word in self.words[name]]
        self.alternatives: dict[str, list[tuple[Symbol, ...]]] = {}
        for each in rules:
            self.alternatives.setdefault(each.origin.name, []).append(tuple(each.expansion))
        self.taken = Counter[tuple[str, tuple[Symbol, ...]]]()
        self.depths = self._depths()

    def _depths(self) -> dict[str, int]:
        """For each rule how many rules at least stand within each other in a text of it."""
        depths: dict[str, int] = {}
        while len(depths) < len(self.alternatives):
            ends = {
                name: len(depths)
                for name, alternatives in self.alternatives.items()
                if name not in depths and any(all(s.is_term or s.name in depths for s in one) for one in alternatives)
            }
            assert ends, "a rule that comes to no end"
            depths |= ends
        return depths

    def write(self, choose: random.Random) -> str:
        text: list[str] = []
        left = [NonTerminal(self.rule)]
        while left:
            symbol = left.pop()
            if symbol.is_term:
                text.append(choose.choice(self.words[symbol.name]))
                if self.blanks and not choose.randrange(4):
                    text.append(choose.choice(self.blanks))
            else:
                left += reversed(self._choose(symbol.name, len(text) + len(left) < self.size, choose))
        return "".join(text)

    def _choose(self, name: str, freely: bool, choose: random.Random) -> tuple[Symbol, ...]:
        def cost(one: tuple[Symbol, ...]) -> int:
            if freely:
                return self.taken[name, one]
            return max((self.depths[symbol.name] for symbol in one if not symbol.is_term), default=-1)

        alternatives = self.alternatives[name]
        least = min(map(cost, alternatives))
        chosen = choose.choice([one for one in alternatives if cost(one) == least])
        self.taken[name, chosen] += 1
        return chosen


def spoilt(text: str, choose: random.Random) -> str:
    """The text with one word left out, doubled, put elsewhere or replaced by another of its words."""
    words = re.findall(r"\s+|[\w$%.]+|[^\w\s]", text)
    if not words:
        return text
    i, j = choose.randrange(len(words)), choose.randrange(len(words))
    match choose.randrange(4):
        case 0:
            words[i] = " "
        case 1:
            words[i] = f"{words[i]} {words[i]}"
        case 2:
            words[i], words[j] = words[j], words[i]
        case _:
            words[i] = words[j]
    return "".join(words)
