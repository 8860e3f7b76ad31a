"""Kernel tests as TOML files:

    ptx = "lock.ptx"
    entry = "k"
    grid = [2, 1, 1]
    block = [1, 1, 1]

    [params]
    lock = {type = "u32", elements = 1}
    x = {type = "u32", elements = 1}

    [check]
    forall = "x[0] == 2"
    race_free = true

    [[variant]]
    name = "weak"
    ptx = "weak.ptx"
    expect = "no"

A file is read in two steps: what stands in it (`KernelFile`), and one of its tests with its PTX (`KernelFile.test`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from ptxcore.diagnostics import Diagnostic, InputError, Span, nearest
from ptxcore.sources import read_bytes
from ptxmm.kernels.arguments import argument, is_buffer, is_image
from ptxmm.kernels.document import FoundTable, TableView, TomlDocument, check_keys
from ptxmm.kernels.expressions import ExpressionError
from ptxmm.kernels.launch import Dimensions, Imaged, Launch
from ptxmm.kernels.modules import ModuleError, PtxText, compile_cuda
from ptxmm.kernels.modules import read as read_module
from ptxmm.kernels.positions import Way
from ptxmm.kernels.schema import CHECK, FILE, HINTS, KERNEL, VARIANT, Schema, iterations, listed, tables
from ptxmm.kernels.signature import declared_images, entry_problem, parameter_problems, shape_problem
from ptxmm.kernels.test import (
    CLAIMS,
    DETERMINISTIC,
    PROPERTIES,
    Check,
    KernelTest,
    Parameter,
    problem_with,
    problem_with_contents,
    stored,
)

LONGEST = 4 << 20  # bytes of a file
_DEFAULT_UNROLL = 4


def read(path: str | os.PathLike[str]) -> KernelFile:
    """The kernel tests in a file. Raises InputError for everything that is wrong in it, OSError where it cannot be
    read."""
    data = read_bytes(path, LONGEST, "a kernel test")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        finding = Diagnostic(Span(line, column, column + 1), f"byte 0x{data[error.start]:02x} is not UTF-8")
        raise InputError([finding], str(path), data.decode("utf-8", "replace")) from None
    return KernelFile(text, str(path))


class KernelFile:
    """A file of kernel tests: `variants` are the names of its tests, one empty name where the file is one test."""

    def __init__(self, text: str, path: str = "<input>") -> None:
        """Raises InputError with everything that is wrong, as far as it shows without the PTX."""
        self._read(TomlDocument(text, path), {})

    @classmethod
    def of(cls, tree: dict[str, Any], path: str, texts: Mapping[str, str]) -> KernelFile:
        """The tests that a dictionary describes as a file would. `texts` are modules by the names that it gives them."""
        return cls.within(TomlDocument.of(tree, path), {name: PtxText(text, path) for name, text in texts.items()})

    @classmethod
    def within(cls, document: TomlDocument, modules: Mapping[str, PtxText]) -> KernelFile:
        """Likewise, where findings have places in a text of another kind."""
        file = cls.__new__(cls)
        file._read(document, modules)
        return file

    def _read(self, document: TomlDocument, modules: Mapping[str, PtxText]) -> None:
        self.document, self.path, self.modules = document, document.path, modules
        tree = self.document.tree
        self._check_table(tree, (), FILE, "a kernel test")
        variants = tree.get("variant", [])
        for i, variant in enumerate(variants if tables(variants) is None else []):
            self._check_table(variant, ("variant", i), VARIANT, "a variant")
        self.document.stop_on_findings()
        self.variants = [""] if not variants else self._variant_names(variants)
        for number in range(len(self.variants)):
            view = self._view(number)
            before = self.document.findings
            parameters = self._parameters(view)
            if self.document.findings == before:  # what speaks of parameters can be judged once they are right
                self._checks(view, parameters)
            self._kernels(view)
        self.document.stop_on_findings()

    def test(self, variant: str = "") -> KernelTest:
        """One of the tests, with its PTX. Raises InputError for PTX that is not there or does not fit."""
        view = self._view(self._number(variant))
        parameters = self._parameters(view)
        expect = view.get("expect")
        launches = self._launches(view, parameters)
        self.document.stop_on_findings()
        return KernelTest(
            path=self.path,
            variant=variant,
            launches=launches,
            parameters=tuple(stored(p) for p in parameters.values()),
            checks=self._checks(view, parameters),
            expect=_expected(expect.value if expect else "ok"),
            progress=progress.value if (progress := view.get("progress")) else None,
            resident=resident.value if (resident := view.get("resident")) else None,
            bounded=view.below("bounds").get("default") is not None,
            text=self.document.text,
            bounds={
                key: self.document.span(*self.document.place(f.way).key) for key, f in view.below("bounds").items()
            },
        )

    def _number(self, variant: str) -> int:
        """Which test is meant; an empty name is the only one."""
        if variant in self.variants:
            return self.variants.index(variant)
        if not variant and len(self.variants) == 1:
            return 0
        listed = ", ".join(self.variants)
        if not variant:
            message, hint = f"there are {len(self.variants)} tests in this file", f"say which: {listed}"
        else:
            message = f"no variant is called '{variant}'"
            hint = nearest(variant, self.variants) or (f"there are {listed}" if listed else "the file is one test")
        raise InputError([Diagnostic(Span(0, 0, 0), message, hint)], self.path, self.document.text)

    # What stands in the file.

    def _check_table(self, table: dict[str, Any], way: Way, schema: Schema, what: str) -> None:
        document = self.document
        check_keys(document, table, way, schema, what)
        for key, value in table.items():
            wrong = schema[key](value) if key in schema else None
            if wrong:
                document.note((*way, key), wrong, HINTS[key](value) if key in HINTS else None)
        check = table.get("check")
        if isinstance(check, dict) and "check" in schema:
            self._check_table(check, (*way, "check"), CHECK, "[check]")
        bounds = table.get("bounds")
        if isinstance(bounds, dict):
            for key, value in bounds.items():
                wrong = iterations(value)
                if wrong:
                    document.note((*way, "bounds", key), wrong)
        kernels = table.get("kernel")
        if tables(kernels) is None and isinstance(kernels, list):
            for i, kernel in enumerate(kernels):
                self._check_table(kernel, (*way, "kernel", i), KERNEL, "a kernel")

    def _variant_names(self, variants: list[dict[str, Any]]) -> list[str]:
        names: list[str] = []
        for i, variant in enumerate(variants):
            name = variant.get("name")
            if name is None:
                self.document.note(("variant", i), "this variant has no name", 'as in name = "weak"')
            elif name in names:
                self.document.note(("variant", i, "name"), f"two variants are called '{name}'")
            elif not name.isprintable() or "/" in name or name != name.strip():
                self.document.note(("variant", i, "name"), "a variant's name has no blanks around it, no '/' in it")
            names.append(name or "")
        self.document.stop_on_findings()
        return names

    def _view(self, number: int) -> TableView:
        tree = self.document.tree
        base = FoundTable(tree, ())
        if not tree.get("variant"):
            return TableView([base])
        return TableView([FoundTable(tree["variant"][number], ("variant", number)), base])

    def _parameters(self, view: TableView) -> dict[str, Parameter]:
        """Everything that has a name: the parameters in their order, and behind them what only pointers lead to."""
        params, memory = dict(view.below("params").items()), dict(view.below("memory").items())
        for name, entry in memory.items():
            if name in params:
                self.document.note(
                    entry.way, f"'{name}' is a parameter already", "it can be pointed to as it is", key=True
                )
            elif not is_buffer(entry.value) and not is_image(entry.value):
                message = f"[memory] has buffers, textures and surfaces, and '{name}' is none"
                self.document.note(entry.way, message, "as in elements = 4", key=True)
        listed = [*params.items(), *((name, entry) for name, entry in memory.items() if name not in params)]
        made: dict[str, Parameter] = {}
        before = self.document.findings
        for name, entry in sorted(listed, key=lambda named: not is_buffer(named[1].value)):  # pointers lead to them
            if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in ("true", "false"):
                self.document.note(entry.way, f"'{name}' is no name", "letters, digits and '_'", key=True)
                continue
            if not is_buffer(entry.value) and self.document.findings > before:
                break  # a pointer to what is wrong is not wrong
            parameter = argument(self.document, name, entry, made)
            if parameter is not None:
                made[name] = parameter
        return {name: made[name] for name, _ in listed if name in made}

    def _checks(self, view: TableView, parameters: dict[str, Parameter]) -> tuple[Check, ...]:
        checks: list[Check] = []
        before = self.document.findings
        table = view.below("check")
        for kind in CLAIMS:
            found = table.get(kind)
            if found is None:
                continue
            for i, text in enumerate(listed(found.value)):
                way = (*found.way, i) if isinstance(found.value, list) else found.way
                check = self._expression(kind, text, way, parameters)
                if check is not None:
                    checks.append(check)
        for kind in PROPERTIES:
            found = table.get(kind)
            if found is not None:
                checks.append(Check(kind, None, found.value, self.document.spot(found.way)))
        if not checks and self.document.findings == before:  # also where every list of conditions is empty
            self.document.note(view.way, "nothing is checked here", '[check] is missing, as in forall = "x[0] == 2"')
        return tuple(checks)

    def _expression(self, kind: str, text: str, way: Way, parameters: dict[str, Parameter]) -> Check | None:
        from ptxmm.kernels.expression_reader import (
            parse,  # late: a grammar takes longer to make than most files to read
        )

        try:
            expression = parse(text)
            problem_of = problem_with_contents if kind == DETERMINISTIC else problem_with
            problem = problem_of(expression, tuple(stored(p) for p in parameters.values()))
            if problem is not None:
                raise problem
        except ExpressionError as error:
            self.document.note_inside(way, error.start, error.end, error.message, error.hint)
            return None
        spot = self.document.spot(way[:3] if len(way) > 3 else way)
        if kind == DETERMINISTIC:
            (named,) = expression.elements()
            return Check("forall", expression, True, spot, named)
        return Check(kind, expression, True, spot)

    # Launches.

    def _kernels(self, view: TableView) -> list[TableView]:
        """The launches that the test is of: its `[[kernel]]` tables over what stands above them, or the test itself."""
        kernels = view.get("kernel")
        if kernels is None:
            launches = [view]
        else:
            launches = [
                TableView([FoundTable(kernel, (*kernels.way, i)), *view.layers])
                for i, kernel in enumerate(kernels.value)
            ]
        names: dict[str, int] = {}
        streams: dict[str, int] = {}
        for number, launch in enumerate(launches):
            self._check_launch(launch, view, number, names)
            self._check_stream(launch, streams)
        return launches

    def _check_stream(self, launch: TableView, streams: dict[str, int]) -> None:
        """Notes a stream of several devices; `streams` are the devices of those that were named before."""
        stream, device = launch.get("stream"), _device(launch)
        if stream is not None and streams.setdefault(str(stream.value), device) != device:
            named = f"stream '{stream.value}'"
            message = f"{named} is one of device {streams[str(stream.value)]}, and this kernel runs on device {device}"
            self.document.note(stream.way, message, "another stream, and 'after' to wait for kernels of this one")

    def _check_launch(self, launch: TableView, view: TableView, number: int, names: dict[str, int]) -> None:
        document = self.document
        way = launch.layers[0].way
        for key in ("grid", "block"):
            if launch.get(key) is None:
                document.note(way, f"'{key}' is missing", f"as in {key} = [2, 1, 1]")
        if launch.get("ptx") is None and launch.get("cu") is None:
            document.note(way, "there is no PTX to check", 'as in ptx = "lock.ptx", or cu = "lock.cu"')
        wrong = shape_problem(_triple(launch, "grid"), _triple(launch, "block"), _cluster(launch))
        if wrong:
            key, message = wrong
            found = launch.get(key)
            document.note(found.way if found else way, message)
        known = {name for name, _ in view.below("params").items()}
        args = launch.get("args")
        for i, name in enumerate(args.value if args else []):
            if name not in known:
                hint = f"[params] has {', '.join(known) or 'nothing'}"
                document.note((*args.way, i) if args else way, f"no parameter is called '{name}'", hint)
        after = launch.get("after")
        for i, name in enumerate(after.value if after else []):
            if name not in names:
                hint = "kernels come after those that stand before them"
                document.note((*after.way, i) if after else way, f"no kernel before this one is called '{name}'", hint)
        own = self._kernel_name(launch, number)
        if own in names:
            hint = "reports and `after` know kernels by their names"
            document.note(
                (*way, "name") if "name" in launch.layers[0].value else way, f"two kernels are called '{own}'", hint
            )
        names[own] = number

    def _kernel_name(self, launch: TableView, number: int) -> str:
        if "kernel" not in launch.layers[0].way:
            return ""
        return launch.layers[0].value.get("name") or f"k{number}"

    def _launches(self, view: TableView, parameters: dict[str, Parameter]) -> tuple[Launch, ...]:
        launches: list[Launch] = []
        for number, launch in enumerate(self._kernels(view)):
            module = self._module(launch)
            if module is None:
                continue
            args = launch.get("args")
            names = args.value if args else [name for name, _ in view.below("params").items()]
            given = tuple(parameters[name] for name in names)
            entry = self._entry(launch, module)
            if entry is None:
                continue
            self._check_parameters(launch, module, entry, given)
            bounds = dict(self._bounds(view))
            references = self._references(view, module, parameters)
            stream, after = launch.get("stream"), launch.get("after")
            launches.append(
                Launch(
                    text=module.text,
                    entry=entry,
                    path=module.path,
                    source=module.source,
                    options=module.options,
                    kept=module.kept,
                    grid=_triple(launch, "grid"),
                    block=_triple(launch, "block"),
                    cluster=_cluster(launch),
                    dynamic_shared=shared.value if (shared := launch.get("dynamic_shared")) else 0,
                    params=given,
                    references=references,
                    unroll=bounds.pop("default", _DEFAULT_UNROLL),
                    loops=bounds,
                    stream=str(stream.value) if stream else "",
                    name=self._kernel_name(launch, number),
                    after=tuple(after.value) if after else (),
                    device=_device(launch),
                )
            )
        return tuple(launches)

    def _references(self, view: TableView, module: PtxText, parameters: dict[str, Parameter]) -> tuple[Imaged, ...]:
        """What the textures and surfaces are bound to that a module declares by name."""
        declared, bound = declared_images(module.text), []
        for name, entry in view.below("memory").items():
            image = parameters.get(name)
            if not isinstance(image, Imaged):
                continue
            kind = declared.get(name)
            if kind is None:
                listed_ = ", ".join(declared) or "none"
                message = f"the module declares no .texref or .surfref '{name}'"
                self.document.note(entry.way, message, f"it declares {listed_}; parameters stand in [params]", key=True)
            elif kind != image.image.kind:
                self.document.note(entry.way, f"'{name}' is a .{kind}, and is bound to a .{image.image.kind}", key=True)
            else:
                bound.append(image)
        return tuple(bound)

    def _bounds(self, view: TableView) -> list[tuple[str, int]]:
        return [(key, found.value) for key, found in view.below("bounds").items()]

    def _module(self, launch: TableView) -> PtxText | None:
        """The PTX, of whichever of `ptx` and `cu` stands nearest; of both together, the PTX is what counts."""
        for table, way in launch.layers:
            for key in ("ptx", "cu"):
                if key not in table:
                    continue
                if table[key] in self.modules:
                    return self.modules[table[key]]
                path = os.path.normpath(os.path.join(os.path.dirname(self.path), table[key]))
                try:
                    if key == "ptx":
                        return read_module(path)
                    options = launch.get("nvcc")
                    return compile_cuda(path, options.value if options else ())
                except ModuleError as error:
                    hint = f"{error.hint}\n{error.details}".strip() if error.hint else None
                    self.document.note((*way, key), error.message, hint)
                    return None
        return None

    def _entry(self, launch: TableView, module: PtxText) -> str | None:
        found = launch.get("entry")
        name = found.value if found else None
        chosen, message, hint = entry_problem(module, name)
        if message:
            self.document.note(found.way if found else launch.layers[0].way, message, hint)
        return chosen

    def _check_parameters(self, launch: TableView, module: PtxText, entry: str, given: tuple[Parameter, ...]) -> None:
        args = launch.get("args")
        table = launch.below("params")
        for name, message, hint in parameter_problems(module, entry, given):
            if args:
                self.document.note(args.way, message, hint)
            else:
                found = table.get(name) if name else None
                self.document.note(found.way if found else table.way or ("params",), message, hint, key=True)


def _triple(launch: TableView, key: str) -> Dimensions:
    found = launch.get(key)
    x, y, z = (*(listed(found.value) if found else ()), 1, 1, 1)[:3]
    return x, y, z


def _device(launch: TableView) -> int:
    found = launch.get("device")
    return found.value if found else 0


def _cluster(launch: TableView) -> Dimensions | None:
    return None if launch.get("cluster") is None else _triple(launch, "cluster")


def _expected(value: str | list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for text in listed(value) for part in text.split("|")))
