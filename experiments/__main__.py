"""`python -m experiments` lists the experiments, `python -m experiments NAME` runs one."""

import sys

from ._frame import main
from ._registry import EXPERIMENTS

if __name__ == "__main__":
    sys.exit(main(EXPERIMENTS, sys.argv[1:], "python -m experiments"))
