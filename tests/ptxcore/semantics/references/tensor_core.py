"""The fifth generation of tensor cores: whole kernels are compared with arrays."""

from __future__ import annotations

from ptxcore.isa.tensor_core import FORMS

EXPLAINED = {
    (form.section, form.syntax): "tests/tensors/test_tensor_memory.py compares kernels with NumPy"
    for form in FORMS
    if form.run is not None
}
