"""A kernel test to begin with: what the signature of a kernel says, and comments for what it does not say."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ptxcore.diagnostics import Diagnostic, InputError, Span
from ptxmm.kernels.asked import UNCLAIMED, AskedKernel, BegunKernel
from ptxmm.kernels.document import tree_of
from ptxmm.kernels.plain_names import shortest
from ptxmm.kernels.plausible import Plausible
from ptxmm.kernels.takes import TakenParameter

#: Keys that nobody guesses, in their order.
_OTHERS = ("cluster", "device", "nvcc", "expect")
#: What marks a guess.
GUESS = "<-"


def skeleton(asked: AskedKernel, folder: str) -> str:
    """The text of a kernel test, to be kept in a folder, of a kernel in CUDA C++ or PTX: what is asked, and a guess, marked as
    one, for the rest. Raises InputError for a file that has no such kernel, or cannot be compiled, and for what is wrong."""
    begun = asked.begun()
    asked.begun_as(begun, tree_of(_text(asked, begun, "")))
    return _text(asked, begun, folder)


def _text(asked: AskedKernel, begun: BegunKernel, folder: str) -> str:
    module, taken, keys = begun.module, begun.taken, begun.keys
    name = shortest(module.entries())[taken.entry]
    guess = asked.guess(begun)
    lines = [
        f"# A test of the kernel {name}, as ptxmm init wrote it. What is marked with {GUESS} is a guess: say what you launch.",
        f"{'cu' if module.source else 'ptx'} = {_string(_seen_from(asked.path, folder))}",
        f"entry = {_string(name)}",
        *_sizes(keys, guess),
        *(f"{key} = {_value(keys[key])}" for key in _OTHERS if key in keys),
    ]
    if taken.parameters:
        lines += [
            "",
            "# In the kernel's order; a buffer begins with zeros, unless init = [...] says something else.",
            "[params]",
        ]
    used: list[str] = []
    for number, parameter in enumerate(taken.parameters):
        given = begun.params.get(number)
        used.append(given[0] if given else _name(parameter, number, used))
        lines.append(_given(used[-1], given[1], parameter, folder) if given else _line(used[-1], parameter, guess))
    for table in ("memory", "bounds"):
        if table in begun.tables:
            lines += ["", f"[{table}]"]
            lines += [f"{_key(n)} = {_value(_moved(value, folder))}" for n, value in begun.tables[table].items()]
    buffers = [n for n, p in zip(used, taken.parameters, strict=True) if p.pointee is not None]
    return "\n".join([*lines, "", "[check]", *_claims(begun, buffers)]) + "\n"


def _sizes(keys: Mapping[str, Any], guess: Plausible) -> Iterator[str]:
    yield f"grid = {_size(keys['grid'])}" if "grid" in keys else f"grid = {guess.grid}  # <- CTAs"
    own = "threads of a CTA: the kernel says so" if guess.own else "<- threads of a CTA"
    if guess.site:
        own = f"threads of a CTA: the source launches so many, line {guess.site}"
    yield f"block = {_size(keys['block'])}" if "block" in keys else f"block = {guess.block}  # {own}"
    if guess.cluster and "cluster" not in keys:
        yield f"cluster = {guess.cluster}  # <- CTAs of a cluster"
    if "dynamic_shared" in keys:
        yield f"dynamic_shared = {keys['dynamic_shared']}"
    elif guess.dynamic_shared:
        yield f"dynamic_shared = {guess.dynamic_shared}  # <- bytes of dynamic shared memory"


def _size(value: Any) -> Any:
    """A size as one writes it: that of one dimension is a number."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _claims(begun: BegunKernel, buffers: Sequence[str]) -> Iterator[str]:
    """What is claimed; where nothing is, what is checked then, and an example."""
    claims = begun.tables.get("check")
    if claims is None:
        example = f"{buffers[-1]}[0] == 1" if buffers else "true"
        yield f"# forall = {_string(example)}  # what is true at the end of every execution; also exists, never"
        claims = dict.fromkeys(UNCLAIMED, True)
    for kind, claim in claims.items():
        yield f"{kind} = {_value(claim[0] if isinstance(claim, list) and len(claim) == 1 else claim)}"


def _given(name: str, table: Any, parameter: TakenParameter, folder: str) -> str:
    return f"{_key(name)} = {_value(_moved(table, folder))}  # {' '.join(str(parameter).split())}"


def _moved(table: Any, folder: str) -> Any:
    """A table that names a file, which is seen from here, as seen from a folder."""
    file = table.get("init") if isinstance(table, dict) else None
    return {**table, "init": _seen_from(file, folder)} if isinstance(file, str) and file.endswith(".npy") else table


def _seen_from(path: str, folder: str) -> str:
    return os.path.relpath(path, folder or ".").replace(os.sep, "/")


def write(text: str, path: str, force: bool = False) -> None:
    """Writes a test into a file. Raises InputError for one that is there already, unless `force`; OSError where it cannot be
    written."""
    try:
        with open(path, "w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        message = "there is such a file already"
        raise InputError(
            [Diagnostic(Span(0, 0, 0), message, "--force writes over it, -o FILE writes another")], path
        ) from None


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _key(name: str) -> str:
    """A name as TOML has keys."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name, re.ASCII) else _string(name)


def _value(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(key)} = {_value(one)}' for key, one in value.items())}}}"
    return f"[{', '.join(map(_value, value))}]" if isinstance(value, list) else repr(value)


def _name(parameter: TakenParameter, number: int, used: list[str]) -> str:
    """A name that TOML and expressions take."""
    name = parameter.name
    good = re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) and name not in ("true", "false", *used)
    return name if good else f"arg{number}"


def _line(name: str, parameter: TakenParameter, guess: Plausible) -> str:
    told = " ".join(str(parameter).split())
    if parameter.pointee is not None:
        ones = ", init = 1" if parameter.const else ""
        elements = guess.elements(parameter.name or parameter.formal.name)
        table = f'{{type = "{parameter.pointee}", elements = {elements}{ones}}}'
        return f"{name} = {table}  # {told}; <- how many elements"
    if parameter.formal.elements:
        table = f"{{bytes = {parameter.formal.size}, fields = []}}"
        return (
            f'{name} = {table}  # {told}; <- as in {{at = 0, value = "&buffer"}}, {{at = 8, type = "u32", value = 4}}'
        )
    table = f'{{type = "{parameter.number_type}", value = {guess.number(parameter)}}}'
    return f"{name} = {table}  # {told}; <- which value"
