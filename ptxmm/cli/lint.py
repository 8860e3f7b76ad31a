"""`ptxmm lint`."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

from ptxcore.records import NamedTuple

if TYPE_CHECKING:
    from argparse import Namespace

    from ptxcore.diagnostics import Diagnostic
    from ptxmm.cli.options import Commands
    from ptxmm.kernels.modules import PtxText
    from ptxmm.report.linted import LintReport
    from ptxmm.source_fixes import SourceAdvice

_SOUND, _ERRORS, _UNREADABLE, _UNDECIDED = range(4)
#: Which of them counts, of many files: as for `ptxmm check`.
_WORST = (_UNREADABLE, _ERRORS, _UNDECIDED, _SOUND)


def add(commands: Commands) -> None:
    """The options of the command."""
    from ptxmm.cli.options import TIME, command, seconds

    lint = command(
        commands,
        "lint",
        "check PTX modules",
        "Checks PTX modules as ptxas 13.0 does, or as the PTX ISA 9.0 manual says, and advises authors of "
        "concurrent code. Modules are taken as relocatable. Of CUDA C++ the module that nvcc makes is checked, and told at "
        "lines of the source, with fixes that were compiled and checked again.",
        "0 no errors (there may be warnings); 1 at least one error; 2 a file that cannot be read or written; "
        "3 a file that was not checked to its end; 130 interrupted",
        "ptxmm lint kernel.ptx",
        "ptxmm lint kernel.ptx --diff",
        "ptxmm lint kernel.cu",
        "ptxmm lint kernel.cu --fix",
        "ptxmm lint *.ptx --as manual --format json",
    )
    lint.add_argument("paths", nargs="+", metavar="FILE.ptx|FILE.cu", help="PTX modules, or CUDA C++")
    lint.add_argument("--nvcc", metavar="OPTIONS", type=shlex.split, help="options of the compiler, in one word")
    lint.add_argument(
        "--as",
        dest="mode",
        choices=("ptxas", "manual"),
        default="ptxas",
        help="who judges where the two differ (default: %(default)s)",
    )
    mending = lint.add_mutually_exclusive_group()
    mending.add_argument("--fix", action="store_true", help="apply the fixes of warnings, and tell what is left")
    mending.add_argument("--diff", action="store_true", help="show what --fix would change, and change nothing")
    lint.add_argument("--timeout", type=seconds, metavar=TIME, help="for each file; it is undecided then")
    lint.add_argument(
        "--format", choices=("text", "json", "sarif", "github"), default="text", help="default: %(default)s"
    )


def lint(options: Namespace) -> int:
    """Runs the command; gives its exit status: 0 without errors, 1 with one, 2 where a file cannot be read or written, 3 where
    one was not checked to its end."""
    from ptxmm.report.linted import chosen

    report = chosen(options.format)
    seen = {_SOUND}
    try:
        for path in _progress(options.paths, options.format):
            seen.add(_file(path, options, report))
    finally:  # what was finished before an interruption is still said
        if not options.diff:
            report.end()
    return next(status for status in _WORST if status in seen)


def _file(path: str, options: Namespace, report: LintReport) -> int:
    """Checks a file, mends it where that was asked for, and reports it; gives its status."""
    from ptxmm.diffs import unified, write_exactly
    from ptxmm.kernels.modules import is_source
    from ptxmm.linting import read, write

    if is_source(path):
        return _source(path, options, report)
    try:
        text = read(path)
    except OSError as error:
        report.broken(path, f"{path}: error: cannot read: {error.strerror or error}")
        return _UNREADABLE
    told = _checked(path, text, options, report)
    if isinstance(told, int):
        return told
    found, fixes = told
    if fixes and options.diff:
        write_exactly(sys.stdout, unified(path, text, fixes.text))
    elif fixes:
        try:
            write(path, fixes.text)
        except OSError as error:
            report.broken(path, f"{path}: error: cannot write: {error.strerror or error}")
            return _UNREADABLE
        text, found = fixes.text, fixes.left
        report.mended(fixes.mended)
    if not options.diff:
        report.add(path, text, found)
    return _ERRORS if any(d.severity == "error" for d in found) else _SOUND


def _source(path: str, options: Namespace, report: LintReport) -> int:
    """Checks what nvcc makes of CUDA C++, tells it at lines of the source, and mends it there; gives the status."""
    from ptxcore.diagnostics import InputError
    from ptxmm.diffs import filed, unified, write_exactly
    from ptxmm.kernels.modules import of_file
    from ptxmm.linting import write

    try:
        module = of_file(path, options.nvcc or ())
    except InputError as error:
        report.broken(path, error.render())
        return _UNREADABLE
    told = _checked(path, module.text, options, report, fix=False)
    if isinstance(told, int):
        return told
    text, placed, advice = _in_source(path, module, told[0], options)
    if advice is not None and (options.fix or options.diff):
        new, mended = advice.mended(placed)
        old, new = filed(path, text, new)
        if mended and options.diff:
            write_exactly(sys.stdout, unified(path, old, new))
        elif mended:
            try:
                write(path, new)
            except OSError as error:
                report.broken(path, f"{path}: error: cannot write: {error.strerror or error}")
                return _UNREADABLE
            report.mended(len(mended))
            return _source(path, _without_fixes(options), report)
    if not options.diff:
        report.add(path, text, placed)
    return _ERRORS if any(d.severity == "error" for d in placed) else _SOUND


def _without_fixes(options: Namespace) -> Namespace:
    """The same options for a file that was mended: what is left is told."""
    from argparse import Namespace

    return Namespace(**{**vars(options), "fix": False})


def _in_source(
    path: str, module: PtxText, found: list[Diagnostic], options: Namespace
) -> tuple[str, list[Diagnostic], SourceAdvice | None]:
    """The source, what was found in its module at lines of it, with what mends it there, and who knows that."""
    import time

    from ptxcore.clock import OutOfTime
    from ptxcore.diagnostics import InputError
    from ptxmm.kernels.source import in_source
    from ptxmm.linting import lint_text, read
    from ptxmm.source_fixes import SourceAdvice

    if not found:
        return "", [], None
    begun = time.perf_counter()

    def linted(text: str) -> list[Diagnostic]:
        left = None if options.timeout is None else options.timeout - (time.perf_counter() - begun)
        if left is not None and left <= 0:
            raise OutOfTime
        return lint_text(text, mode=options.mode, timeout=left)

    try:
        text = read(path).replace("\r\n", "\n")
        advice = SourceAdvice(module, text, found, linted)
        fixes = {} if any(d.severity == "error" for d in found) else advice.fixes()
    except OSError:  # it was there a moment ago
        return "", list(in_source(InputError(found, module.path, module.text), module).diagnostics), None
    placed: dict[Diagnostic, None] = {}
    for one in found:
        for there in in_source(InputError([one], module.path, module.text), module).diagnostics:
            placed[there._replace(fix=fixes.get(one))] = None
    return text, list(placed), advice


class _Fixes(NamedTuple):
    """The text with so many findings `mended`, and what is `left` of them."""

    text: str
    mended: int
    left: list[Diagnostic]


def _checked(
    path: str, text: str, options: Namespace, report: LintReport, *, fix: bool = True
) -> int | tuple[list[Diagnostic], _Fixes | None]:
    """What is wrong with a module and, where that was asked for, where it has no errors and is a file to `fix`, what mends it.
    A status where that is not known, which was told then."""
    from ptxcore.clock import OutOfTime
    from ptxcore.fixes import applied
    from ptxmm.linting import lint_text
    from ptxmm.result import out_of_time

    try:
        found = lint_text(text, mode=options.mode, timeout=options.timeout)
        if not (fix and (options.fix or options.diff)) or any(d.severity == "error" for d in found):
            return found, None
        new, mended = applied(text, found)
        if not mended:
            return found, None
        return found, _Fixes(new, len(mended), lint_text(new, mode=options.mode, timeout=options.timeout))
    except OutOfTime:
        report.broken(path, f"{path}: error: undecided: {out_of_time(options.timeout)}")
        return _UNDECIDED
    except MemoryError:
        report.broken(path, f"{path}: error: undecided: out of memory")
        return _UNDECIDED
    except Exception as error:
        from ptxmm.defects import defect
        from ptxmm.words.refusals import written

        report.broken(path, written(defect(error, "the module", f"lint --as {options.mode}"), path))
        return _UNREADABLE


def _progress(paths: list[str], form: str) -> Any:
    """The paths, with a bar on the terminal where there are many."""
    if len(paths) < 2 or not sys.stderr.isatty():
        yield from paths
        return
    from ptxmm.cli.progress import Bar

    with Bar(len(paths)) as bar:
        for path in paths:
            yield path
            bar.advance()
