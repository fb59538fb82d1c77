"""Richardson extrapolation of means to step 0, on runs coupled by their noise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ._check import check_choice, check_positive
from ._exponential_mixture import ExponentialMixture
from ._law import ProductExponential
from ._model import RankDiffusion
from ._scheme import AbstractScheme
from ._simulate import simulate
from .ensemble import Estimate, resolve_seed


@dataclass(frozen=True, eq=False)
class Extrapolation:
    """Means extrapolated to step 0, and what is known of their error.

    `estimate`: the extrapolated means with their statistical error. `remaining`: how much they
    change from the two longer to the two shorter steps, an estimate of the bias that is left if it
    is well beyond its own statistical error. `correction`: what the extrapolation added to the run
    at the shortest step, whose bias it estimates. `runs`: the means at each step, `steps` in
    descending order. `order`: the exponent. All estimates have the shape (time, gap or rank).
    """

    estimate: Estimate
    remaining: Estimate
    correction: Estimate
    runs: tuple[Estimate, Estimate, Estimate]
    steps: tuple[float, float, float]
    order: float

    @property
    def bias_bound(self) -> np.ndarray:
        """|remaining| + 2 of its standard errors: what the bias is not likely to exceed."""
        return np.abs(self.remaining.value) + 2 * self.remaining.std_error


def richardson(
    model: RankDiffusion,
    scheme: AbstractScheme,
    *,
    quantity: str = "gaps",
    order: float | None = None,
    times: Sequence[float] | np.ndarray | None = None,
    horizon: float | None = None,
    initial: str
    | ProductExponential
    | ExponentialMixture
    | Callable
    | Sequence
    | np.ndarray = "stationary",
    replicas: int | range = 1,
    key=None,
    num_ranks: int | None = None,
    dtype="float32",
    chunk: int | None = None,
    num_threads: int | None = None,
) -> Extrapolation:
    """Mean gaps or ranked positions extrapolated to step 0 from the steps h, h/2 and h/4.

        estimate = y_{h/4} + (y_{h/4} - y_{h/2}) / (2^p - 1) ,

    for a bias proportional to h^p. The three runs share the noise of the finest one and the start,
    so that differences have far smaller errors than means. If the bias does not follow h^p yet,
    the extrapolation from h and h/2 differs from this one; the result tells by how much.

    Arguments: `scheme` has the longest step h; `quantity`, "gaps" or "ranked"; `order` p, None for
    the scheme's own on this model, its `weak_order`; the others as in `simulate`, save times being
    multiples of h. Returns an
    `Extrapolation`. Raises ValueError as `simulate`, and for an order that is not positive. Cost:
    seven times that of a run at step h. Source: [TalayTubaro1990].
    """
    check_choice("quantity", quantity, ("gaps", "ranked"))
    given = None if order is None else check_positive("order", order)
    seed = resolve_seed(key)
    coarse = check_positive("step", float(scheme.step))
    steps = (coarse, coarse / 2, coarse / 4)
    samples = []
    for step in steps:
        solution = simulate(
            model,
            replace(scheme, step=step),
            times=times,
            horizon=horizon,
            initial=initial,
            replicas=replicas,
            key=seed,
            num_ranks=num_ranks,
            noise_step=steps[-1],
            dtype=dtype,
            chunk=chunk,
            num_threads=num_threads,
        )
        samples.append(solution.values(quantity).astype(np.float64))
    p = scheme.weak_order(model) if given is None else given
    weight = 1 / (2**p - 1)
    corrections = [weight * (samples[i + 1] - samples[i]) for i in (0, 1)]
    first, second = (samples[i + 1] + corrections[i] for i in (0, 1))
    over_replicas = lambda values: Estimate.from_samples(values, axis=1)  # noqa: E731
    return Extrapolation(
        estimate=over_replicas(second),
        remaining=over_replicas(second - first),
        correction=over_replicas(corrections[1]),
        runs=(over_replicas(samples[0]), over_replicas(samples[1]), over_replicas(samples[2])),
        steps=steps,
        order=p,
    )
