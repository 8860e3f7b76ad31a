"""CTAs that can change places, of which some stand for all.

Imports the folders before it.
"""
