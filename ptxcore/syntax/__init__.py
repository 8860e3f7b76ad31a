"""Text to tree, and back to text."""
