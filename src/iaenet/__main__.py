"""`python -m iaenet` is `iaenet`."""

import sys

from iaenet.cli.main import command

if __name__ == "__main__":
    sys.exit(command())
