"""What every test needs before JAX is imported: the CPU, whatever else the machine has."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("MPLBACKEND", "Agg")
