"""`python -m benchmarks` lists the benchmarks, `python -m benchmarks NAME` runs one."""

import sys

from ._command import main
from ._registry import BENCHMARKS

if __name__ == "__main__":
    sys.exit(main(BENCHMARKS, sys.argv[1:], "python -m benchmarks"))
