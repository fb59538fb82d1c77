"""Relative biases of mean gaps that an independent program found, for `solver_bias`.

N = 4, a = 2, b = 1, closure "stationary", from the exact law to t = 4. Made by a program of another
design (particle loops, sorting by insertion, NumPy's generator): 400 000 paths, and 1 600 000 for
the splitting, rounded to three decimals.
"""

from typing import NamedTuple

import numpy as np

STEPS = (0.2, 0.1, 0.05, 0.025)


class Reference(NamedTuple):
    """Biases (step, gap) and their common standard error, rounding included."""

    bias: np.ndarray
    std_error: float


TABLE = {
    "ProjectedEuler": Reference(
        np.array(
            [
                [-0.244, 0.083, 0.119, 0.326],
                [-0.177, 0.051, 0.056, 0.174],
                [-0.129, 0.031, 0.027, 0.096],
                [-0.092, 0.022, 0.014, 0.049],
            ]
        ),
        0.0016,
    ),
    "BridgeEuler": Reference(
        np.array(
            [
                [-0.038, 0.123, 0.094, 0.303],
                [-0.020, 0.066, 0.040, 0.165],
                [-0.010, 0.034, 0.017, 0.085],
                [-0.005, 0.014, 0.007, 0.046],
            ]
        ),
        0.0016,
    ),
    "Splitting": Reference(
        np.array(
            [
                [-0.009, 0.032, 0.004, 0.093],
                [-0.005, 0.012, -0.004, 0.042],
                [-0.002, 0.006, -0.004, 0.016],
                [-0.003, 0.002, -0.003, 0.007],
            ]
        ),
        0.0009,
    ),
}
