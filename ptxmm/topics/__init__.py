"""Pages that `ptxmm explain` prints: mistakes, races, axioms, verdicts and classic shapes, a file each.

A page begins `# NAME: TITLE`. A block of a litmus test says behind `litmus` which verdict `ptxmm check` gives, perhaps an axiom
that forbids its outcome; a block of PTX which warning `ptxmm lint` gives. Tests hold both to that.
May import the standard library.
"""

from __future__ import annotations

import os

_FOLDER = os.path.dirname(__file__)


def names() -> list[str]:
    """The topics, by name."""
    return sorted(name.removesuffix(".md") for name in os.listdir(_FOLDER) if name.endswith(".md"))


def text_of(name: str) -> str:
    """The page of a topic. Raises OSError where there is none."""
    with open(os.path.join(_FOLDER, f"{name}.md"), encoding="utf-8") as file:
        return file.read()


def title_of(name: str) -> str:
    """What a topic is about, in a line."""
    return text_of(name).partition("\n")[0].partition(": ")[2]
