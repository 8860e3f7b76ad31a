"""What may stand in the tables of a kernel test, key by key, and what is wrong with a value that may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from litmus.formats.header import ASKS_NOTHING, EXPECTED, asks_nothing
from ptxmm.kernels.document import kind_of
from ptxmm.kernels.test import CLAIMS, DETERMINISTIC, PROPERTIES, QUANTIFIERS
from ptxmm.kernels.words import suggested


def _text(value: object) -> str | None:
    return None if isinstance(value, str) and value else f"a string is wanted here, not {_shown(value)}"


def _texts(value: object) -> str | None:
    several = isinstance(value, list) and all(isinstance(v, str) for v in value)
    return None if several or isinstance(value, str) else f"a string, or an array of strings, not {_shown(value)}"


def _names(value: object) -> str | None:
    several = isinstance(value, list) and all(isinstance(v, str) for v in value)
    return None if several else f"an array of strings is wanted here, not {_shown(value)}"


def _progress(value: object) -> str | None:
    if not isinstance(value, str):
        return f'a progress model is wanted here, as in "obe", not {_shown(value)}'
    from axioms.liveness.progress import progress_named

    try:
        progress_named(value)
    except ValueError as error:
        return str(error)
    return None


def _count(value: object) -> str | None:
    good = type(value) is int and 1 <= value < 1 << 31
    return None if good else f"a number of CTAs from 1 on is wanted here, not {_shown(value)}"


def _flag(value: object) -> str | None:
    return None if isinstance(value, bool) else f"true or false is wanted here, not {_shown(value)}"


def _bytes(value: object) -> str | None:
    good = type(value) is int and 0 <= value < 1 << 31
    return None if good else f"a number of bytes is wanted here, not {_shown(value)}"


def iterations(value: object) -> str | None:
    good = type(value) is int and 1 <= value <= 1 << 16
    return None if good else f"a number of iterations from 1 on is wanted here, not {_shown(value)}"


def _sizes(value: object) -> str | None:
    parts = value if isinstance(value, list) else [value]
    good = 1 <= len(parts) <= 3 and all(type(p) is int and 1 <= p < 1 << 31 for p in parts)
    return None if good else f"one to three whole numbers from 1 on, as in [2, 1, 1], not {_shown(value)}"


def _file(value: object) -> str | None:
    if isinstance(value, str) and "\n" in value:
        return "the name of a file is wanted here, not what it holds"
    return "no file has such a name" if isinstance(value, str) and "\0" in value else _text(value)


def _stream(value: object) -> str | None:
    good = isinstance(value, str) or (type(value) is int and value >= 0)
    return None if good else f"a stream is a name or a number, not {_shown(value)}"


def _device(value: object) -> str | None:
    good = type(value) is int and 0 <= value < 1 << 10
    return None if good else f"a device is a number from 0 to 1023, not {_shown(value)}"


def _verdicts(value: object) -> str | None:
    wrong = _texts(value)
    if wrong is None:
        unknown = _unknown_verdicts(value)
        if unknown or not value:
            wrong = f"a test expects ok, bounded, no, undefined or hangs, not '{unknown[0] if unknown else ''}'"
        elif asks_nothing(_said_verdicts(value)):
            wrong = ASKS_NOTHING
    return wrong


def _said_verdicts(value: Any) -> list[str]:
    return [part.strip() for text in listed(value) for part in text.split("|")]


def _unknown_verdicts(value: Any) -> list[str]:
    return [s for s in _said_verdicts(value) if s not in EXPECTED]


def _meant_verdict(value: object) -> str | None:
    if _texts(value) is not None:
        meant = {True: "ok", False: "no"}.get(value) if isinstance(value, bool) else None
        return f'as in expect = "{meant or "no"}"'
    return next((hint for verdict in _unknown_verdicts(value) if (hint := suggested(verdict, EXPECTED))), None)


def tables(value: object) -> str | None:
    good = isinstance(value, list) and all(isinstance(v, dict) for v in value)
    return None if good else f"an array of tables is wanted here, not {_shown(value)}"


def _launches(value: object) -> str | None:
    return "no kernel is launched: an array of no tables" if value == [] else tables(value)


def _table(value: object) -> str | None:
    return None if isinstance(value, dict) else f"a table is wanted here, not {_shown(value)}"


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""
    return f"{kind_of(value)}{f' ({text})' if 0 < len(text) <= 30 else ''}"


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


#: What may be said beside what is wrong with a value, by its key.
HINTS: dict[str, Callable[[object], str | None]] = {
    "expect": _meant_verdict,
    "kernel": lambda value: "each launch of several is a table of its own: [[kernel]]",
    "variant": lambda value: "each test of several is a table of its own: [[variant]]",
    "bounds": lambda value: "as in bounds = {default = 8}",
    "ptx": lambda value: 'a module stands in a file beside this one, as in ptx = "lock.ptx"',
    "cu": lambda value: 'CUDA stands in a file beside this one, as in cu = "lock.cu"',
    **dict.fromkeys(QUANTIFIERS, lambda value: 'as in "x[0] == 2"'),
    DETERMINISTIC: lambda value: 'a buffer, as in "x", or an element, "x[0]"',
    **dict.fromkeys(PROPERTIES, lambda value: "without quotation marks" if value in ("true", "false") else None),
}
#: What may stand in a table, and what is wrong with a value that may not.
Schema = dict[str, Callable[[object], str | None]]
_LAUNCH: Schema = {
    "ptx": _file,
    "cu": _file,
    "nvcc": _names,
    "entry": _text,
    "grid": _sizes,
    "cluster": _sizes,
    "block": _sizes,
    "dynamic_shared": _bytes,
    "device": _device,
}
KERNEL: Schema = {"name": _text, **_LAUNCH, "args": _names, "stream": _stream, "after": _names}
_TEST: Schema = {
    "description": _text,
    **_LAUNCH,
    "params": _table,
    "memory": _table,
    "check": _table,
    "bounds": _table,
    "kernel": _launches,
    "expect": _verdicts,
    "progress": _progress,
    "resident": _count,
}
VARIANT: Schema = {"name": _text, **_TEST}
FILE: Schema = {**_TEST, "variant": tables}
CHECK: Schema = {**dict.fromkeys(CLAIMS, _texts), **dict.fromkeys(PROPERTIES, _flag)}
