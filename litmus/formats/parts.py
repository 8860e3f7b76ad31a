"""What each dialect of test files is read into, before anything is checked between its parts."""

from __future__ import annotations

from litmus.formats.condition import Tail
from litmus.formats.declarations import Declarations
from litmus.formats.program import ReadColumn
from ptxcore.records import NamedTuple


class Parts(NamedTuple):
    """The parts of a test. `init_is_good`: nothing was found in the declarations; else a name could be unknown only because its
    declaration is wrong."""

    name: str
    comments: tuple[str, ...]
    meta: tuple[tuple[str, str], ...]
    declared: Declarations
    init_is_good: bool
    columns: list[ReadColumn]
    tail: Tail
