"""Records are what the standard library would make of the same classes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
import sys
import types
import typing
import weakref
from pathlib import Path
from typing import Any

import pytest

from ptxcore import records

_PRODUCT = ("ptxcore", "axioms", "litmus", "ptxmm")
_ROOT = Path(__file__).parents[2]
#: Two modules of one text: of the standard library's classes, and of ours.
_TEXT = '''
from __future__ import annotations
from dataclasses import field
from typing import Any, ClassVar, Generic, TypeVar

T = TypeVar("T")

@dataclass
class Plain:
    """Told."""
    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list)
    shared: ClassVar[int] = 3

@dataclass(frozen=True, slots=True)
class Frozen:
    a: int
    b: tuple[int, ...] = ()
    c: str = field(default="c", compare=False, repr=False)

@dataclass(frozen=True, slots=True)
class Inherits(Frozen):
    """What is inherited comes first, and one default is another."""
    d: int = 4
    b: tuple[int, ...] = (1,)

@dataclass(unsafe_hash=True, slots=True)
class Hashed:
    a: int
    b: str = "b"

@dataclass(slots=True, kw_only=True)
class Named:
    b: str = "b"
    a: int

@dataclass(slots=True)
class Later:
    a: int
    twice: int = field(init=False)
    made: dict[str, int] = field(init=False, default_factory=dict)
    none: int = field(init=False, default=7)

    def __post_init__(self) -> None:
        self.twice = 2 * self.a

@dataclass(frozen=True, eq=False)
class Itself:
    a: int

@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Weakly:
    a: int

@dataclass(frozen=True, slots=True, order=True)
class Ordered:
    a: int

@dataclass(slots=True)
class Says:
    a: int

    def __repr__(self) -> str:
        return "mine"

    def __eq__(self, other: object) -> bool:
        return True

@dataclass
class Nothing:
    pass

class Pair(NamedTuple):
    """Two."""
    a: int
    b: str = "b"

    @property
    def both(self) -> str:
        return f"{self.a}{self.b}"

    @classmethod
    def of(cls) -> Pair:
        return cls(1)

class Holds(NamedTuple, Generic[T]):
    a: T

class Empty(NamedTuple):
    pass
'''
#: What tells how a class was made.
_OF_THE_MAKER = ("__setstate__", "__getstate__", "__dataclass_params__", "__weakref__", "__orig_bases__")
_VALUES = {"a": 1, "b": "x"}


def _module(name: str, dataclass: Any, tuple_: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    vars(module).update(dataclass=dataclass, NamedTuple=tuple_)
    sys.modules[name] = module
    exec(_TEXT, vars(module))
    return module


_THEIRS = _module("records_of_the_library", dataclasses.dataclass, typing.NamedTuple)
_OURS = _module("records_of_ours", records.dataclass, records.NamedTuple)
_CLASSES = [
    name for name, value in vars(_OURS).items() if isinstance(value, type) and value.__module__ == _OURS.__name__
]
_FIELDS = [name for name in _CLASSES if dataclasses.is_dataclass(getattr(_OURS, name))]


def _can_be_referred_to(one: object) -> bool:
    """Whether weak references to an object can be made. (To ask for its `__weakref__` is an error of Python 3.11.2.)"""
    try:
        weakref.ref(one)
    except TypeError:
        return False
    return True


def _told(cls: Any) -> list[object]:
    """All that can be asked of a class and of what it makes, without the name of its module."""
    accepted = [name for name in inspect.signature(cls).parameters if name in _VALUES]
    given = {name: _VALUES[name] for name in accepted}
    one, same = cls(**given), cls(**given)
    told: list[object] = [
        cls.__doc__
        if dataclasses.is_dataclass(cls) and cls.__doc__ and not cls.__doc__.startswith(cls.__name__)
        else "",
        re.sub(r"ForwardRef\((.*?)\)", r"\1", str(inspect.signature(cls))),
        repr(one),
        one == same,
        one == 7,
        cls.__match_args__,
        cls.__hash__ is None,
        cls.__hash__ is object.__hash__,
        hasattr(one, "__dict__"),
        _can_be_referred_to(one),
        getattr(cls, "__parameters__", None) is not None,
        [name for name in dir(cls) if name not in _OF_THE_MAKER],
    ]
    if cls.__hash__ not in (None, object.__hash__):
        told += [hash(one) == hash(same), hash(one)]
    if cls.__hash__ is not object.__hash__:
        told += [pickle.loads(pickle.dumps(one)) == one, copy.copy(one) == one, copy.deepcopy(one) == one]
    for name in accepted or ("a",):
        told += [_refusal(lambda name=name: setattr(one, name, 5)), _refusal(lambda name=name: delattr(one, name))]
    if accepted:
        other = cls(**{**given, "a": 2})
        told += [other == same, _refusal(lambda: other < same), _refusal(lambda: cls())]
    return told


def _refusal(attempt: Any) -> str:
    try:
        return str(attempt())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("name", _CLASSES)
def test_a_record_is_what_the_standard_library_makes(name: str) -> None:
    assert _told(getattr(_OURS, name)) == _told(getattr(_THEIRS, name))


@pytest.mark.parametrize("name", _FIELDS)
def test_fields_are_the_same(name: str) -> None:
    ours, theirs = (dataclasses.fields(getattr(module, name)) for module in (_OURS, _THEIRS))
    assert [repr(field) for field in ours] == [repr(field) for field in theirs]


def test_a_record_is_replaced_taken_apart_and_matched() -> None:
    found = dataclasses.replace(_OURS.Frozen(1), b=(2,))
    assert (dataclasses.asdict(found), found.c) == ({"a": 1, "b": (2,), "c": "c"}, "c")
    match found:
        case _OURS.Frozen(a, b):
            assert (a, b) == (1, (2,))
    assert _OURS.Pair.of()._replace(b="c")._asdict() == {"a": 1, "b": "c"}
    assert (_OURS.Pair(1).both, _OURS.Pair._field_defaults, _OURS.Holds[int](3).a) == ("1b", {"b": "b"}, 3)


def test_a_record_in_itself_is_shown() -> None:
    for module in (_OURS, _THEIRS):
        found = module.Plain(1)
        found.c.append(found)
        assert repr(found) == "Plain(a=1, b='b', c=[...])"


def test_records_of_two_classes_differ() -> None:
    assert _OURS.Frozen(1, (1,)) != _OURS.Inherits(1)
    assert _OURS.Inherits(1) == _OURS.Inherits(1, (1,), "other", 4)
    assert _OURS.Frozen(1) != _THEIRS.Frozen(1)


def test_all_records_of_the_product_are_made_here() -> None:
    imports = re.compile(r"^from (dataclasses|typing) import .*\b(dataclass|NamedTuple)\b", re.M)
    files = [path for room in _PRODUCT for path in (_ROOT / room).rglob("*.py") if path.name != "records.py"]
    assert len(files) > 100
    assert [str(path) for path in files if imports.search(path.read_text("utf-8"))] == []
