"""Tickets, claims, slots, lists by exchange: numbers whose owner is open, and what is the same whoever has them.

Imports `sections` and what stands before it.
"""
