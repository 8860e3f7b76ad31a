"""The reference that is made from the code: every command from the parser, every name of the Python interface from its
docstring."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ptxmm.cli.outline import Command, OutlinedArgument

_CODE = re.compile(r"(`[^`]*`)")


def prose(text: str) -> str:
    """Text of the code as Markdown: what would be a mark there stands for itself, but in spans of code."""
    pieces = _CODE.split(text)
    return "".join(p if i % 2 else re.sub(r"[*<\[\]]", lambda m: "\\" + m[0], p) for i, p in enumerate(pieces))


def paragraphs(text: str) -> str:
    return "\n\n".join(prose(" ".join(part.split())) for part in re.split(r"\n\s*\n", text.strip()))


# Commands.


def commands() -> str:
    from ptxmm.cli.outline import outline

    return "\n\n".join(part for command in outline() for part in _command(command)) + "\n"


def _command(command: Command) -> Iterator[str]:
    yield f"## ptxmm {command.name}"
    yield paragraphs(command.description or f"{command.what[:1].upper()}{command.what[1:]}.")
    yield f"```text\nptxmm {' '.join(filter(None, [command.name, *map(_alone, command.arguments), '[options]']))}\n```"
    yield "\n".join(["| Argument | Meaning |", "|---|---|", *map(_row, command.arguments)])
    for part in command.ending.strip().split("\n\n"):
        yield (
            f"```sh\n{textwrap.dedent(part)}\n```" if part.startswith(" ") else paragraphs(part[:1].upper() + part[1:])
        )


def _alone(argument: OutlinedArgument) -> str:
    """How what is no option stands in a line."""
    if argument.names:
        return ""
    shown = f"{argument.metavar}..." if argument.many else argument.metavar
    return shown if argument.needed else f"[{shown}]"


def _row(argument: OutlinedArgument) -> str:
    shown = [f"{name} {argument.metavar}".strip() for name in argument.names] or [argument.metavar]
    named = ", ".join(f"`{name}`" for name in shown)
    cells = (named, prose(argument.what))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


# The Python interface.


def python() -> str:
    import ptxmm

    names = [name for name in ptxmm.__all__ if not name.startswith("_")]
    functions = sorted((name for name in names if not inspect.isclass(getattr(ptxmm, name))), key=str.lower)
    classes = sorted(set(names) - set(functions), key=str.lower)
    parts = ["## Functions"]
    for name in functions:
        parts += [f"### ptxmm.{name}", *_function(f"ptxmm.{name}", getattr(ptxmm, name))]
    parts.append("## Classes")
    for name in classes:
        parts += [f"### ptxmm.{name}", *_class(f"ptxmm.{name}", getattr(ptxmm, name))]
    return "\n\n".join(parts) + "\n"


def _function(name: str, function: Callable[..., Any]) -> Iterator[str]:
    yield f"```py\n{signature(name, function)}\n```"
    yield paragraphs(inspect.cleandoc(function.__doc__ or ""))


def _class(name: str, cls: type) -> Iterator[str]:
    if dataclasses.is_dataclass(cls):
        fields = [f"    {field.name}: {field.type}" for field in dataclasses.fields(cls)]
        yield "```py\n" + "\n".join([f"class {name}:", *fields]) + "\n```"
    else:
        yield f"```py\n{signature(f'class {name}', cls)}\n```"
    said = inspect.cleandoc(cls.__doc__ or "")
    yield paragraphs(said)
    for member, value in vars(cls).items():
        if member.startswith("_") or not (inspect.isfunction(value) or isinstance(value, property)):
            continue
        yield f"#### {name}.{member}"
        if inspect.isfunction(value):
            yield from _function(f"{name}.{member}", value)
        else:
            yield paragraphs(inspect.cleandoc(value.__doc__ or ""))


def signature(name: str, function: Callable[..., Any]) -> str:
    """How it is called, a parameter on each line where they do not fit on one."""
    called = inspect.signature(function)
    parameters = [_parameter(p) for p in called.parameters.values() if p.name != "self"]
    kinds = [p.kind for p in called.parameters.values() if p.name != "self"]
    first = next((i for i, kind in enumerate(kinds) if kind == inspect.Parameter.KEYWORD_ONLY), None)
    if first is not None and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parameters.insert(first, "*")
    gives = "" if name.startswith("class ") else f" -> {called.return_annotation}"
    line = f"{name}({', '.join(parameters)}){gives}"
    if len(line) <= 100:
        return line
    return "\n".join([f"{name}(", *(f"    {p}," for p in parameters), f"){gives}"])


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    shown = stars + parameter.name
    if parameter.annotation is not inspect.Parameter.empty:
        shown += f": {parameter.annotation}"
    if parameter.default is not inspect.Parameter.empty:
        shown += f" = {parameter.default!r}"
    return shown


# Limits.

ROOT = Path(__file__).resolve().parent.parent
#: What stands between a question and its answer: messages, pictures and pages of a browser have limits of their own,
#: beside their code, which decide nothing.
DECIDING = ("axioms", "ptxcore/machine", "ptxmm/kernels", "ptxmm/repair")
#: A limit is called so.
_LIMIT = re.compile(r"_?(MOST|MAX|LONGEST|LARGEST|LIMIT)(_[A-Z_]+)?")


class Limit(NamedTuple):
    """A number that bounds work: where it stands, what it is called, its value as it is written, and what the comment says."""

    path: str
    name: str
    value: str
    said: str


def limits_found() -> list[Limit]:
    found = []
    for room in DECIDING:
        for path in sorted((ROOT / room).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            lines = text.split("\n")
            for node in ast.parse(text).body:
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    name = node.targets[0].id
                    if _LIMIT.fullmatch(name):
                        where = path.relative_to(ROOT).as_posix()
                        found.append(Limit(where, name, _value(node.value), _said(lines, node.lineno - 1)))
    return found


def _value(value: ast.expr) -> str:
    shifts = {10: "Ki", 20: "Mi", 30: "Gi"}
    if isinstance(value, ast.Constant) and isinstance(value.value, int):
        return f"{value.value:,}"
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.LShift) and isinstance(value.right, ast.Constant):
        by = value.right.value
        assert isinstance(by, int) and isinstance(value.left, ast.Constant) and isinstance(value.left.value, int)
        unit = max(k for k in (0, *shifts) if k <= by)
        return f"{value.left.value << by - unit:,} {shifts.get(unit, '')}".strip()
    return ast.unparse(value)


def _said(lines: list[str], at: int) -> str:
    """The comment above a line, or behind what stands in it."""
    above = at
    while above and lines[above - 1].startswith("#:"):
        above -= 1
    said = " ".join(line.removeprefix("#:").strip() for line in lines[above:at]) or lines[at].partition("  # ")[2]
    return said[:1].upper() + said[1:]


def limits() -> str:
    """A table for each room."""
    parts: dict[str, list[str]] = {}
    for limit in limits_found():
        file = f"[{limit.path.rpartition('/')[2]}](../../{limit.path})"
        row = f"| `{limit.name}` | {limit.value} | {prose(limit.said).replace('|', chr(92) + '|')} | {file} |"
        parts.setdefault(limit.path.rpartition("/")[0], []).append(row)
    head = "| Limit | Is | Bounds | In |\n|---|---|---|---|\n"
    return "\n\n".join(f"### {room}\n\n{head}" + "\n".join(rows) for room, rows in parts.items()) + "\n"
