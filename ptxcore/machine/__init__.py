"""Threads on a machine: made ready from PTX, run on numbers, explored on symbols."""
