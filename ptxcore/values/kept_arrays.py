"""What was computed of arrays that nobody can write any more, kept for who asks again: matrices of a few warps have so few
elements that to look at them once more costs as much as to multiply them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

#: Of how many arrays something is kept, and of how many elements together at most: where there are more, looking at them
#: again is no part of what matters. Elements are of 8 bytes at most.
_MOST_KEPT, _MOST_ELEMENTS = 64, 1 << 14


def fixed(array: Any) -> bool:
    """Whether nobody can write an array, or what it is a view of the whole of."""
    owner = array if array.base is None else array.base
    return not owner.flags.writeable and owner.flags.owndata and owner.size == array.size


class KeptOfArrays:
    """What one function gives of arrays, by which arrays they are. They are held on to, so that no other one has their name."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Hashable, ...], tuple[Any, Any]] = OrderedDict()

    def of(self, arrays: Sequence[Any], make: Callable[[], Any], *also: Any) -> Any:
        """What `make` gives; `also` is what else that hangs on, by identity."""
        if sum(a.size for a in arrays) > _MOST_ELEMENTS or not all(map(fixed, arrays)):
            return make()
        holders = [*(a if a.base is None else a.base for a in arrays), *also]
        key = tuple(map(id, holders))
        found = self._kept.pop(key, None)
        if found is None:
            found = holders, make()
        self._kept[key] = found
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return found[1]


__all__ = ["KeptOfArrays", "fixed"]
