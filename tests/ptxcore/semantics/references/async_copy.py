"""Asynchronous copies have effects only: the machine's tests run them."""

from __future__ import annotations

from ptxcore.isa.async_copy import FORMS

EXPLAINED = {(form.section, form.syntax): "machine/test_copies.py runs it" for form in FORMS if form.run is not None}
