"""Classes with named fields, declared as those of `dataclasses` are, for the files that every command imports.

    class Name(Record, hashed=True):
        name: str
        prefix: str = ""

A command that checks one small test declares dozens of them and makes objects of a few. `dataclasses` compiles several
functions for each when it is declared, and brings half of the standard library along; that was a quarter of the time that such
a command takes. Here one function is compiled for a class, `__init__`, when its first object is made. What else they have in
common, `dataclasses.replace` and `dataclasses.fields` among it, is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, ClassVar, Self, dataclass_transform

_NONE: Any = object()


class Field:
    """What is known of a field, but its type."""

    __slots__ = ("compare", "default", "default_factory", "kw_only", "name", "repr")

    def __init__(self, default: Any, default_factory: Any, compare: bool, repr: bool, kw_only: bool) -> None:
        self.name = ""
        self.default, self.default_factory = default, default_factory
        self.compare, self.repr, self.kw_only = compare, repr, kw_only

    @property
    def optional(self) -> bool:
        return self.default is not _NONE or self.default_factory is not _NONE


def field(
    *,
    default: Any = _NONE,
    default_factory: Callable[[], Any] = _NONE,
    compare: bool = True,
    repr: bool = True,
    kw_only: bool = False,
) -> Any:
    """A field that is not as plain as its annotation: as `dataclasses.field`."""
    return Field(default, default_factory, compare, repr, kw_only)


@dataclass_transform(field_specifiers=(field,))
class _Meta(type):
    """Makes the class: slots for its fields, and everything but `__init__`."""

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        frozen: bool = False,
        hashed: bool = False,
        kw_only: bool = False,
    ) -> _Meta:
        fields: dict[str, Field] = {}
        for base in reversed(bases):
            fields |= getattr(base, "_declared", {})
        own = []
        for attribute, annotation in namespace.get("__annotations__", {}).items():
            if annotation.startswith("ClassVar"):
                continue
            value = namespace.pop(attribute, _NONE)
            described = value if isinstance(value, Field) else Field(value, _NONE, True, True, False)
            described.name, described.kw_only = attribute, described.kw_only or kw_only
            fields[attribute] = described
            own.append(attribute)
        namespace["_declared"] = fields
        namespace["__slots__"] = tuple(own)
        namespace["__match_args__"] = tuple([f.name for f in fields.values() if not f.kw_only])
        namespace["__dataclass_fields__"] = _AsDataclass()
        namespace["__init__"] = _first_init
        compared = [f.name for f in fields.values() if f.compare]
        namespace["_key"] = staticmethod(attrgetter(*compared) if compared else _nothing)
        namespace["__hash__"] = _hash if frozen or hashed else None
        if frozen:
            namespace |= {"__setattr__": _refuse, "__delattr__": _refuse, "__setstate__": _set_state}
        return super().__new__(mcs, name, bases, namespace)


class _AsDataclass:
    """What `dataclasses` looks for in a class, made when it does."""

    def __get__(self, instance: object, owner: _Meta) -> dict[str, Any]:
        import dataclasses

        specified = []
        for f in _described(owner):
            given = {"default": f.default, "default_factory": f.default_factory}
            given = {name: value for name, value in given.items() if value is not _NONE}
            specified.append(
                (f.name, Any, dataclasses.field(**given, compare=f.compare, repr=f.repr, kw_only=f.kw_only))
            )
        same: Any = dataclasses.make_dataclass(owner.__name__, specified)
        found: dict[str, Any] = same.__dataclass_fields__
        type.__setattr__(owner, "__dataclass_fields__", found)
        return found


def _described(made: _Meta) -> Sequence[Field]:
    fields: dict[str, Field] = made._declared  # type: ignore[attr-defined]
    return tuple(fields.values())


def _nothing(record: object) -> tuple[()]:
    return ()


def _hash(record: Any) -> int:
    return hash(record._key(record))


def _refuse(record: object, name: str, value: object = None) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot change field {name!r}")


def _set_state(record: object, state: tuple[None, dict[str, Any]]) -> None:
    """As `copy` and `pickle` set what `object.__getstate__` gave them."""
    for name, value in state[1].items():
        object.__setattr__(record, name, value)


def _first_init(record: Any, *given: Any, **named: Any) -> None:
    """Stands for `__init__` until the first object of a class is made."""
    made: Any = type(record)
    made.__init__ = _init(made)
    made.__init__(record, *given, **named)


def _init(made: _Meta) -> Callable[..., None]:
    """`__init__` of a class, as one would write it by hand."""
    frozen = "__setattr__" in made.__dict__
    known: dict[str, Any] = {"_NONE": _NONE, "_set": object.__setattr__}
    parameters: list[str] = []
    lines: list[str] = []
    fields = _described(made)
    for f in sorted(fields, key=lambda f: f.kw_only):
        name, value = f.name, f.name
        if f.kw_only and "*" not in parameters:
            parameters.append("*")
        if f.default_factory is not _NONE:
            known[f"_make_{name}"] = f.default_factory
            value = f"_make_{name}() if {name} is _NONE else {name}"
            parameters.append(f"{name}=_NONE")
        elif f.optional:
            known[f"_default_{name}"] = f.default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        lines.append(f" _set(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
    text = f"def __init__({', '.join(['self', *parameters])}):\n" + ("\n".join(lines) or " pass")
    exec(text, known)
    init: Callable[..., None] = known["__init__"]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    return init


class Record(metaclass=_Meta):
    """A base for classes with fields. Class arguments: `frozen` (no field can be set later), `hashed` (objects have a hash
    although fields can be set; those of frozen classes always have one), `kw_only`."""

    _declared: ClassVar[dict[str, Field]]
    _key: ClassVar[Any]  # gives the fields that count for equality

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(self._key(self) == self._key(other))

    def __repr__(self) -> str:
        shown = [f"{f.name}={getattr(self, f.name)!r}" for f in self._declared.values() if f.repr]
        return f"{type(self).__qualname__}({', '.join(shown)})"

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        """The names of its fields."""
        return tuple(cls._declared)

    def changed(self, **fields: Any) -> Self:
        """The same with other values for some fields."""
        kept = {name: getattr(self, name) for name in self._declared if name not in fields}
        made: Any = type(self)
        new: Self = made(**kept, **fields)
        return new
