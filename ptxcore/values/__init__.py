"""Values: Python integers while known, terms of our own once symbolic."""
