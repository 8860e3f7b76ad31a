"""`python -m ptxmm`."""

from ptxmm.cli.main import entry

if __name__ == "__main__":
    entry()
