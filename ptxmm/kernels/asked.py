"""Kernel tests that stand in no TOML file: asked for on a command line, in an annotation of the source, or in Python.

Whoever asks says what a file would say, and leaves out what the kernel says itself: the order and the types of its parameters.
`AskedKernel.test` completes that from the signature, and hands it to the reader of TOML files.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict

from ptxcore.diagnostics import Diagnostic, InputError, Span, nearest
from ptxcore.records import NamedTuple
from ptxmm.kernels.contents import FileError
from ptxmm.kernels.document import TomlDocument
from ptxmm.kernels.modules import PtxText, begins_early, is_source, of_file, with_headers
from ptxmm.kernels.plain_names import base, by_turns, plain, shortest
from ptxmm.kernels.plausible import CTAS, THREADS, WARP, Plausible, counts, plausible
from ptxmm.kernels.positions import KeyPosition, Way
from ptxmm.kernels.proposed import ProposedLaunch, not_given, rest_typed, sizes_typed, together_typed
from ptxmm.kernels.schema import CHECK, VARIANT
from ptxmm.kernels.signature import entry_problem
from ptxmm.kernels.takes import KernelSignature, TakenParameter, kernel, places
from ptxmm.kernels.test import CLAIMS, KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.kernels.tried import tried
from ptxmm.kernels.written import KINDS, table_of
from ptxmm.result import Spot, identity

#: Of so many kernels of a file it is said what may be typed.
_SHOWN = 8
#: What is checked where nothing is claimed.
UNCLAIMED = ("race_free", "terminates", "no_trap")


class Style(NamedTuple):
    """How things are said where a test is asked for, with `{}` or names for what differs."""

    entry: str
    size: str
    argument: str
    #: Names that mean something else there, so that arguments of these names are told as `arg.NAME`.
    taken: frozenset[str] = frozenset()


#: What a line of an annotation may say besides checks; all other names are arguments.
ANNOTATION_KEYS = (
    "entry",
    "grid",
    "block",
    "cluster",
    "dynamic_shared",
    "device",
    "nvcc",
    "expect",
    "progress",
    "resident",
    "description",
    "name",
)

TYPED = Style("--entry {}", "--{name} {value}", "--arg {name}={value}")
ANNOTATED = Style("entry={}", "{name}={value}", "{name}={value}", frozenset({*ANNOTATION_KEYS, *CHECK}))
PYTHON = Style('entry="{}"', "{name}={value}", 'args={{"{name}": "{value}"}}')


class Said(NamedTuple):
    """A value under a key of the file, and where it was said: offsets of the whole, and of the value."""

    key: str
    value: Any
    start: int = 0
    value_start: int = 0
    end: int = 0

    @property
    def place(self) -> KeyPosition:
        return KeyPosition((self.start, self.end), (self.value_start, self.end))


class BegunKernel(NamedTuple):
    """What is said of a launch of a kernel: `keys` of a kernel test, `params` by the numbers of parameters, each with its
    name and its table, and `tables` by name: bounds, memory, and claims where there are some."""

    module: PtxText
    taken: KernelSignature
    keys: dict[str, Any]
    params: dict[int, tuple[str, Any]]
    tables: dict[str, Any]


class AskedKernel(NamedTuple):
    """A test of a kernel in the file `path` (CUDA C++ or PTX). `said` are keys of a launch or a test, `checks` claims,
    `arguments` and `memory` buffers and numbers by name: text as `--arg` has it, a table, a number or an array of NumPy. `text`
    is where all that stands, called `where` in messages; `line`: where the test itself stands in the file, if it does. `name`:
    the test's. `bounds`: how far single loops are followed. `launches`: of several, the keys of each, over what `said` says of
    all."""

    path: str
    style: Style = TYPED
    said: tuple[Said, ...] = ()
    checks: tuple[Said, ...] = ()
    arguments: tuple[Said, ...] = ()
    memory: tuple[Said, ...] = ()
    text: str = ""
    where: str = "ptxmm check"
    line: int = 0
    name: str = ""
    bounds: tuple[Said, ...] = ()
    launches: tuple[tuple[Said, ...], ...] = ()

    def __str__(self) -> str:
        entries = [str(said.value) for some in (*self.launches, self.said) for said in some if said.key == "entry"]
        return identity(self.path, self.name or "+".join(dict.fromkeys(entries)))

    def test(self) -> KernelTest:
        """The test. Raises InputError for everything that is wrong or missing."""
        document = TomlDocument.of({}, self.where, self.text, self._places() if self.text else None)
        keys = self._keys(document)
        module = self._module(keys)
        tree: dict[str, Any] = {**keys, "cu" if module.source else "ptx": self.path}
        if self.launches:
            kernels = self._several(document, keys, module, tree)
        else:
            kernels = [self._kernel(document, keys, module)]
            tree |= {"entry": kernels[0].entry, "params": dict(self._parameters(document, kernels[0]).values())}
        tree |= self._tables(document)
        tree["check"] = self._claims()
        document.stop_on_findings()
        if not self.launches:
            given = [n for n in places([said.key for said in self.arguments], kernels[0]) if isinstance(n, int)]
            if "grid" not in keys or "block" not in keys or len(given) < len(kernels[0].parameters):
                begun = BegunKernel(
                    module, kernels[0], keys, self._parameters(document, kernels[0]), self._tables(document)
                )
                self._complete(keys, kernels[0], given, self.guess(begun))
        document.tree = tree
        return self._named(KernelFile.within(document, {self.path: module}).test(), kernels)

    def begun(self) -> BegunKernel:
        """What is said of one launch, which need not be all. Raises InputError for everything that is wrong."""
        if self.launches:
            raise InputError([Diagnostic(Span(0, 0, 0), "this is of one launch: leave out --launch")], self.path)
        document = TomlDocument.of({}, self.where, self.text, self._places() if self.text else None)
        keys = self._keys(document)
        module = self._module(keys)
        taken = self._kernel(document, keys, module)
        params = self._parameters(document, taken)
        tables = {**self._tables(document), **({"check": self._claims()} if self.checks else {})}
        document.stop_on_findings()
        return BegunKernel(module, taken, {**keys, "entry": taken.entry}, params, tables)

    def begun_as(self, begun: BegunKernel, tree: dict[str, Any]) -> KernelTest:
        """What was begun, as the test in the tree of a kernel file. Raises InputError, at what was said, for what is wrong."""
        document = TomlDocument.of({}, self.where, self.text, self._places() if self.text else None)
        document.tree = {**tree, "cu" if begun.module.source else "ptx": self.path}
        return KernelFile.within(document, {self.path: begun.module}).test()

    def guess(self, begun: BegunKernel) -> Plausible:
        """The launch to begin with, for what is not said of one."""
        keys, taken = begun.keys, begun.taken
        missing = [parameter for number, parameter in enumerate(taken.parameters) if number not in begun.params]

        def test_of(guess: Plausible) -> KernelTest:
            further = {"dynamic_shared": guess.dynamic_shared, "cluster": guess.cluster}
            sizes = {key: value for key, value in further.items() if value}
            params: dict[str, Any] = {}
            for number, parameter in enumerate(taken.parameters):
                name, table = begun.params.get(number) or (f"p{number}", table_of(guess.argument(parameter), parameter))
                params[name] = table
            tree = {**dict(guess.sizes()), **sizes, **keys, "entry": taken.entry, "params": params}
            tree |= {key: table for key, table in begun.tables.items() if key != "check"}
            return self.begun_as(begun, {**tree, "check": {"race_free": True}})

        first = plausible(begun.module, taken, keys.get("grid"), keys.get("block"), keys.get("cluster"))
        buffers = [p.name or p.formal.name for p in missing if p.pointee is not None]
        return tried(first, test_of, buffers, [p.name or p.formal.name for p in missing if counts(p)])

    def _tables(self, document: TomlDocument) -> dict[str, Any]:
        """`[bounds]` and `[memory]`, where they are said."""
        _once(document, "bounds", self.bounds)
        _once(document, "memory", self.memory)
        bounds = {said.key: said.value for said in self.bounds}
        memory = {said.key: self._table(document, ("memory", said.key), said.value, None) for said in self.memory}
        return {key: table for key, table in (("bounds", bounds), ("memory", memory)) if table}

    def kernel(self, entry: str | None) -> tuple[PtxText, KernelSignature]:
        """A kernel of the file, and the module that it is of. Raises InputError where there is none, or several."""
        keys = {} if entry is None else {"entry": entry}
        module = self._module(keys)
        return module, self._kernel(TomlDocument.of({}, self.where), keys, module)

    def _named(self, test: KernelTest, kernels: Sequence[KernelSignature]) -> KernelTest:
        """The test as it is called in reports; claims stand where the kernel does, unless they stand in the file."""
        taken = kernels[0]
        name = self.name or "+".join(dict.fromkeys(plain(kernel.entry) for kernel in kernels))
        if self.line:
            spot = Spot(self.path, self.line)
            checks = tuple(replace(c, spot=c.spot if c.spot and c.spot.line else spot) for c in test.checks)
            return replace(test, variant=name, checks=checks)
        spot = Spot(taken.path, taken.line)
        return replace(
            test, path=self.path, variant=name, text="", checks=tuple(replace(c, spot=spot) for c in test.checks),
            bounds=dict.fromkeys(test.bounds, Span(0, 0, 0)),
        )  # fmt: skip

    def _places(self) -> dict[Way, KeyPosition]:
        found: dict[Way, KeyPosition] = {}
        for table, several in (("params", self.arguments), ("memory", self.memory), ("bounds", self.bounds)):
            found |= {(table, said.key): said.place for said in several}
        for number, some in enumerate(self.launches):
            found |= {("kernel", number, said.key): said.place for said in some}
            found["kernel", number] = some[0].place if some else KeyPosition((0, 0), (0, 0))
        counts: dict[str, int] = {}
        for said in self.checks:
            number = counts[said.key] = counts.get(said.key, -1) + 1
            found.setdefault(("check", said.key), said.place)
            found["check", said.key, number] = said.place
        return found | {(said.key,): said.place for said in self.said}

    def _keys(self, document: TomlDocument) -> dict[str, Any]:
        keys: dict[str, Any] = {}
        for said in self.said:
            if said.key in keys:
                document.note((said.key,), f"'{said.key}' is said twice")
            keys[said.key] = said.value
        document.stop_on_findings()
        return keys

    def _module(self, keys: dict[str, Any]) -> PtxText:
        """The module; where the command line says neither its options nor a launch, and headers are missing that stand nearby,
        with these, which `keys` has then."""
        options = keys.get("nvcc")
        if (
            self.style == TYPED
            and is_source(self.path)
            and not ({"nvcc", "grid", "block"} & keys.keys() or self.launches)
        ):
            module, found = with_headers(self.path)
            keys.update({"nvcc": found} if found else {})
            return module
        return of_file(self.path, options if isinstance(options, list) else ())

    def _kernel(
        self, document: TomlDocument, keys: Mapping[str, Any], module: PtxText, way: Way = ("entry",)
    ) -> KernelSignature:
        entry, message, hint = entry_problem(module, keys.get("entry"), self.style.entry)
        if entry is None:
            if "entry" not in keys or not self.text:
                raise InputError(
                    [Diagnostic(Span(0, 0, 0), message, hint)], self.path, instead=self._each(keys, module)
                )
            document.note(way, message, hint)
        document.stop_on_findings()
        assert entry is not None
        taken = kernel(module, entry)
        if taken is None:
            message = f"the parameters of '{plain(entry)}' cannot be read"
            raise InputError([Diagnostic(Span(0, 0, 0), message, "ptxmm lint says what is wrong")], module.path)
        return taken

    # Arguments.

    def _parameters(self, document: TomlDocument, taken: KernelSignature) -> dict[int, tuple[str, Any]]:
        """`[params]`: the arguments by the numbers of their parameters, in their order, under names of the user's where only a
        compiler named them."""
        found: dict[int, tuple[str, Said]] = {}
        numbers = places([said.key for said in self.arguments], taken)
        mistyped = self._mistyped(taken) if any(isinstance(number, str) for number in numbers) else None
        for said, number in zip(self.arguments, numbers, strict=True):
            way = ("params", said.key)
            if mistyped:
                document.note(("params", mistyped[0]), f"'{mistyped[0]}' has no meaning here", mistyped[1], key=True)
                break
            if isinstance(number, str):
                document.note(way, f"'{plain(taken.entry)}' has no parameter '{said.key}'", number, key=True)
            elif number in found:
                document.note(way, f"two arguments for '{found[number][0]}'", key=True)
            else:
                formal = taken.parameters[number]
                name = said.key if not formal.name and not said.key.isdigit() else formal.name
                found[number] = name or f"arg{number}", said
        params: dict[int, tuple[str, Any]] = {}
        for number in sorted(found):
            name, said = found[number]
            params[number] = name, self._table(document, ("params", said.key), said.value, taken.parameters[number])
        return params

    def _mistyped(self, taken: KernelSignature) -> tuple[str, str] | None:
        """Of an annotation, what is an argument only because it is none of the other words, and what may be meant."""
        for said in self.arguments if self.style == ANNOTATED else ():
            hint = nearest(said.key, [*VARIANT, *CHECK])
            if hint and said.key not in taken.names():
                return said.key, hint
        return None

    def _table(self, document: TomlDocument, way: Way, value: Any, taken: TakenParameter | None) -> Any:
        try:
            return table_of(value, taken, os.path.dirname(self.where))
        except ValueError as error:
            document.note(way, str(error), f"an argument is {KINDS}")
        except FileError as error:
            document.note(way, error.message, error.hint)
        return {}

    # Several launches.

    def _several(
        self, document: TomlDocument, keys: Mapping[str, Any], module: PtxText, tree: dict[str, Any]
    ) -> list[KernelSignature]:
        """Puts the launches into the tree, in their order, with what they take: arguments by the names of their parameters, or
        as `args` says. Raises InputError for what is missing."""
        kernels: list[KernelSignature] = []
        tree["kernel"], tree["params"] = [], {}
        given = {said.key: said for said in self.arguments}
        for number, said in enumerate(self.launches):
            own = {s.key: s.value for s in said}
            taken = self._kernel(document, {**keys, **own}, module, ("kernel", number, "entry"))
            names = own["args"] if isinstance(own.get("args"), list) else self._arguments_of(taken)
            guess = plausible(module, taken, own.get("grid", keys.get("grid")), own.get("block", keys.get("block")))
            self._complete({**keys, **own}, taken, [i for i, name in enumerate(names) if name is not None], guess)
            again = sum(kernel.entry == taken.entry for kernel in kernels)
            name = base(taken.entry) + (f".{again + 1}" if again else "")
            tree["kernel"].append({"name": name, **own, "entry": taken.entry, "args": names})
            for name, parameter in zip(names, taken.parameters, strict=False):
                if name in given and name not in tree["params"]:
                    tree["params"][name] = self._table(document, ("params", name), given[name].value, parameter)
            kernels.append(taken)
        tree.pop("entry", None)
        known = list(dict.fromkeys(name for kernel in kernels for name in kernel.names()))
        for name in given:
            if name not in tree["params"]:
                hint = nearest(name, known) or f"they take {', '.join(known) or 'nothing'}"
                document.note(("params", name), f"no launch takes '{name}'", hint, key=True)
        return kernels

    def _arguments_of(self, taken: KernelSignature) -> list[str | None]:
        """The name of the argument for each parameter, None where there is none: that of the parameter, or the arguments
        in their order where a compiler made all names."""
        names = [said.key for said in self.arguments]
        found = [next((n for n in (p.name, p.formal.name) if n in names), None) for p in taken.parameters]
        unnamed = not any(found) and not any(p.name for p in taken.parameters)
        return [*names] if unnamed and len(names) == len(found) else found

    def _complete(
        self, keys: Mapping[str, Any], taken: KernelSignature, given: Sequence[int], guess: Plausible
    ) -> None:
        """Raises InputError with everything that is missing, each with what to say, of a `guess`; arguments are `given` for the
        parameters of these numbers."""
        missing = [self._size_missing(name, value, guess) for name, value in guess.sizes() if name not in keys]
        lines = TomlDocument.of({}, taken.path, taken.text)
        for number, parameter in not_given(taken, given):
            name = parameter.name or f"NAME{number}"
            called = f"arg.{name}" if name in self.style.taken else name
            example = self.style.argument.format(name=called, value=guess.argument(parameter))
            what = "parameter" if parameter.name else f"parameter {number}"
            own = "" if parameter.name else f", with a name of yours for NAME{number}"
            message = f"no argument for {what} '{parameter}' of '{plain(taken.entry)}'"
            span = lines.span(parameter.start, parameter.end)
            missing.append(Diagnostic(span, message, f"as in {example}{own}"))
        if missing:
            instead = self._instead(keys, [rest_typed(keys, taken, given, guess)])
            raise InputError(missing, taken.path, taken.text, instead)

    def _each(self, keys: Mapping[str, Any], module: PtxText) -> str:
        """What may be typed of the first kernels of a file, where nobody said which one is meant."""
        several = shortest(module.entries()) if "entry" not in keys else {}
        given = [said.key for said in self.arguments]
        endings, launched = list[str](), list[ProposedLaunch]()
        for entry in by_turns(several)[:_SHOWN]:
            name = several[entry]
            if (taken := kernel(module, entry)) is not None:
                known = [n for n in places(given, taken) if isinstance(n, int)]
                guess = plausible(module, taken, keys.get("grid"), keys.get("block"), keys.get("cluster"))
                entry_typed = self.style.entry.format(shlex.quote(name))
                endings.append(f"{entry_typed} {rest_typed(keys, taken, known, guess)}".rstrip())
                launched.append(ProposedLaunch(name, taken, guess))
        if begins_early(module.text) and len(launched) > 1:  # what one of them does, the next one sees while both run
            endings.insert(0, together_typed(keys, launched, given))
        return self._instead(keys, endings) if endings else ""

    def _size_missing(self, name: str, value: int | list[int], guess: Plausible) -> Diagnostic:
        example = self.style.size.format(name=name, value=sizes_typed(value))
        what = {
            ("grid", 1): "one CTA, since the code never asks which it is",
            ("grid", CTAS): "two CTAs",
            ("block", 1): "CTAs of one thread",
            ("block", THREADS): "CTAs of two threads",
            ("block", WARP): "CTAs of a warp, whose lanes do something together",
            ("block", 2 * WARP): "CTAs of two warps, whose lanes do something together",
        }.get((name, value if isinstance(value, int) else 0), f"CTAs of {sizes_typed(value)} threads, whose run ends")
        why = f"for {what}"
        if name == "block" and guess.own:
            why = "as the kernel says"
        elif guess.site and (name == "block" or guess.of_site):
            why = f"as the source launches it in line {guess.site}"
        elif name == "block" and guess.named:
            why = "the number in its name"
        elif name == "grid" and guess.cluster:
            why = f"for two clusters of {guess.cluster} (--cluster {guess.cluster}), since the kernel does what clusters do"
        elif name == "grid" and isinstance(value, list):
            why = "the kernel's clusters are so large"
        return Diagnostic(Span(0, 0, 0), f"how large is the {name}?", f"as in {example}, {why}")

    def _instead(self, keys: Mapping[str, Any], endings: Sequence[str]) -> str:
        """What may be typed, with one of these endings; nothing where a test is not asked for on a command line, or of several
        launches."""
        if self.style != TYPED or self.launches:
            return ""
        line = self.text or f"{self.where} {shlex.quote(self.path)}"
        if "nvcc" in keys and all(said.key != "nvcc" for said in self.said):
            line += f" --nvcc {shlex.quote(shlex.join(keys['nvcc']))}"
        return "\n".join(["to begin with, as far as the kernel can tell:", *(f"    {line} {e}" for e in endings)])

    def _claims(self) -> dict[str, Any]:
        claims: dict[str, Any] = {}
        for said in self.checks:
            if said.key in CLAIMS:
                claims.setdefault(said.key, []).append(said.value)
            else:
                claims[said.key] = said.value
        return claims or dict.fromkeys(UNCLAIMED, True)


def _once(document: TomlDocument, table: str, several: Sequence[Said]) -> None:
    """Notes what is said twice of one name of a table."""
    names: set[str] = set()
    for said in several:
        if said.key in names:
            document.note((table, said.key), f"'{said.key}' is said twice", key=True)
        names.add(said.key)


class LaunchWords(TypedDict, total=False):
    """What `ptxmm.check` may be told of a kernel in a file: as the options of `ptxmm check` of the same names; `args` and
    `memory` by name, each a text as for `--arg`, a table of a kernel test, a number or an array of NumPy; `launches` as
    `[[kernel]]` of a kernel test, `bounds` as `[bounds]`."""

    launches: Sequence[Mapping[str, Any]]
    bounds: Mapping[str, int]
    device: int
    entry: str
    grid: int | Sequence[int]
    block: int | Sequence[int]
    cluster: int | Sequence[int]
    dynamic_shared: int
    nvcc: Sequence[str]
    expect: str | Sequence[str]
    args: Mapping[str, Any]
    memory: Mapping[str, Any]
    forall: str | Sequence[str]
    exists: str | Sequence[str]
    never: str | Sequence[str]
    deterministic: str | Sequence[str]


#: Keys of `LaunchWords` that are keys of a kernel test.
_KEYS = ("entry", "grid", "block", "cluster", "dynamic_shared", "device", "nvcc", "expect")


def in_python(path: str, words: LaunchWords, checks: Sequence[str]) -> AskedKernel:
    """What somebody asks for in Python. `checks` are properties that are asked for beside. Raises TypeError for words that are
    none."""
    from ptxmm.kernels.python_values import plain_value, table_of_value

    given: dict[str, Any] = {key: value for key, value in words.items() if value is not None}
    unknown = [key for key in given if key not in LaunchWords.__annotations__]
    if unknown:
        raise TypeError(f"check() got an unexpected keyword argument '{unknown[0]}'")
    said = tuple(Said(key, plain_value(given[key])) for key in _KEYS if key in given)
    claims = [(kind, plain_value(given[kind])) for kind in CLAIMS if kind in given]
    several = [Said(kind, one) for kind, value in claims for one in (value if isinstance(value, list) else [value])]
    several += [Said(check, True) for check in checks]
    tables = [
        tuple(Said(name, table_of_value(value)) for name, value in dict(given.get(key, {})).items())
        for key in ("args", "memory")
    ]
    launches = tuple(
        tuple(Said(key, plain_value(value)) for key, value in launch.items()) for launch in given.get("launches", ())
    )
    bounds = tuple(Said(loop, plain_value(most)) for loop, most in dict(given.get("bounds", {})).items())
    return AskedKernel(
        path, PYTHON, said, tuple(several), tables[0], tables[1], where="ptxmm.check", bounds=bounds, launches=launches
    )
