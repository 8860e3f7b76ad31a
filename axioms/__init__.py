"""Memory models as text, and the engine that decides them. Knows nothing of file formats."""
