"""`python -m iaenet` is `iaenet`."""

import sys

from iaenet.cli import main

sys.exit(main())
