"""What a test is as the subject of a repair or a weakening."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litmus.test import Test
from ptxmm.api import load, load_variant, model_named
from ptxmm.repair.kernel_subject import KernelSubject
from ptxmm.repair.subjects import How, LitmusSubject, Subject, noted

if TYPE_CHECKING:
    from ptxmm.kernels.files import NamedTest


def subject_of(item: NamedTest, how: How) -> Subject:
    """A test, by its path or as it was asked for, as what is repaired or weakened. Raises InputError, OSError where there is
    none."""
    if isinstance(how.model, str):
        model_named(how.model, how.options)
    test = load(item) if isinstance(item, str) else load_variant(item)
    if isinstance(test, Test):
        return noted(LitmusSubject(test, how), how)
    return noted(KernelSubject(test, how), how)
