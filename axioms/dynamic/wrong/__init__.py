"""Runs that show what is wrong, in orders that are likely to: each is held against the model by itself.

Imports the folders before it; nothing that proves imports it.
"""
