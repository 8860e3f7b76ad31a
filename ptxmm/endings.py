"""How processes end, in words."""

from __future__ import annotations

import signal


def how_ended(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            return f"was killed ({signal.Signals(-code).name})"
        except ValueError:
            return f"was killed (signal {-code})"
    return f"ended with status {code}"
