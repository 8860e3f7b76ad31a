"""Instructions on multimem addresses access memory."""

from __future__ import annotations

from ptxcore.isa.multimem import FORMS

EXPLAINED = {
    (
        form.section,
        form.syntax,
    ): "tests/ptxcore/semantics/test_multimem_meanings.py compares it with NumPy, on random buffers"
    for form in FORMS
}
