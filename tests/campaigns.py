"""How long campaigns are: as long as they say, or one part in so many, as CI runs them.

pytest -m campaign                      # hours
PTXMM_SHARE=200 pytest -m campaign      # minutes, and the same ones each time
"""

from __future__ import annotations

import os

#: One in so many of what a campaign looks at.
SHARE = max(1, int(os.environ.get("PTXMM_SHARE", "1")))


def share(count: int) -> int:
    """How many to look at, of so many."""
    return -(-count // SHARE)
