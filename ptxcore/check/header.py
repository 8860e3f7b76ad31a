"""The header of a module: `.version`, `.target` and `.address_size` (PTX ISA 9.0, sections 11.1.1 to 11.1.3)."""

from __future__ import annotations

from ptxcore.check.context import Context
from ptxcore.check.places import word_span
from ptxcore.diagnostics import Span, nearest
from ptxcore.isa.difference import Difference
from ptxcore.isa.targets import NEWEST, TARGETS, VERSIONS, Target, target, version
from ptxcore.syntax.tree import AnyStatement, Directive, Immediate, Name

#: Words of `.target` that are no architecture, and the version that introduced each (section 11.1.2).
OPTIONS = {"texmode_unified": "1.5", "texmode_independent": "1.5", "debug": "3.0", "map_f64_to_f32": "1.0"}

#: The first architecture with double precision, which needs no `map_f64_to_f32`.
_DOUBLES = 13
#: From this architecture on there are no 32-bit addresses.
_ONLY_64_BIT = 90

#: Targets that versions to come may bring have numbers from here on.
_LATER_TARGETS = 100

_ORDER = ("version", "target", "address_size")
_EXAMPLES = {"version": ".version 9.0", "target": ".target sm_90", "address_size": ".address_size 64"}


def check_header(context: Context, statements: tuple[AnyStatement, ...]) -> int:
    """Check and note what a module begins with; how many statements that is."""
    at = 0
    for name in _ORDER:
        statement = statements[at] if at < len(statements) else None
        if isinstance(statement, Directive) and statement.name == name:
            _CHECKS[name](context, statement)
            at += 1
        elif name != "address_size":
            _absent(context, name, statement, statements)
    return at


def _absent(context: Context, name: str, statement: AnyStatement | None, statements: tuple[AnyStatement, ...]) -> None:
    first = name == "version"
    if first and isinstance(statement, Directive) and statement.name == "target" and len(statements) > 1:
        statement = statements[1]  # ptxas notices behind it
    span = statement.span if statement is not None else (statements[-1].span if statements else Span(1, 1, 2))
    if any(line <= span.line for line in context.faulty):
        return  # what could not be read may be it
    place = "a module begins with" if first else "behind '.version' comes"
    context.report("header", span, f"'.{name}' is missing: {place} it", f"write {_EXAMPLES[name]}")


def check_misplaced(context: Context, directive: Directive) -> bool:
    """Report a header directive that stands elsewhere; whether it is one."""
    if directive.name not in _ORDER:
        return False
    if directive.name == "target" and context.manual:
        _target(context, directive)  # section 11.1.2 allows it again
        return True
    context.report("header", directive.span, f"'.{directive.name}' stands only at the beginning of a module, and once")
    return True


def _version(context: Context, directive: Directive) -> None:
    numbers = tuple(a.value for a in directive.arguments if isinstance(a, Immediate))
    if len(numbers) != 2 or len(directive.arguments) != 2:
        context.report("header", directive.span, "'.version' takes a version such as 9.0")
        return
    found = (numbers[0], numbers[1])
    if found in VERSIONS:
        context.version = found
        return
    if found > NEWEST:
        context.later = found
        known = f"{NEWEST[0]}.{NEWEST[1]}"
        says = f"PTX ISA {found[0]}.{found[1]} is later than {known}: the module is read by the rules of {known}"
        context.warn("later-version", directive.span, says, f"what came after {known} is refused where it is used")
        return
    context.report("header", directive.span, f"PTX ISA {found[0]}.{found[1]} is not known", _neighbours(found))


def _neighbours(found: tuple[int, int]) -> str:
    same = sorted(v for v in VERSIONS if v[0] == found[0]) or sorted(VERSIONS)
    return f"versions go from {same[0][0]}.{same[0][1]} to {same[-1][0]}.{same[-1][1]}"


def _target(context: Context, directive: Directive) -> None:
    """One architecture and options; ptxas takes several architectures, and the last one counts."""
    options: set[str] = set()
    architectures: list[Target] = []
    for argument in directive.arguments:
        word = argument.name if isinstance(argument, Name) else ""
        span = word_span(directive, word)
        architecture = _architecture(context, word)
        if architecture is not None:
            if architectures and context.manual:
                context.report("header", span, "one architecture stands here, not two")
            architectures.append(architecture)
            _known_to_version(context, span, word)
        elif context.later and (unknown := target(word)) is not None and unknown.number >= _LATER_TARGETS:
            architectures.append(unknown)
            newest = f"{NEWEST[0]}.{NEWEST[1]}"
            says = f"'{word}' is no target of PTX ISA {newest}: it is taken for a later one without features of its own"
            context.warn("later-version", span, says)
        elif word not in OPTIONS:
            context.report("header", span, f"unknown target '{word}'", nearest(word, {**TARGETS, **OPTIONS}))
        elif not architectures:
            context.report(
                "header", span, f"'{word}' cannot stand first: the architecture does", "as in .target sm_90, debug"
            )
        else:
            _option(context, span, word, options, architectures)
            options.add(word)
    context.options = frozenset(options)
    context.target = architectures[-1] if architectures else None
    if not directive.arguments:
        context.report("header", directive.span, "'.target' needs an architecture", "as in .target sm_90")


def _architecture(context: Context, word: str) -> Target | None:
    """An architecture by its name; ptxas takes `compute_90` for `sm_90`."""
    if not context.manual and word.startswith("compute_"):
        word = "sm_" + word.removeprefix("compute_")
    return target(word) if word in TARGETS else None


def _known_to_version(context: Context, span: Span, word: str) -> None:
    word = "sm_" + word.partition("_")[2]
    introduced = "9.0" if word == "sm_88" and context.manual else TARGETS[word]
    if context.version < version(introduced):
        has = f"{context.version[0]}.{context.version[1]}"
        context.report("version", span, f"'{word}' needs PTX ISA {introduced}, the module says {has}")


def _option(context: Context, span: Span, word: str, before: set[str], architectures: list[Target]) -> None:
    context.gate(span, word, OPTIONS[word])
    if word.startswith("texmode") and any(w.startswith("texmode") and w != word for w in before):
        context.report("header", span, f"'{word}' conflicts with the other texture mode", "a module has one of the two")
    if word == "map_f64_to_f32" and architectures and architectures[-1].number >= _DOUBLES:
        context.report("target", span, f"'{word}' is for targets without double precision, {architectures[-1]} has it")


def _address_size(context: Context, directive: Directive) -> None:
    context.gate(directive.span, ".address_size", "2.3")
    size = directive.arguments[0] if len(directive.arguments) == 1 else None
    if not isinstance(size, Immediate) or size.value not in (32, 64):
        context.report("header", directive.span, "the address size is 32 or 64")
        return
    if size.value == 32 and not context.manual and context.target and context.target.number >= _ONLY_64_BIT:
        hint = "write .address_size 64"
        context.report("target", directive.span, f"{context.target} has no 32-bit addresses", hint)


_CHECKS = {"version": _version, "target": _target, "address_size": _address_size}

DIFFERENCES = (
    Difference(
        "11.1.1",
        "Versions later than 9.0 are refused. The checker reads such modules by the rules of 9.0, with a warning.",
        "There are none.",
        checked=False,
    ),
    Difference(
        "11.1.2",
        "A second `.target` is refused.",
        "`.target` may stand again where requirements change.",
    ),
    Difference(
        "11.1.2",
        "`.target` may list several architectures, of which the last one counts.",
        "There is one.",
    ),
    Difference(
        "11.1.2",
        "`compute_90` is taken for `sm_90`.",
        "There are no such targets.",
    ),
    Difference(
        "11.1.2",
        "`sm_88` is known from PTX ISA 7.3 on.",
        "It came with PTX ISA 9.0.",
    ),
    Difference(
        "11.1.2",
        "A target that is newer than the version is taken in a module without functions. The checker refuses "
        "it everywhere.",
        "The version knows the target.",
        checked=False,
    ),
    Difference(
        "11.1.3",
        "`.address_size 32` is refused from sm_90 on.",
        "It is there for every target.",
    ),
)
