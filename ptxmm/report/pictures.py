"""Pictures of executions in pages of reports. Each is an image, which needs no script. Where scripts run, the explorer's own
picture takes its place: one execution at a time, to step through, with relations to switch. It is drawn from a second file
beside the image, a script that holds the same text, since a page from disk may fetch nothing else."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files

from ptxcore.records import NamedTuple
from ptxmm.report.drawings import Drawings
from ptxmm.report.pages import text
from ptxmm.writing import write_whole

#: Images of a page that are open from the beginning.
_OPEN = 3
#: The modules of the explorer that draw, in the order in which they need each other.
_MODULES = ("strings.js", "dom.js", "drawing.js", "picture.js")
_SCRIPT = "figures.js"


class Picture(NamedTuple):
    """A picture to write: `what` names it within its test, `name` within its page."""

    what: str
    caption: str
    svg: str
    name: str = ""


class WrittenPicture(NamedTuple):
    """A picture that is written: its file below `pictures`, without an ending, and what it shows."""

    file: str
    caption: str
    svg: str
    name: str


class Pictures:
    """Writes the pictures of tests below the folder of a report. It and its methods raise OSError where a file cannot be
    written."""

    def __init__(self, folder: str) -> None:
        below = os.path.join(folder, "pictures")
        self._drawings = Drawings({"svg": below, "js": below})
        write_whole(os.path.join(folder, _SCRIPT), script())

    def put(self, test: str, pictures: Sequence[Picture]) -> list[WrittenPicture]:
        """Writes those of one test."""
        wanted = {(kind, p.what): made for p in pictures for kind, made in (("svg", p.svg), ("js", _held(p.svg)))}
        paths = self._drawings.put(test, wanted)[::2]
        bases = [os.path.splitext(os.path.basename(path))[0] for path in paths]
        return [WrittenPicture(base, p.caption, p.svg, p.name) for base, p in zip(bases, pictures, strict=True)]


def script() -> str:
    """The explorer's picture and what steps through several, as one script: a page from disk can load no modules."""
    static = files("ptxmm") / "web" / "static"
    parts = [_plain((static / name).read_text(encoding="utf-8")) for name in _MODULES]
    own = (files("ptxmm.report") / _SCRIPT).read_text(encoding="utf-8")
    return "(() => {\n'use strict';\n" + "\n".join([*parts, own]) + "})();\n"


def group(written: Sequence[WrittenPicture], first: int = 0) -> Iterator[str]:
    """Executions of one test in a page below the folder of the report; of many images, those behind the first are folded. Where
    scripts run, number `first` is shown first."""
    if not written:
        return
    yield f"<div class=executions data-first={first}>\n"
    for picture in written[:_OPEN]:
        yield _figure(picture)
    for picture in written[_OPEN:]:
        yield f"<details><summary>{text(picture.caption)}</summary>{_figure(picture)}</details>\n"
    yield "</div>\n"


def scripts() -> str:
    """What a page with pictures loads."""
    return f'<script src="../{_SCRIPT}"></script>'


def _figure(picture: WrittenPicture) -> str:
    """A picture that is fetched when somebody comes to see it, and takes its room before."""
    parts = [(name, picture.svg.partition(f' {name}="')[2].partition('"')[0]) for name in ("width", "height")]
    sizes = [(name, size.partition(".")[0]) for name, size in parts]
    size = "".join(f" {name}={value}" for name, value in sizes if value.isdecimal())
    name = f' id="{text(picture.name)}"' if picture.name else ""
    path, caption = f"../pictures/{text(picture.file)}", text(picture.caption)
    return (
        f'<figure{name} data-drawing="{path}.js"><img loading=lazy src="{path}.svg"{size} '
        f'alt="{caption}; its steps are in the text below"><figcaption>{caption}</figcaption></figure>\n'
    )


def _held(svg: str) -> str:
    """A script that holds a picture, for the element that loads it."""
    return f"document.currentScript.drawing = {json.dumps(svg)};\n"


def _plain(module: str) -> str:
    """A module as a part of a script in which the modules that it imports stand before it."""
    return re.sub(r"^export ", "", re.sub(r"^import .*;\n", "", module, flags=re.MULTILINE), flags=re.MULTILINE)
