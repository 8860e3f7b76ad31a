"""The PTX of a kernel test: read from a file, or compiled from CUDA C++ by an nvcc that is installed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType

from ptxcore import clock
from ptxcore.diagnostics import Diagnostic, InputError, Span
from ptxcore.records import NamedTuple
from ptxcore.sources import read_bytes, status
from ptxmm.kernels.compiled import KeptPtx
from ptxmm.kernels.headers import advice, options_for_headers

#: What nvcc is told, each unless the test says something of its kind.
NVCC_OPTIONS = ("-std=c++17", "-arch=sm_90", "-lineinfo")
#: What options say something in place of each of those: without line information, findings have no place in the source.
_INSTEAD = (
    ("-std", "--std"),
    ("-arch", "--gpu-architecture", "-gencode", "--generate-code"),
    ("-lineinfo", "--generate-line-info", "-G", "--device-debug"),
)
#: The architectures that are tried next where nobody named one and the source has instructions that the first one has not:
#: `wgmma` and `setmaxnreg`, `tcgen05`.
_NEXT = ("sm_90a", "sm_100a")
_LACKING = re.compile(r"\bnot supported on \.target\b")
_PATIENCE = 300  # seconds for one compilation
_FOLDERS = 4  # in which headers are that a source lacks
#: What it says of where it looks is read: not in another language.
_PLAIN = {"LC_ALL": "C"}
_LONGEST = 64 << 20  # bytes of a module
_ENTRY = re.compile(r"(?<![\w$.])\.entry\s++([\w$]++)")
_OF_LANES = re.compile(r"\b(?:shfl|redux|vote|match|bar\.warp|barrier\.warp|ldmatrix|stmatrix|mma|wmma|elect)\.")
_OF_CTA = re.compile(r"\b(?:bar|barrier)\.(?:cta\.)?(?:sync|red|arrive)\b")
_HEAD = re.compile(r"(?<![\w$.])\.(?:entry|func)\b")
_TARGET = re.compile(r"(?<![\w$.])\.target\s++(sm_\w++)")
_ATOMIC = re.compile(r"\b(?:atom|red)\.(?![^;]*\bshared\b)")
_DYNAMIC = re.compile(r"(?<![\w$.])\.extern\s++\.shared\b")
#: Strings and comments; either may hold what looks like the other.
_NO_CODE = re.compile(r'"[^"\r\n]*+"|//[^\r\n]*+|/\*(?>(?:[^*]++|\*(?!/))*)(?>(?:\*/)?)')


class PtxText(NamedTuple):
    """PTX text, and the name by which its lines are told. Where nvcc made it, `source` is the file that it made it of, and the
    name is one of its own: lines of the PTX are no lines of the source; `options` are what nvcc was told, `kept` is the file
    that the text is kept in, if any."""

    text: str
    path: str
    source: str = ""
    options: tuple[str, ...] = ()
    kept: str = ""

    def entries(self) -> list[str]:
        """The names of its kernels."""
        return list(dict.fromkeys(_ENTRY.findall(bare(self.text))))


def has_dynamic(text: str) -> bool:
    """Whether a module declares dynamic shared memory."""
    return _DYNAMIC.search(bare(text)) is not None


def has_atomics(text: str) -> bool:
    """Whether a module has atomic operations that may be on memory that several CTAs have."""
    return _ATOMIC.search(bare(text)) is not None


def bare(text: str) -> str:
    """A module without its strings and comments."""
    return _NO_CODE.sub(" ", text)


def begins_early(text: str) -> bool:
    """Whether a kernel of a module lets the next launch of its stream begin early."""
    return "griddepcontrol.launch_dependents" in text


def exchanges(code: str) -> bool:
    """Whether the lanes of a warp do something together in some code."""
    return _OF_LANES.search(code) is not None


def meets_as_cta(code: str) -> bool:
    """Whether there are barriers of the CTA in some code."""
    return _OF_CTA.search(code) is not None


def body_of(code: str, entry: str) -> str:
    """The part of a module without comments in which a kernel stands."""
    head = re.search(rf"(?<![\w$.])\.entry\s+{re.escape(entry)}(?![\w$])", code)
    if head is None:
        return ""
    following = _HEAD.search(code, head.end())
    return code[head.end() : following.start() if following is not None else len(code)]


def options_for(text: str) -> tuple[str, ...]:
    """What nvcc is told so that it makes a module for the target of another."""
    return _for_target(NVCC_OPTIONS, text)


def _for_target(options: Sequence[str], text: str) -> tuple[str, ...]:
    target = _TARGET.search(bare(text))
    return tuple(f"-arch={target[1]}" if option.startswith("-arch") and target else option for option in options)


def completed(options: Sequence[str]) -> tuple[str, ...]:
    """Options of nvcc with the usual ones of which they say nothing."""
    more = (usual for usual, kind in zip(NVCC_OPTIONS, _INSTEAD, strict=True) if not _says(options, kind))
    return (*more, *options)


def _says(options: Sequence[str], kind: tuple[str, ...]) -> bool:
    """Whether there is an option of a kind."""
    return any(option.partition("=")[0] in kind for option in options)


class ModuleError(Exception):
    """A module that cannot be had, in words; `details` may have what the compiler said."""

    def __init__(self, message: str, hint: str | None = None, details: str = "") -> None:
        self.message, self.hint, self.details = message, hint, details
        super().__init__(message)


def read(path: str) -> PtxText:
    """The module in a file. Raises ModuleError where there is none."""
    try:
        data = read_bytes(path, _LONGEST, "a PTX module")
    except (OSError, ValueError) as error:
        raise ModuleError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    return PtxText(data.decode("utf-8", "surrogateescape"), path)  # PTX is ASCII: who reads it will say so


def is_source(path: str) -> bool:
    """Whether a file is CUDA C++, by its ending."""
    return path.lower().endswith((".cu", ".cuh"))


def of_file(path: str, options: Sequence[str] = ()) -> PtxText:
    """The module in a file of PTX, or the one that nvcc makes of CUDA C++. Raises InputError where there is none."""
    try:
        return compile_cuda(path, options) if is_source(path) else read(path)
    except ModuleError as error:
        hint = f"{error.hint}\n{error.details}".strip() if error.hint else None
        raise InputError([Diagnostic(Span(0, 0, 0), error.message, hint)], path) from None


def with_headers(path: str) -> tuple[PtxText, list[str]]:
    """The module that nvcc makes of a CUDA source, and the options with which it finds headers there that stand in folders
    nearby. Raises InputError, with what nvcc says without these, where that is not enough."""
    options: list[str] = []
    for _ in range(_FOLDERS):
        try:
            return compile_cuda(path, options), options
        except ModuleError as error:
            more = options_for_headers(error.details, path)
            if not more:
                break
            options += more
    return of_file(path), []


def compile_cuda(path: str, options: Sequence[str] = ()) -> PtxText:
    """The module that nvcc makes of a CUDA source, or has made of the same before: of `lock.cu`, one by the name of
    `lock.cu.ptx`. `options` are completed (`completed`).

    Raises ModuleError without an nvcc, and for what it refuses."""
    try:
        status(path)
    except (OSError, ValueError) as error:
        raise ModuleError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    named = _says(options, _INSTEAD[1])
    return _compiled(path, completed(options), () if named else _NEXT)


def compile_changed(text: str, path: str, options: Sequence[str], source: str = "") -> str:
    """The PTX that nvcc makes of a source that reads `text` and would stand at `path`; or of the file `source`, with a header
    that would. Nothing is written there, and nothing kept. Raises ModuleError likewise."""
    main = os.path.abspath(source or path)
    beside = os.path.dirname(main)
    seen = os.path.relpath(os.path.abspath(path), beside)
    if seen.startswith(os.pardir):
        raise ModuleError(f"{path} stands in no folder of {source}")
    with tempfile.TemporaryDirectory(prefix="ptxmm-") as folder:
        changed, compiled = os.path.join(folder, seen), os.path.join(folder, os.path.basename(main))
        try:
            os.makedirs(os.path.dirname(changed), exist_ok=True)
            if source:
                shutil.copyfile(main, compiled)
            with open(changed, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                file.write(text)
        except OSError as error:
            raise ModuleError(f"cannot write {changed}: {error.strerror or error}") from None
        near = [o for where in dict.fromkeys((beside, os.path.dirname(os.path.abspath(path)))) for o in ("-I", where)]
        return _run(_nvcc(main, options), [*options, *near], compiled, os.path.join(folder, "module.ptx"))[0]


def _compiled(path: str, options: tuple[str, ...], others: Sequence[str] = ()) -> PtxText:
    """What nvcc makes of a file with `options`, or for `others`, architectures, where it has what the usual one lacks."""
    nvcc = _nvcc(path, options)
    kept = KeptPtx(nvcc, options, path)
    known = kept.found()
    if known is not None:
        return PtxText(known, f"{path}.ptx", path, _for_target(options, known) if others else options, kept.file(known))
    begun = time.time()
    with tempfile.TemporaryDirectory(prefix="ptxmm-") as folder:
        output, headers = os.path.join(folder, "module.ptx"), os.path.join(folder, "module.d")
        more = kept.options(headers)
        try:
            text, printed = _run(nvcc, [*options, *more], path, output, _PLAIN if more else {})
        except ModuleError as error:
            text, printed = _made_otherwise(error, nvcc, options, others, more, path, output)
        kept.keep(text, headers, printed, begun)
        return PtxText(text, f"{path}.ptx", path, _for_target(options, text) if others else options, kept.file(text))


def _made_otherwise(
    error: ModuleError,
    nvcc: str,
    options: tuple[str, ...],
    others: Sequence[str],
    more: Sequence[str],
    path: str,
    output: str,
) -> tuple[str, str]:
    """As `_run`, where it ended with an error: for other architectures, where that is what lacks, or without `more`, so that
    what is said is of a mistake, and nothing else. Raises ModuleError."""
    for other in others if _LACKING.search(error.details) else ():
        with suppress(ModuleError):  # what the usual one lacks is told
            chosen = [f"-arch={other}" if option == NVCC_OPTIONS[1] else option for option in options]
            return _run(nvcc, [*chosen, *more], path, output, _PLAIN if more else {})
    if not more:
        raise error
    return _run(nvcc, options, path, output)


def _run(
    nvcc: str, options: Sequence[str], path: str, output: str, environment: Mapping[str, str] = MappingProxyType({})
) -> tuple[str, str]:
    """What a compiler makes of a file, and what it says. Raises ModuleError; OutOfTime where the limit passes that is set."""
    left = clock.left()
    try:
        done = subprocess.run(
            [nvcc, *options, *([] if path.endswith(".cu") else ["-x", "cu"]), "-ptx", "-o", output, path],
            capture_output=True, text=True, errors="replace", check=False,
            timeout=_PATIENCE if left is None else min(left, _PATIENCE), env={**os.environ, **environment},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        clock.look()
        raise ModuleError(f"nvcc did not compile {path} in {_PATIENCE} s") from None
    except OSError as error:
        raise ModuleError(f"cannot run {nvcc}: {error.strerror or error}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise ModuleError(
            f"nvcc does not compile {path}", "\n".join(filter(None, [advice(said, path), "nvcc says:"])), said
        )
    return read(output).text, done.stderr


def _nvcc(path: str, options: Sequence[str]) -> str:
    """The compiler: what `NVCC` names, or what is in `PATH`, or where CUDA installs it. Raises ModuleError where there is none,
    with what else may be done about a source."""
    named = os.environ.get("NVCC")
    homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    places = [os.path.join(home, "bin", "nvcc") for home in (*homes, "/usr/local/cuda") if home]
    for candidate in (named, "nvcc", *places):
        found = shutil.which(candidate) if candidate else None
        if found:
            return found
        if candidate and candidate == named:
            raise ModuleError(f"NVCC={named}: there is no such program")
    made = f"{os.path.splitext(path)[0]}.ptx"
    elsewhere = shlex.join(["nvcc", *options, "-ptx", "-o", made, path])
    raise ModuleError(
        f"compiling {path} needs nvcc, which is neither in PATH nor where CUDA_HOME says nor in /usr/local/cuda",
        f"install CUDA's compiler (docs/kernels.md says how) or name it in NVCC; or compile where there is one, {elsewhere}, "
        f"and give {made} in its place",
    )
