"""Control flow of a thread made ready: loops, dead code, iterations that may be left out. Imports `ir`."""
