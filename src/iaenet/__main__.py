"""`python -m iaenet` is `iaenet`."""

import sys

from iaenet.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
