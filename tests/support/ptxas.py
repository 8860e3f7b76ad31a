"""ptxas as an oracle: which statements, and which modules, does release 13.0 accept?

Statements are asked about by the thousand: each stands alone on its line, in a block of its own, in one of a few
entries of one module, and what ptxas says of the line is its verdict. What makes that less simple than it sounds, all
of it measured:

- A syntax error ends the reading of the module. Lines before it were read without one, so reading goes on behind it.
- Some errors are looked for only in a module without others, so a module without its rejected lines is asked about
  again until ptxas accepts all of it. A verdict `None` therefore always comes from a module that was accepted.
- ptxas dies on some statements without a word; such a batch is halved until the statement is found.
- Some instructions are expanded into text that ptxas reads after the module, and errors in it have lines of that
  text. So the statements stand behind more empty lines than it has (`layout.EMPTY`): an error before them is nobody's.
- All tcgen05 instructions of a function must have the same `.cta_group`, so statements are grouped by it.
- A declaration can be what is refused (`.b128` registers before PTX ISA 8.3): that is then said of every statement
  that uses it. Declarations that no statement of the batch mentions are left out.

`ptxas -arch=compute_XX` is the front end alone, which is where the language is checked; `compute_XX` must be the one
that belongs to the `.target`, with its letter, and `compute_75` for targets below it. Code generation (`sm_XX`) is
asked for with `whole=True`.
"""

from __future__ import annotations

import functools
import importlib.metadata
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import layout
from layout import Declaration, Layout, is_balanced

RELEASE = "13.0"
WHEEL = "nvidia-cuda-nvcc"
CRASH = "(crash)"

_ARCHITECTURES = (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)
_PER_MODULE = 2000
_MESSAGE = re.compile(r"^ptxas \S+, line (\d+); (error|fatal)\s*: (.*)$")
_UNPLACED = re.compile(r"^ptxas (?:error|fatal)\s*: +(.*)$")


@functools.cache
def executable() -> str | None:
    """The path of ptxas 13.0: from the wheel, else from PATH; None where there is neither."""
    for found in (_in_wheel(), shutil.which("ptxas")):
        if found and _release(found) == RELEASE:
            return found
    return None


def _in_wheel() -> str | None:
    try:
        files = importlib.metadata.files(WHEEL) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((str(file.locate()) for file in files if file.name == "ptxas"), None)


def _release(path: str) -> str | None:
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=900).stdout
    except OSError:
        return None
    found = re.search(r"release (\d+\.\d+)", said)
    return found and found[1]


@functools.cache
def architecture(target: str, *, whole: bool = False) -> str:
    """The `-arch` for modules with this `.target`: its own, or the lowest of ptxas where the target is older."""
    number, letter = re.fullmatch(r"sm_(\d+)([af]?)", target).groups()  # type: ignore[union-attr]
    at_least = next((known for known in _ARCHITECTURES if known >= int(number)), _ARCHITECTURES[-1])
    return f"{'sm' if whole else 'compute'}_{at_least}{letter if at_least == int(number) else ''}"


@dataclass
class Said:
    """What ptxas said of a module: (line, message) in its order, and whether it died or said something without a line."""

    errors: list[tuple[int, str]]
    syntax_error: tuple[int, str] | None
    unplaced: str | None
    accepted: bool


class Oracle:
    """Runs ptxas in a scratch folder of its own; use it as a context manager.

    `relocatable`: names may stay unresolved, and what only relocatable modules may have is allowed (from PTX ISA 3.1).
    """

    def __init__(self, arch: str, *, relocatable: bool = False):
        path = executable()
        if path is None:
            raise RuntimeError(f"there is no ptxas {RELEASE} here; the wheel {WHEEL}==13.0.88 has it")
        self.command = [path, f"-arch={arch}", *(["-c"] if relocatable else []), "-o", "/dev/null"]
        self.runs = 0

    def __enter__(self) -> Oracle:
        self._folder = tempfile.TemporaryDirectory(prefix="ptxas-oracle-")
        self._file = Path(self._folder.name) / "m.ptx"
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def ask(self, text: str) -> Said:
        self._file.write_text(text)
        self.runs += 1
        done = subprocess.run([*self.command, str(self._file)], capture_output=True, text=True, errors="replace")
        errors: list[tuple[int, str]] = []
        syntax_error = unplaced = None
        for line in (done.stderr + done.stdout).splitlines():
            if placed := _MESSAGE.match(line):
                where, kind, message = int(placed[1]), placed[2], placed[3].strip()
                if kind == "fatal" and syntax_error is None:
                    syntax_error = (where, message)
                else:
                    errors.append((where, message))
            elif (loose := _UNPLACED.match(line)) and "aborted due to errors" not in line:
                unplaced = unplaced or loose[1].strip()
        accepted = done.returncode == 0
        if not accepted and not errors and syntax_error is None and unplaced is None:
            unplaced = CRASH
        return Said(errors, syntax_error, unplaced, accepted)


def check_module(text: str, arch: str | None = None) -> list[tuple[int, str]]:
    """Every error of a whole module as (line, message), in the order of the lines; an error without a line has line 0.

    `arch` is that of the first `.target` unless given (`compute_90`, `sm_90`). The module is taken as relocatable where
    its version knows that.
    """
    if arch is None:
        found = re.search(r"^\s*\.target\s+(sm_\d+[af]?)", text, re.MULTILINE)
        arch = architecture(found[1] if found else "sm_75")
    version = re.search(r"^\s*\.version\s+(\d+)\.(\d+)", text, re.MULTILINE)
    relocatable = version is None or (int(version[1]), int(version[2])) >= (3, 1)
    with Oracle(arch, relocatable=relocatable) as oracle:
        said = oracle.ask(text)
    errors = list(said.errors)
    if said.syntax_error:
        errors.append(said.syntax_error)
    if said.unplaced and not errors:
        errors.append((0, said.unplaced))
    return sorted(errors, key=lambda error: error[0])


class _Batch:
    """The statements of one call, and their verdicts as far as they are known."""

    def __init__(self, oracle: Oracle, layout: Layout):
        self.oracle = oracle
        self.layout = layout
        self.verdicts: list[str | None] = [None] * len(layout.statements)

    def decide(self) -> None:
        """Fills in the verdicts."""
        unbalanced = [i for i, statement in enumerate(self.layout.statements) if not is_balanced(statement)]
        for i in unbalanced:  # it would draw its neighbours in
            self._judge([i])
        everything = self.layout.in_order(sorted(set(range(len(self.verdicts))) - set(unbalanced)))
        for start in range(0, len(everything), _PER_MODULE):
            batch = everything[start : start + _PER_MODULE]
            self._read(batch)
            self._judge(batch)

    def _read(self, batch: Sequence[int]) -> None:
        """Rejects what has a syntax error, in time linear in the batch: each error ends one reading and starts the next."""
        while batch:
            text, standing = self.layout.module(batch)
            said = self.oracle.ask(text)
            self._reject(batch, standing, said)
            if said.syntax_error is None:
                return
            culprit = self._blame(standing, said.syntax_error)
            if culprit is None:
                return
            batch = batch[batch.index(culprit) + 1 :]

    def _judge(self, batch: Sequence[int]) -> None:
        """Asks again, without what was rejected, until all that is left is accepted as a whole."""
        todo = [batch]
        while todo:
            left = [i for i in todo.pop() if self.verdicts[i] is None]
            if not left:
                continue
            text, standing = self.layout.module(left)
            said = self.oracle.ask(text)
            if said.accepted:
                continue
            found = self._reject(left, standing, said)
            if said.syntax_error is not None and self._blame(standing, said.syntax_error) is not None:
                found = True
            if found:
                todo.append(left)
            elif len(left) == 1:
                self.verdicts[left[0]] = said.unplaced or (said.syntax_error or (said.errors or [(0, CRASH)])[0])[1]
            else:
                middle = len(left) // 2
                todo += [left[middle:], left[:middle]]

    def _reject(self, batch: Sequence[int], standing: dict[int, int | Declaration], said: Said) -> bool:
        """Takes the errors over; whether a statement was rejected that was not before."""
        new = False
        for line, message in said.errors:
            what = standing.get(line)
            for i in () if what is None else self.layout.meant(what, batch):
                if self.verdicts[i] is None:
                    self.verdicts[i] = message
                    new = True
        return new

    def _blame(self, standing: dict[int, int | Declaration], error: tuple[int, str]) -> int | None:
        """Rejects and returns the statement with a syntax error."""
        line, message = error
        what = standing.get(line)
        if not isinstance(what, int):
            return None
        self.verdicts[what] = self.verdicts[what] or message
        return what


def accepts(
    statements: Sequence[str],
    *,
    version: str = "9.0",
    target: str = "sm_90",
    declarations: str = layout.DECLARATIONS,
    module_declarations: str = layout.MODULE_DECLARATIONS,
    whole: bool = False,
) -> list[str | None]:
    """For each statement None where ptxas accepts it, else its first error for it (`(crash)` where it dies)."""
    header = layout.header(version, target)
    with Oracle(architecture(target, whole=whole)) as oracle:
        said = oracle.ask(header + ".entry k () { ret; }\n")
        if not said.accepted:  # a version that does not know the target, say
            return [said.unplaced or (said.syntax_error or (said.errors or [(0, CRASH)])[0])[1]] * len(statements)
        batch = _Batch(oracle, Layout(statements, header, declarations, module_declarations))
        batch.decide()
    return batch.verdicts
