"""A kernel test to begin with: what the signature of a kernel says, and comments for what it does not say."""

from __future__ import annotations

import json
import os
import re

from ptxcore.diagnostics import Diagnostic, InputError, Span
from ptxmm.kernels.asked import AskedKernel
from ptxmm.kernels.plain_names import shortest
from ptxmm.kernels.plausible import Plausible, plausible
from ptxmm.kernels.takes import TakenParameter


def skeleton(path: str, entry: str | None, folder: str) -> str:
    """The text of a kernel test, to be kept in a folder, of a kernel in CUDA C++ or PTX; `entry` may be left out where there is
    one only. Raises InputError for a file that has no such kernel, or cannot be compiled."""
    module, taken = AskedKernel(path).kernel(entry)
    name = shortest(module.entries())[taken.entry]
    guess = plausible(module, taken)
    key = "cu" if module.source else "ptx"
    lines = [
        f"# A test of the kernel {name}, as ptxmm init wrote it. What is marked with <- is a guess: say what you launch.",
        f"{key} = {_string(os.path.relpath(path, folder or '.').replace(os.sep, '/'))}",
        f"entry = {_string(name)}",
        f"grid = {guess.grid}  # <- CTAs",
        f"block = {guess.block}  # " + ("threads of a CTA: the kernel says so" if guess.own else "<- threads of a CTA"),
    ]
    if guess.dynamic_shared:
        lines.append(f"dynamic_shared = {guess.dynamic_shared}  # <- bytes of dynamic shared memory")
    if taken.parameters:
        lines += [
            "",
            "# In the kernel's order; a buffer begins with zeros, unless init = [...] says something else.",
            "[params]",
        ]
    used: list[str] = []
    for number, parameter in enumerate(taken.parameters):
        used.append(_name(parameter, number, used))
        lines.append(_line(used[-1], parameter, guess))
    buffers = [n for n, p in zip(used, taken.parameters, strict=True) if p.pointee is not None]
    example = f"{buffers[-1]}[0] == 1" if buffers else "true"
    lines += [
        "",
        "[check]",
        f"# forall = {_string(example)}  # what is true at the end of every execution; also exists, never",
        *(f"{check} = true" for check in ("race_free", "terminates", "no_trap")),
    ]
    return "\n".join(lines) + "\n"


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


def _name(parameter: TakenParameter, number: int, used: list[str]) -> str:
    """A name that TOML and expressions take."""
    name = parameter.name
    good = re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) and name not in ("true", "false", *used)
    return name if good else f"arg{number}"


def _line(name: str, parameter: TakenParameter, guess: Plausible) -> str:
    told = " ".join(str(parameter).split())
    if parameter.pointee is not None:
        table = f'{{type = "{parameter.pointee}", elements = {guess.elements()}}}'
        return f"{name} = {table}  # {told}; <- how many elements"
    if parameter.formal.elements:
        table = f"{{bytes = {parameter.formal.size}, fields = []}}"
        return (
            f'{name} = {table}  # {told}; <- as in {{at = 0, value = "&buffer"}}, {{at = 8, type = "u32", value = 4}}'
        )
    table = f'{{type = "{parameter.number_type}", value = {guess.number(parameter)}}}'
    return f"{name} = {table}  # {told}; <- which value"
