"""Several runs, one for each order that matters of the operations that are open.

Imports the folders of one run.
"""
