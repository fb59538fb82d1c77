"""The capital distribution of an Atlas market: log-log slope and concentration in closed form.

Stocks start with equal capital, run until the market has forgotten it, and are held to the law
that the exponential gaps of the Atlas model give: capitals over the lowest are independent Pareto.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import atlas
from atlas.ensemble import Estimate

from ._capital_distribution_figure import draw
from ._capital_market import (
    log_log_slope,
    market,
    mean_log_capital,
    mean_power_sum,
    weights,
)
from ._frame import Claim, Experiment, Outcome, bias_bound, spawn_seed


@dataclass(frozen=True)
class Settings:
    num_stocks: tuple[int, ...] = (12, 24)
    """Sizes N of the markets, each at least 4."""
    exponent: float = 1.25
    """Pareto exponent alpha of the capitals; the curve's slope tends to -1/alpha."""
    variance: float = 1.0
    """Variance of each log-capital per unit of time."""
    relaxations: float = 6.0
    """Time from equal capitals to the first look, in relaxation times 8/(alpha^2 variance)."""
    num_looks: int = 3
    """Looks at the market, one relaxation time apart."""
    step: float = 0.005
    """Step, in units of time; compared with its double."""
    replicas: int = 2**13
    """Independent markets of each size."""

    def __post_init__(self) -> None:
        if not self.num_stocks or min(self.num_stocks) < 4:
            raise ValueError(f"num_stocks are {self.num_stocks}: give sizes of at least 4")
        if not (self.exponent > 0 and self.variance > 0):
            raise ValueError(
                f"exponent is {self.exponent}, variance {self.variance}: give positive numbers"
            )
        if self.num_looks < 1 or not self.relaxations > 0 or self.replicas < 20:
            raise ValueError(
                f"num_looks {self.num_looks}, relaxations {self.relaxations}, replicas "
                f"{self.replicas}: give at least 1, more than 0 and at least 20"
            )

    @property
    def relaxation(self) -> float:
        """Relaxation time of the largest stocks."""
        return 8 / (self.exponent**2 * self.variance)


@dataclass(frozen=True)
class Market:
    """Markets of one size.

    Arguments:
        fine, coarse: log-capitals over that of the lowest, largest first, at the step and at its
            double on the same noise, shape (look, replica, rank).
    """

    num_stocks: int
    exponent: float
    fine: np.ndarray
    coarse: np.ndarray

    @property
    def num_ranks(self) -> int:
        """Ranks over which the slope is taken: the upper half."""
        return self.num_stocks // 2

    def estimate(self, quantity: Callable[[np.ndarray], np.ndarray]) -> tuple[Estimate, np.ndarray]:
        """Mean of a quantity of the log-capitals over looks and replicas, and its bias bound."""
        fine, coarse = (quantity(each).mean(axis=0) for each in (self.fine, self.coarse))
        return Estimate.from_samples(fine), bias_bound(coarse, fine)


MarketFactory = Callable[[int, float, float], atlas.RankDiffusion]


def simulate(settings: Settings, *, seed: int, factory: MarketFactory = market) -> list[Market]:
    """Run all markets; the tests pass ones that are not what they say."""
    return [
        _simulate_one(settings, count, factory, spawn_seed(seed, i))
        for i, count in enumerate(settings.num_stocks)
    ]


def _simulate_one(settings: Settings, count: int, factory: MarketFactory, key: int) -> Market:
    model = factory(count, settings.exponent, settings.variance)
    looks = settings.relaxations + np.arange(settings.num_looks)
    # On the grid of both steps.
    coarse_step = 2 * settings.step
    times = np.round(looks * settings.relaxation / coarse_step) * coarse_step

    def log_capitals(step: float, noise_step: float | None) -> np.ndarray:
        ranked = atlas.simulate(
            model,
            atlas.Splitting(step=step),
            times=times,
            initial=np.zeros(count),
            replicas=settings.replicas,
            key=key,
            noise_step=noise_step,
        ).ranked.astype(float)
        return ranked[..., ::-1] - ranked[..., :1]

    return Market(
        count,
        settings.exponent,
        log_capitals(settings.step, None),
        log_capitals(coarse_step, settings.step),
    )


def run(settings: Settings, *, seed: int) -> Outcome:
    markets = simulate(settings, seed=seed)
    claims = [claim for each in markets for claim in market_claims(each)]
    return Outcome(claims, list(rows(markets)), draw(markets))


def market_claims(each: Market) -> Iterator[Claim]:
    alpha, count = each.exponent, each.num_stocks
    exact = mean_log_capital(count, alpha)
    yield _claim(
        each,
        "The capital distribution curve of an Atlas market has the slope that its gaps give.",
        f"slope of log weight on log rank, {each.num_ranks} largest",
        lambda log_capital: log_log_slope(log_capital, each.num_ranks),
        float(log_log_slope(exact, each.num_ranks)),
    )
    for j in (1, 2, 4):
        yield _claim(
            each,
            "The gap below the j-th largest is Exp(alpha j).",
            f"alpha j E gap below rank {j} from the top",
            lambda log_capital, j=j: alpha * j * (log_capital[..., j - 1] - log_capital[..., j]),
            1.0,
        )
    yield _claim(
        each,
        "Concentration is that of independent Pareto capitals.",
        "Herfindahl index E sum w^2",
        lambda log_capital: np.square(weights(log_capital)).sum(axis=-1),
        mean_power_sum(count, alpha, 2.0),
    )
    yield _claim(
        each,
        "Concentration is that of independent Pareto capitals.",
        "diversity E sum w^(1/2)",
        lambda log_capital: np.sqrt(weights(log_capital)).sum(axis=-1),
        mean_power_sum(count, alpha, 0.5),
    )


def _claim(
    each: Market,
    statement: str,
    quantity: str,
    function: Callable[[np.ndarray], np.ndarray],
    theory: float,
) -> Claim:
    estimate, bound = each.estimate(function)
    return Claim(
        "S.1",
        statement,
        f"N={each.num_stocks}: {quantity}",
        float(estimate.value),
        float(estimate.std_error),
        theory,
        float(bound),
        float(estimate.dof),
    )


def rows(markets: list[Market]) -> Iterator[dict[str, object]]:
    """Mean log weight of each rank, and mean log capital over the lowest with its exact value."""
    for each in markets:
        shares, _ = each.estimate(lambda log_capital: np.log(weights(log_capital)))
        capitals, bounds = each.estimate(lambda log_capital: log_capital)
        exact = mean_log_capital(each.num_stocks, each.exponent)
        for j in range(each.num_stocks):
            yield {
                "num_stocks": each.num_stocks,
                "rank_from_the_top": j + 1,
                "mean_log_weight": float(shares.value[j]),
                "mean_log_capital": float(capitals.value[j]),
                "std_error": float(capitals.std_error[j]),
                "bias_bound": float(bounds[j]),
                "exact": float(exact[j]),
            }


EXPERIMENT: Experiment[Settings] = Experiment(
    "S",
    Settings(),
    Settings(num_stocks=(8,), step=0.01, replicas=2**11),
    run,
)
