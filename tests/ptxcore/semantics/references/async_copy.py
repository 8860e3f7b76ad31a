"""Asynchronous copies have effects only: threads run them on bytes in test_memory_forms.py."""

from __future__ import annotations

from ptxcore.isa.async_copy import FORMS

EXPLAINED = {
    (form.section, form.syntax): "test_memory_forms.py runs it on bytes" for form in FORMS if form.run is not None
}
