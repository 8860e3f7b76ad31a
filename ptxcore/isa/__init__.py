"""The instruction set as data: one declaration for each form, its meaning beside it."""
