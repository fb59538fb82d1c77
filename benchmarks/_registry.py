"""All benchmarks. A new one is a file `NAME.py` that holds `COMPARISON`, and a line here."""

from experiments._frame import Catalogue

BENCHMARKS = Catalogue(
    package="benchmarks",
    attribute="COMPARISON",
    names=("atlas_step", "cost_to_bias", "rank_drifts", "queue_engines", "queue_engines_large"),
)
