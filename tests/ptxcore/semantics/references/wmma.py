"""Products of matrices, which need whole warps."""

from __future__ import annotations

from ptxcore.isa.wmma import FORMS

EXPLAINED = {
    (form.section, form.syntax): "tests/ptxcore/machine/run/test_wmma.py goes from memory to memory" for form in FORMS
}
