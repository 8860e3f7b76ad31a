"""Stack manipulation (section 9.7.17)."""

from __future__ import annotations

from ptxcore.isa.stack import FORMS

EXPLAINED = {
    (form.section, form.syntax): "has no result of its own; test_stack.py runs it on a stack" for form in FORMS
}
