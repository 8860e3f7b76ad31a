"""Texts of a request as tests and models: read as files of these names would be, with no other files than those that came."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ptxcore.diagnostics import Diagnostic, InputError, Span
from ptxcore.sources import given
from ptxmm.web.asked import FILE_OF, YOURS, PageRequest

if TYPE_CHECKING:
    from axioms.cat.model import Model
    from litmus.test import Test
    from ptxmm.kernels.annotations import AnnotatedFile
    from ptxmm.kernels.test import KernelTest
    from ptxmm.kernels.toml import KernelFile

#: What is said of a file that did not come with the test.
NO_FILES = "no file is read here but those that came with the test, and nothing is compiled"


@contextmanager
def files_of(asked: PageRequest) -> Iterator[None]:
    """Inside there are no other files than those of the request."""
    with given(asked.given(), NO_FILES):
        yield


def kernel_tests(asked: PageRequest) -> KernelFile | AnnotatedFile:
    """The kernel tests of a text. Raises InputError."""
    from ptxmm.kernels.files import tests_of

    return tests_of(asked.path)


def variants(asked: PageRequest) -> list[str]:
    """The names of the tests of a text; none where it is one test, or cannot be read."""
    if asked.kind not in ("kernel", "ptx"):
        return []
    try:
        return [name for name in kernel_tests(asked).variants if name]
    except InputError:
        return []


def test_of(asked: PageRequest) -> Test | KernelTest:
    """The test that is meant: of several the one that is named, else the first. Raises InputError."""
    if asked.kind == "litmus":
        from litmus.formats import read

        return read(asked.text, asked.path)
    if asked.kind == "cat":
        raise InputError([Diagnostic(Span(0, 0, 0), "a model is no test", "a test goes in 'text'")], asked.path)
    found = kernel_tests(asked)
    several = found.variants
    return found.test(asked.variant or (several[0] if several else ""))


def your_model(text: str, options: frozenset[str]) -> Model:
    """A model of the user's. It may include those that ship. Raises InputError."""
    from axioms.cat.model import compile_model
    from axioms.models import names, text_of
    from axioms.models.options import of_models

    def included(name: str) -> str | None:
        base = name.removesuffix(".cat")
        return text_of(base) if name.endswith(".cat") and base in names() else None

    try:
        model = compile_model(FILE_OF["cat"], text, included, of_models(options))
    except InputError as error:
        if not error.text:
            error.path, error.text = FILE_OF["cat"], text
        raise
    model.name = YOURS
    return model


def named_model(name: str, options: frozenset[str] = frozenset()) -> Model:
    """A model that ships, by what a request calls it, with more readings. Raises InputError."""
    from ptxmm.api import model_named

    return model_named(name, options)
