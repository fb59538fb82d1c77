"""All benchmarks. A new one is a file `NAME.py` that holds `COMPARISON`, and a line here."""

from experiments._frame import Catalogue

BENCHMARKS = Catalogue(
    package="benchmarks",
    attribute="COMPARISON",
    names=(
        "atlas_step",
        "cost_to_bias",
        "rank_drifts",
        "rank_drift_cost",
        "queue_engines",
        "queue_engines_large",
        "short_replicas",
        "two_scale_queues",
        "two_scale_splitting",
        "cost_against_size",
        "calendar_engine",
        "jsq_family",
        "queue_peers",
    ),
)
