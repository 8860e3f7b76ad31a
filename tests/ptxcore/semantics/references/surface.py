"""Instructions on surfaces access memory."""

from __future__ import annotations

from ptxcore.isa.surface import FORMS

EXPLAINED = {
    (form.section, form.syntax): "tests/ptxcore/semantics/test_images.py compares it with NumPy, on random images"
    for form in FORMS
    if form.run is not None
}
