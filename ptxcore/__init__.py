"""The PTX language: reading it, checking it, executing it. Knows nothing of memory models."""
