"""Records are what `dataclasses` would make of the same declarations, for whoever uses them."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ptxcore.records import Record, field

ROOT = Path(__file__).resolve().parents[2]


class Base(Record, hashed=True):
    place: int = field(default=0, compare=False, kw_only=True)
    text: str = field(default="", compare=False, kw_only=True, repr=False)


class Point(Base, hashed=True):
    x: int
    y: int = 2

    @property
    def both(self) -> tuple[int, int]:
        return self.x, self.y


class Fixed(Record, frozen=True):
    name: str
    values: tuple[int, ...] = ()


class Bag(Record, kw_only=True):
    name: str
    things: list[int] = field(default_factory=list)


class Nothing(Record, hashed=True):
    pass


@dataclasses.dataclass(slots=True, unsafe_hash=True)
class BaseBefore:
    place: int = dataclasses.field(default=0, compare=False, kw_only=True)
    text: str = dataclasses.field(default="", compare=False, kw_only=True, repr=False)


@dataclasses.dataclass(slots=True, unsafe_hash=True)
class PointBefore(BaseBefore):
    x: int
    y: int = 2


@dataclasses.dataclass(slots=True, frozen=True)
class FixedBefore:
    name: str
    values: tuple[int, ...] = ()


@dataclasses.dataclass(slots=True, kw_only=True)
class BagBefore:
    name: str
    things: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True, unsafe_hash=True)
class NothingBefore:
    pass


class Pair(NamedTuple):
    record: Any
    before: Any


MADE = [
    Pair(Point(1), PointBefore(1)),
    Pair(Point(1, 3, place=5, text="a"), PointBefore(1, 3, place=5, text="a")),
    Pair(Fixed("a"), FixedBefore("a")),
    Pair(Fixed("a", (1, 2)), FixedBefore("a", (1, 2))),
    Pair(Bag(name="b"), BagBefore(name="b")),
    Pair(Bag(name="b", things=[1]), BagBefore(name="b", things=[1])),
    Pair(Nothing(), NothingBefore()),
]
each = pytest.mark.parametrize("made", MADE, ids=lambda m: repr(m.record))


@each
def test_fields_and_repr_are_those_of_a_dataclass(made: Pair) -> None:
    assert repr(made.record) == repr(made.before).replace("Before", "")
    for name in ("name", "default", "compare", "repr", "kw_only", "init"):
        ours, theirs = ([getattr(f, name) for f in dataclasses.fields(m)] for m in made)
        assert ours == theirs
    assert dataclasses.is_dataclass(made.record)
    assert dataclasses.asdict(made.record) == dataclasses.asdict(made.before)
    assert type(made.record).__match_args__ == type(made.before).__match_args__
    assert not hasattr(made.record, "__dict__")


def test_the_same_are_equal_and_have_the_same_hash() -> None:
    for a in MADE:
        for b in MADE:
            assert (a.record == b.record) == (a.before == b.before)
    assert Point(1) == Point(1, place=7) and hash(Point(1)) == hash(Point(1, place=7))
    assert Point(1) != PointBefore(1) and Point(1) != (1, 2)
    assert len({Fixed("a"), Fixed("a"), Fixed("b"), Nothing(), Nothing()}) == 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(Bag(name="b"))


@each
def test_copies_are_equal(made: Pair) -> None:
    record = made.record
    assert copy.copy(record) == copy.deepcopy(record) == pickle.loads(pickle.dumps(record)) == record
    assert dataclasses.replace(record) == record.changed() == record


def test_a_copy_may_have_other_values() -> None:
    assert Point(1, place=3).changed(y=5) == dataclasses.replace(Point(1), y=5) == Point(1, 5)
    assert Point(1, place=3).changed(y=5).place == 3
    assert Point.fields() == ("place", "text", "x", "y")


def test_each_object_has_a_list_of_its_own() -> None:
    first, second = Bag(name="a"), Bag(name="b")
    first.things.append(1)
    assert second.things == []


def test_what_is_frozen_cannot_be_changed() -> None:
    fixed = Fixed("a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        fixed.name = "b"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del fixed.name
    point = Point(1)
    point.x = 4
    assert point.both == (4, 2)


@pytest.mark.parametrize("wrong", [lambda: Point(), lambda: Point(1, 2, 3), lambda: Point(1, z=2), lambda: Bag("a")])
def test_wrong_arguments_are_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"__init__\(\)"):
        wrong()


def test_declaring_records_imports_no_dataclasses() -> None:
    code = "import sys, ptxcore.syntax.tree; print('dataclasses' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "False"
