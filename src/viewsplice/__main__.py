"""``python -m viewsplice``: the same as the command ``viewsplice``."""

import sys

from viewsplice.cli import main

if __name__ == "__main__":
    sys.exit(main())
