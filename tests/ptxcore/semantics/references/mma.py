"""Products of matrices, which need whole warps."""

from __future__ import annotations

from ptxcore.isa.mma import FORMS

EXPLAINED = {
    (form.section, form.syntax): "tests/ptxcore/machine/run/test_mma.py compares it with the manual's formulas"
    for form in FORMS
    if form.run is not None
}
