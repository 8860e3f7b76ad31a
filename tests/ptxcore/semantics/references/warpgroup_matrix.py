"""Products of matrices, which need whole warpgroups."""

from __future__ import annotations

from ptxcore.isa.warpgroup_matrix import FORMS

EXPLAINED = {
    (form.section, form.syntax): "tests/ptxcore/machine/run/test_wgmma.py goes from memory to memory" for form in FORMS
}
