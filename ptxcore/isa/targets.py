"""Targets and versions (PTX ISA 9.0, section 11.1): which architectures there are, and what a feature asks of them."""

from __future__ import annotations

import re
from functools import lru_cache

from ptxcore.records import NamedTuple

#: Every version of the language (the release history of section 13).
VERSIONS = frozenset(
    (major, minor)
    for major, last in {1: 5, 2: 3, 3: 2, 4: 3, 5: 1, 6: 5, 7: 8, 8: 8, 9: 0}.items()
    for minor in range(last + 1)
)
#: The latest one: later modules are read by its rules, and no form needs more.
NEWEST = max(VERSIONS)

#: Architectures and the first PTX version that knows each (section 11.1.2; measured for sm_88).
TARGETS: dict[str, str] = {
    "sm_10": "1.0", "sm_11": "1.0", "sm_12": "1.2", "sm_13": "1.2", "sm_20": "2.0", "sm_21": "2.0", "sm_30": "3.0",
    "sm_32": "4.0", "sm_35": "3.1", "sm_37": "4.1", "sm_50": "4.0", "sm_52": "4.1", "sm_53": "4.2", "sm_60": "5.0",
    "sm_61": "5.0", "sm_62": "5.0", "sm_70": "6.0", "sm_72": "6.1", "sm_75": "6.3", "sm_80": "7.0", "sm_86": "7.1",
    "sm_87": "7.4", "sm_88": "7.3", "sm_89": "7.8", "sm_90": "7.8", "sm_90a": "8.0", "sm_100": "8.6", "sm_100f": "8.8",
    "sm_100a": "8.6", "sm_101": "8.6", "sm_101f": "8.8", "sm_101a": "8.6", "sm_103": "8.8", "sm_103f": "8.8",
    "sm_103a": "8.8", "sm_110": "9.0", "sm_110f": "9.0", "sm_110a": "9.0", "sm_120": "8.7", "sm_120f": "8.8",
    "sm_120a": "8.7", "sm_121": "8.8", "sm_121f": "8.8", "sm_121a": "8.8",
}  # fmt: skip

#: Architectures that share family-specific features (the `f` suffix), by number; sm_110 was sm_101 before PTX 9.0.
FAMILIES = ((100, 103), (101, 110), (120, 121))


class Target(NamedTuple):
    """An architecture by number and suffix: `a` architecture-specific, `f` family-specific, or none."""

    number: int
    suffix: str = ""

    def __str__(self) -> str:
        return f"sm_{self.number}{self.suffix}"


_TARGET = re.compile(r"sm_(\d{2,3})([af]?)\Z")


@lru_cache(maxsize=256)
def target(name: str) -> Target | None:
    """`sm_90a` taken apart; None where it is no architecture's name."""
    m = _TARGET.match(name)
    return Target(int(m[1]), m[2]) if m else None


@lru_cache(maxsize=256)
def version(text: str) -> tuple[int, int]:
    """`"8.6"` as numbers that compare."""
    major, _, minor = text.partition(".")
    return int(major), int(minor or 0)


def _renamed(number: int) -> int:
    return 110 if number == 101 else number


def covers(have: Target, need: Target) -> bool:
    """Whether a module for `have` may use what `need` brought: later architectures have what earlier ones had, `a`
    features stay on their own architecture, `f` features within their family (and there also for `a`)."""
    if not need.suffix:
        return have.number >= need.number
    if need.suffix == "a":
        return have.suffix == "a" and _renamed(have.number) == _renamed(need.number)
    family = next((f for f in FAMILIES if need.number in f), ())
    return bool(have.suffix) and have.number in family and _renamed(have.number) >= _renamed(need.number)


class Gate(NamedTuple):
    """What a feature needs: a PTX version, and one of some targets (none: any)."""

    version: tuple[int, int]
    targets: tuple[Target, ...]

    def wants(self, have_version: tuple[int, int], have: Target | None) -> str | None:
        """What is missing, in words; None when nothing is. Without a target (`have` None) only the version counts."""
        if have_version < self.version:
            return (
                f"needs PTX ISA {self.version[0]}.{self.version[1]}, the module says "
                f"{have_version[0]}.{have_version[1]}"
            )
        if have is not None and self.targets and not any(covers(have, need) for need in self.targets):
            plain = len(self.targets) == 1 and not self.targets[0].suffix
            return f"needs {' or '.join(map(str, self.targets))}{' or higher' if plain else ''}, the module says {have}"
        return None


@lru_cache(maxsize=2048)
def gates(text: str) -> tuple[Gate, ...]:
    """Alternatives written as `"8.6 sm_100a sm_101a / 8.8 sm_100f"`: one of them must hold. Either part may be left out."""
    found = []
    for alternative in text.split("/"):
        words = alternative.split()
        versions = [w for w in words if w[0].isdigit()]
        targets = tuple(t for t in (target(w) for w in words if not w[0].isdigit()) if t is not None)
        if len(versions) + len(targets) != len(words) or len(versions) > 1:
            raise ValueError(f"not a gate: {text!r}")
        found.append(Gate(version(versions[0]) if versions else (1, 0), targets))
    return tuple(found)


def missing(text: str, have_version: tuple[int, int], have: Target | None) -> str | None:
    """What the gate `text` still needs; None where one of its alternatives holds."""
    wants = [gate.wants(have_version, have) for gate in gates(text)]
    return None if None in wants else wants[0]
