"""The formula of the executions of a program: bounds, interpretation of a model, symmetry, termination, and how it is solved.

Imports everything below; whoever asks a new question of executions builds on it.
"""
