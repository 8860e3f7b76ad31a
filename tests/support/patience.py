"""No answer of a test hangs on how fast the machine is.

Reasons and proofs have some seconds, for people wait for them. A machine with other work does less in them, and a test that
asks for what they say would be red for time.
"""

from __future__ import annotations

from axioms.explain import forbidding
from axioms.sat import proving


def endless() -> None:
    """From now on they have as long as for whoever asks for reasons: that is as good as no limit."""
    forbidding._SECONDS = forbidding.MOST_SECONDS
    proving._PATIENCE = 1000 * int(forbidding.MOST_SECONDS)
