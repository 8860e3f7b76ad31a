"""Threads on symbols: every path at once, what loads return left open. Imports every other room of the machine."""
