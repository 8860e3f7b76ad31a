"""The explorer in a browser: a server of pages and of answers as JSON, and the processes that decide.

Nothing of this is imported but by `ptxmm serve`. What a visitor sends is looked at in worker processes only (`workroom`), which
read no files, start no programs and reach no network (`sealed`).
"""
