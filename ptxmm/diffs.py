"""What changes in files, as `git apply` and `patch -p1` take it from the folder where the user stands.

Names are those of git: `a/` and `b/` before the path from here. What lies outside of this folder is named from the root, for
both programs refuse `..`; a line before the diff says so. Tests are read with newlines alone: the diff of a file whose lines
end otherwise has what the file has.
"""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from typing import TextIO

#: Lines of context.
_CONTEXT = 2
#: What was taken for the end of a line by those who read files: kernels take the first two, litmus tests all.
_ENDS = (r"\n", r"\r\n|\n", r"\r\n|\r|\n")
#: What git writes in quotes in a name, and how.
_ODD = {
    '"': '\\"',
    "\\": "\\\\",
    "\t": "\\t",
    "\n": "\\n",
    "\r": "\\r",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
}


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends. A line ends at a newline alone, as `patch` has it: a form feed is within one."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def unified(path: str, old: str, new: str) -> str:
    """A unified diff of a file, by which `git apply` and `patch -p1` make `old` to `new`."""
    name, outside = named(path)
    body = hunks_of(old, new)
    if not body:
        return ""
    first = "from the root of the file system (patch -p1 -d /):\n" if outside else ""
    return f"{first}--- {_written(f'a/{name}')}\n+++ {_written(f'b/{name}')}\n{body}"


def hunks_of(old: str, new: str) -> str:
    """A unified diff without its head: nothing that a program would apply to a file."""
    lines = list(difflib.unified_diff(lines_of(old), lines_of(new), n=_CONTEXT))[2:]
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def named(path: str) -> tuple[str, bool]:
    """A file's name from here, and whether it lies outside of this folder: then it is the name from the root."""
    relative = os.path.normpath(os.path.relpath(path))
    if relative.split(os.sep)[0] != os.pardir:
        return relative.replace(os.sep, "/"), False
    return os.path.abspath(path).replace(os.sep, "/").lstrip("/"), True


def _written(name: str) -> str:
    """A name as git writes it: in quotes with odd characters, and with a tab behind it where it has a blank."""
    if any(c in _ODD or ord(c) < 32 or ord(c) == 127 for c in name):
        return '"' + "".join(_ODD.get(c, c if 32 <= ord(c) != 127 else f"\\{ord(c):03o}") for c in name) + '"'
    return f"{name}\t" if " " in name else name


def filed(path: str, old: str, new: str) -> tuple[str, str]:
    """Both texts as they stand in the file: `old` was read from it, without the ends of lines and the byte order mark that it
    may have. Lines that stay keep their ends; others get the end that most have."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            there = file.read()
    except OSError:
        return old, new
    if there == old:
        return old, new
    mark = "\ufeff" if there.startswith("\ufeff") and not old.startswith("\ufeff") else ""
    before, after = lines_of(old), lines_of(new)
    pieces = next((p for p in (_pieces(there[len(mark) :], ends) for ends in _ENDS) if _plain(p) == before), None)
    if pieces is None:
        return old, new  # the file is another one by now
    usual = Counter(end for _, end in pieces if end).most_common(1)
    end = usual[0][0] if usual else "\n"
    codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    made = "".join(
        "".join(map("".join, pieces[a:b]))
        if kind == "equal"
        else "".join(line.replace("\n", end) for line in after[c:d])
        for kind, a, b, c, d in codes
    )
    return there, mark + made


def _pieces(text: str, ends: str) -> list[tuple[str, str]]:
    """The lines of a text, each with its end."""
    parts = re.split(f"({ends})", text)
    lines = list(zip(parts[::2], [*parts[1::2], ""], strict=True))
    return lines if lines[-1][0] else lines[:-1]


def _plain(pieces: list[tuple[str, str]]) -> list[str]:
    return [line + ("\n" if end else "") for line, end in pieces]


def write_exactly(stream: TextIO, text: str) -> None:
    """Writes a text to a stream with the bytes that its lines have in their files, which need not be of the stream's encoding;
    on a terminal as the stream does it."""
    buffer = getattr(stream, "buffer", None)
    if buffer is None or stream.isatty() or not re.search("[\udc80-\udcff]", text):
        stream.write(text)
        return
    try:
        data = text.encode(stream.encoding or "utf-8", "surrogateescape")
    except UnicodeEncodeError:
        stream.write(text)
        return
    stream.flush()
    buffer.write(data)
    buffer.flush()
