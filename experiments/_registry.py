"""All experiments. A new one is a file `NAME.py` that holds `EXPERIMENT`, and a line here."""

from ._frame import Catalogue

EXPERIMENTS = Catalogue(
    package="experiments",
    attribute="EXPERIMENT",
    names=(
        "quickstart",
        "diffusion_limit",
        "paused_and_original",
        "lowest_queues",
        "routing_tradeoff",
        "start_matters",
        "solver_bias",
        "gap_laws",
    ),
)
