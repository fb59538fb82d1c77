"""Between Halfin-Whitt and heavy traffic the number of jobs is a single server's: a Gamma law.

With load 1 - beta N^{-alpha}, 1/2 < alpha < 1, Y = beta (jobs - N)/N^alpha. For equal servers under
JSQ it tends to Gamma(2, 1), for unequal ones under JFSQ we conjecture Gamma(1 + mu_min/mu_max, 1).
Two roads lead there: queues with N growing, and the Halfin-Whitt diffusion with beta falling to 0;
at the same beta N^{1/2 - alpha} both are held to each other. Convergence is slow: what parts the
diffusion from its limit is its time near the floor, of order beta^shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import queueing
from atlas.ensemble import Estimate

from ._beyond_halfin_whitt_figure import draw
from ._beyond_halfin_whitt_runs import (
    CASES,
    GRID,
    Runs,
    SystemFactory,
    Total,
    many_servers,
    simulate,
)
from ._frame import Claim, Experiment, Outcome
from ._server_profiles import EQUAL, Profile
from ._size_extrapolation import extrapolate


@dataclass(frozen=True)
class Settings:
    alpha: float = 0.75
    """Exponent of the load's distance from 1, between 1/2 and 1."""
    beta: float = 2.0
    """Its factor."""
    sizes: tuple[int, int, int] = (1000, 4000, 16000)
    """Servers, each four times the former."""
    relaxations: float = 4000.0
    """Length of each size's runs together, in relaxation times N^(2 alpha - 1)/beta^2."""
    replicas: int = 32
    """Replicas of each run."""
    diffusion_betas: tuple[float, float, float] = (0.4, 0.2, 0.1)
    """Parameters of the Halfin-Whitt diffusion, each half the former."""
    diffusion_replicas: int = 2**14
    """Paths of each diffusion."""

    def __post_init__(self) -> None:
        if not 0.5 < self.alpha < 1:
            raise ValueError(f"alpha is {self.alpha}: give one between 1/2 and 1")
        if not self.beta > 0:
            raise ValueError(f"beta is {self.beta}: give a positive one")
        if any(large != 4 * small for small, large in pairwise(self.sizes)) or self.sizes[0] < 20:
            raise ValueError(f"sizes are {self.sizes}: each four times the former, from 20")
        if any(large != 2 * small for large, small in pairwise(self.diffusion_betas)):
            raise ValueError(f"diffusion_betas are {self.diffusion_betas}: each half the former")
        if min(self.replicas, self.diffusion_replicas) < 20:
            raise ValueError("replicas and diffusion_replicas: give at least 20, for an error")
        if not self.relaxations > 0:
            raise ValueError(f"relaxations is {self.relaxations}: give a positive number")


def run(settings: Settings, *, seed: int, system_of: SystemFactory = many_servers) -> Outcome:
    runs = simulate(settings, seed=seed, system_of=system_of)
    return Outcome(list(all_claims(runs)), list(rows(runs)), draw(runs), list(notes(runs)))


def statement(profile: Profile) -> str:
    if profile is EQUAL:
        return "Equal servers, JSQ: the total above N is Gamma(2, beta) on the scale N^alpha."
    return "Conjecture for JFSQ: it is Gamma(1 + mu_min/mu_max, beta)."


def limit_shape(profile: Profile) -> float:
    return queueing.total_beyond_halfin_whitt(1.0, profile.rates, profile.shares).shape


def all_claims(runs: Runs) -> Iterator[Claim]:
    settings = runs.settings
    for profile, _ in CASES:
        yield diffusion_claim(runs, profile)
        yield matched_claim(runs, profile)
        yield from queue_claims(runs, profile)
    n = settings.sizes[-1]
    yield Claim(
        "P2.4",
        "What is not served is idle: beta N^(1-alpha) servers in the mean, exactly.",
        f"equal, JSQ, N={n}: E idle / (beta N^(1-alpha))",
        float(runs.idle.value / (settings.beta * n ** (1 - settings.alpha))),
        float(runs.idle.std_error / (settings.beta * n ** (1 - settings.alpha))),
        1.0,
        0.0,
        float(runs.idle.dof),
    )


def diffusion_limit(runs: Runs, profile: Profile) -> tuple[Estimate, float]:
    """The diffusion's E Y as beta falls to 0, and a bound on what is left and on the step's bias.

    Near the floor the diffusion spends a share beta^shape of its time.
    """
    shapes = [each.shape for each in runs.diffusions[profile.name]]
    limit, bias = extrapolate(shapes, 2 ** limit_shape(profile))
    fine, coarse = shapes[0], runs.coarse[profile.name].shape
    step = abs(fine.value - coarse.value) + np.hypot(fine.std_error, coarse.std_error)
    return limit, float(bias + step)


def diffusion_claim(runs: Runs, profile: Profile) -> Claim:
    limit, bias = diffusion_limit(runs, profile)
    return Claim(
        "P2.4",
        statement(profile),
        f"{profile.name}, Halfin-Whitt diffusion, beta -> 0: E Y",
        float(limit.value),
        float(limit.std_error),
        limit_shape(profile),
        bias,
        float(limit.dof),
    )


def matched_claim(runs: Runs, profile: Profile) -> Claim:
    """At the largest N; what parts both falls like 1/sqrt(N) or N^(alpha - 1), as seen at N/4."""
    settings = runs.settings
    quarter, large = (
        (queue.shape, diffusion.shape)
        for queue, diffusion in zip(
            runs.queues[profile.name][1:], runs.matched[profile.name], strict=True
        )
    )
    gap = abs(quarter[0].value - quarter[1].value)
    bias = gap + np.hypot(quarter[0].std_error, quarter[1].std_error)
    bias /= 4 ** min(0.5, 1 - settings.alpha)
    return Claim(
        "P2.4",
        "Queues follow the Halfin-Whitt diffusion of the same load.",
        f"{profile.name}, N={settings.sizes[-1]}: rate E Y",
        float(large[0].value),
        float(np.hypot(large[0].std_error, large[1].std_error)),
        float(large[1].value),
        float(bias),
        float(large[0].dof),
    )


def queue_claims(runs: Runs, profile: Profile) -> Iterator[Claim]:
    """Extrapolated in N: the diffusion's parameter falls like N^(1/2 - alpha)."""
    settings, queues = runs.settings, runs.queues[profile.name]
    shape = limit_shape(profile)
    ratio = 4 ** ((settings.alpha - 0.5) * shape)
    limit, bias = extrapolate([each.shape for each in queues], ratio)
    yield Claim(
        "P2.4",
        statement(profile),
        f"{profile.name}, queues, N -> infinity: rate E Y",
        float(limit.value),
        float(limit.std_error),
        shape,
        float(bias),
        float(limit.dof),
    )
    if profile is not EQUAL:
        return
    law = queueing.GammaLaw(shape, 1.0)
    cdf, cdf_bias = extrapolate([each.cdf for each in queues], ratio)
    for x in (1.0, 2.0, 4.0):
        k = int(np.searchsorted(GRID, x))
        yield Claim(
            "P2.4",
            statement(profile),
            f"{profile.name}, queues, N -> infinity: P(Y <= {x:g})",
            float(cdf.value[k]),
            float(cdf.std_error[k]),
            float(law.cdf(x)),
            float(cdf_bias[k]),
            float(cdf.dof[k]),
        )


def notes(runs: Runs) -> Iterator[str]:
    """How the conjecture stands against other shapes."""
    for profile, _ in CASES:
        if profile is EQUAL:
            continue
        limit, bias = diffusion_limit(runs, profile)
        shape = limit_shape(profile)
        yield (
            f"{profile.name}: the diffusion's E Y tends to {float(limit.value):.3f} +- "
            f"{float(limit.std_error):.3f} (left over: at most {bias:.3f}); conjectured "
            f"{shape:.3f}; that of equal servers, 2, is "
            f"{(2 - float(limit.value)) / (float(limit.std_error) + bias):.0f} times all that away."
        )


def rows(runs: Runs) -> Iterator[dict[str, object]]:
    for kind, totals in (
        ("queues", runs.queues),
        ("diffusion of the same load", runs.matched),
        ("diffusion", runs.diffusions),
    ):
        for profile, _ in CASES:
            for total in totals[profile.name]:
                yield from _rows(kind, total, limit_shape(profile))


def _rows(kind: str, total: Total, shape: float) -> Iterator[dict[str, object]]:
    law = queueing.GammaLaw(shape, total.rate)
    cdf = total.cdf
    estimates = [
        ("rate E Y", total.shape, shape),
        ("(E Y)^2 / Var Y", total.shape_by_spread, shape),
        *((f"P(Y <= {x:g})", cdf[k], float(law.cdf(x))) for k, x in enumerate(GRID)),
    ]
    for quantity, estimate, theory in estimates:
        yield {
            "what": kind,
            "servers": total.name,
            "N or beta": total.parameter,
            "quantity": quantity,
            "value": float(estimate.value),
            "std_error": float(estimate.std_error),
            "limit": theory,
        }


EXPERIMENT: Experiment[Settings] = Experiment(
    "P2",
    Settings(),
    Settings(
        sizes=(100, 400, 1600),
        relaxations=2000,
        replicas=32,
        diffusion_betas=(0.8, 0.4, 0.2),
        diffusion_replicas=2**11,
    ),
    run,
)
