"""Miscellaneous instructions (section 9.7.19)."""

EXPLAINED = {
    ("9.7.19.1", "brkpt"): "has no result; test_stack.py sees that it stops the thread",
    ("9.7.19.4", "trap"): "has no result; test_stack.py sees that it stops the thread",
}
