"""`dataclass` and `NamedTuple` as the standard library has them, made in a fraction of the time.

A short command makes some two hundred of these classes and uses few of them. The standard library compiles up to six methods
for each, and each annotation of a tuple: a quarter of `ptxmm check` of one small test. Here it still makes fields and slots;
what compares and hashes is compiled when it is called first, and what need not be fast is one function for all classes. To a
type checker both are the originals.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections import namedtuple
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Generic

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from typing import NamedTuple as NamedTuple


class _Factory:
    """Stands for what a factory makes, among the defaults of `__init__`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<factory>"


_MADE: Any = _Factory()
_store = object.__setattr__
_namedtuple: Any = namedtuple  # which is not called with the text of a class here
#: Of a tuple's body what belongs to the class and not to its fields.
_OF_THE_BODY = frozenset(("__module__", "__qualname__", "__annotations__"))


def _dataclass(
    cls: type | None = None, *, eq: bool = True, frozen: bool = False, unsafe_hash: bool = False, **options: Any
) -> Any:
    """As `dataclasses.dataclass` with these options, `slots`, `weakref_slot` and `kw_only`; ordered ones are the original's."""
    if cls is None:
        return lambda found: _dataclass(found, eq=eq, frozen=frozen, unsafe_hash=unsafe_hash, **options)
    if options.get("order"):
        return dataclasses.dataclass(eq=eq, frozen=frozen, unsafe_hash=unsafe_hash, **options)(cls)
    documented = cls.__doc__
    cls.__doc__ = documented or " "  # else a signature is written for it, which costs as much as a method
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)
    made.__doc__ = documented
    fields = dataclasses.fields(made)
    methods: dict[str, Any] = {"__init__": _init(made, fields, frozen), "__repr__": _shown}
    compared = [field.name for field in fields if field.compare]
    if eq:
        methods["__eq__"] = _equal(made, compared)
    if unsafe_hash or (eq and frozen):
        methods["__hash__"] = _hash(made, compared)
    elif eq:
        methods["__hash__"] = None
    if frozen:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        if options.get("slots"):
            methods |= {"__getstate__": _state, "__setstate__": _restore}
    own = set(cls.__dict__) - ({"__hash__"} if cls.__dict__.get("__hash__", 0) is None else set())
    for name, method in methods.items():
        if name not in own:
            setattr(made, name, method)
    return made


def _init(cls: type, fields: tuple[Field[Any], ...], frozen: bool) -> Any:
    known: dict[str, Any] = {"__name__": cls.__module__, "_store": _store, "_MADE": _MADE}
    by_place: list[str] = []
    by_name: list[str] = []
    body: list[str] = []
    for field in fields:
        name, default = field.name, f"_default_{field.name}"
        parameter = value = name
        if field.default is not MISSING:
            known[default] = field.default
            parameter = f"{name}={default}"
        elif field.default_factory is not MISSING:
            known[default] = field.default_factory
            parameter, value = f"{name}=_MADE", f"{default}() if {name} is _MADE else {name}"
        if field.init:
            (by_name if field.kw_only else by_place).append(parameter)
        elif field.default_factory is not MISSING:
            value = f"{default}()"
        elif field.default is not MISSING and "__slots__" in vars(cls):
            value = default  # there is no attribute of the class in its place
        else:
            continue
        body.append(f"_store(self,{name!r},{value})" if frozen else f"self.{name}={value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ",".join(["self", *by_place, *(["*", *by_name] if by_name else [])])
    method = _compiled(cls, "__init__", parameters, "\n ".join(body) or "pass", known)
    method.__annotations__ = {field.name: field.type for field in fields if field.init} | {"return": None}
    return method


def _compiled(cls: type, name: str, parameters: str, body: str, known: dict[str, Any]) -> Any:
    exec(f"def {name}({parameters}):\n {body}", known)
    method = known.pop(name)
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    return method


def _equal(cls: Any, names: list[str]) -> Callable[[Any, object], Any]:
    def __eq__(self: Any, other: object) -> Any:
        mine, others = (_listed(whose, names) for whose in ("self", "other"))
        text = f"if other.__class__ is self.__class__: return {mine}=={others}\n return NotImplemented"
        method = _compiled(cls, "__eq__", "self,other", text, {"__name__": cls.__module__})
        cls.__eq__ = method
        return method(self, other)

    return __eq__


def _hash(cls: Any, names: list[str]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:
        text = f"return hash({_listed('self', names)})"
        method = _compiled(cls, "__hash__", "self", text, {"__name__": cls.__module__})
        cls.__hash__ = method
        found: int = method(self)
        return found

    return __hash__


def _listed(whose: str, names: list[str]) -> str:
    """The text of a tuple of all fields."""
    return "(" + "".join(f"{whose}.{name}," for name in names) + ")"


@recursive_repr()
def _shown(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        _store(self, field.name, value)


class _TupleType(type):
    """Makes of a class of fields a named tuple with its methods; generic ones are the original's."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        if Generic in bases:
            original = [typing.NamedTuple if base is NamedTuple else base for base in body.pop("__orig_bases__")]
            return types.new_class(name, original, exec_body=lambda namespace: namespace.update(body))
        fields = body.get("__annotations__", {})
        defaults = [body[field] for field in fields if field in body]
        made: Any = _namedtuple(name, fields, defaults=defaults, module=body["__module__"])
        made.__annotations__ = made.__new__.__annotations__ = dict(fields)
        for key, value in body.items():
            if key not in fields and key not in _OF_THE_BODY:
                setattr(made, key, value)
        return made


if not TYPE_CHECKING:
    dataclass = _dataclass
    NamedTuple = type.__new__(_TupleType, "NamedTuple", (), {"__doc__": "As `typing.NamedTuple`."})
