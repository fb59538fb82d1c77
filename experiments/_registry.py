"""All experiments. A new one is a file `NAME.py` that holds `EXPERIMENT`, and a line here."""

from ._frame import Catalogue

EXPERIMENTS = Catalogue(
    package="experiments",
    attribute="EXPERIMENT",
    names=(
        "solver_bias",
        "gap_laws",
    ),
)
