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
        "rank_routing",
        "workload_factor",
        "interchange",
        "overloaded",
        "capital_distribution",
        "rank_bias",
        "general_distributions",
        "general_service",
        "trace_driven",
        "zero_waiting",
        "heterogeneity",
        "power_of_d",
        "beyond_halfin_whitt",
        "remote_queues",
        "balancing_order",
        "capacity_planning",
        "stale_information",
    ),
)
