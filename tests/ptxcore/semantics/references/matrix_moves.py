"""Matrices are moved in kernels, whose warps have all their threads."""

from __future__ import annotations

from ptxcore.isa.matrix_moves import FORMS

EXPLAINED = {
    (form.section, form.syntax): "tests/ptxcore/machine/run/test_matrix_moves.py compares it with the manual's figures"
    for form in FORMS
}
