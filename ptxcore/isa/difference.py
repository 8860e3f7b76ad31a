"""Where ptxas and the manual disagree: stated beside the declarations, listed in the documentation."""

from __future__ import annotations

from ptxcore.records import NamedTuple


class Difference(NamedTuple):
    """One disagreement: the manual's section, what ptxas 13.0 does, what the manual says (both in our words).

    `checked` is false where the checker follows neither mode there, and the text says what it does instead."""

    section: str
    ptxas: str
    manual: str
    checked: bool = True
