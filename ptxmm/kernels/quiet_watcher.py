"""Who watches a run of a launch (`ptxcore.machine.run.watched.RunWatcher`), and lets everything be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_WARP = 32


class QuietWatcher:
    """Is told of all that happens, and changes nothing."""

    def enters(self, cta: Any) -> int:
        return 0

    def reads(self, thread: Any, address: int, size: int) -> int | None:
        return None

    def writes(self, thread: Any, address: int, size: int, value: Any) -> None: ...

    def operates(self, thread: Any, kind: str, how: Any, address: int, write: Any) -> Any:
        return None

    def performs(self, agent: Any, action: Callable[[], None]) -> None:
        action()

    def tensors(self, thread: Any, how: Any) -> Any:
        return _LetsAllBe()

    def other(self, thread: Any, what: str, how: Any = None, address: int = 0) -> None: ...

    def _lets_be(self, *_: object, **__: object) -> None: ...

    begins = ends = updates = copied = multiplies = of_products = _lets_be
    commits = waited = polls = arrives = released = met = unspecified = looks_up = _lets_be


class _LetsAllBe:
    """Is told of Tensor Memory, and does nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None


def place_of_thread(thread: Any) -> tuple[object, int]:
    """The CTA of a thread, and its number there."""
    return thread.cta.index, _WARP * thread.warp + thread.lane
