"""The Gamma law of the total, and queues and diffusions that tend to it."""

import numpy as np
import pytest
from scipy import stats

import atlas
import queueing
from atlas.ensemble import Estimate


def test_the_law_is_that_of_scipy():
    """Oracle: scipy.stats.gamma; no sampling."""
    law, exact = queueing.GammaLaw(4 / 3, 2.5), stats.gamma(4 / 3, scale=0.4)
    x = np.array([-1.0, 0.1, 1.0, 5.0])
    np.testing.assert_allclose(law.cdf(x), exact.cdf(x))
    np.testing.assert_allclose(law.survival(x), exact.sf(x))
    np.testing.assert_allclose(law.log_prob(x[1:]), exact.logpdf(x[1:]))
    assert law.log_prob(x)[0] == -np.inf
    prob = np.array([0.0, 0.3, 0.99, 1.0])
    np.testing.assert_allclose(law.quantile(prob), exact.ppf(prob))
    assert (law.mean, law.std) == pytest.approx((exact.mean(), exact.std()))


def test_shapes():
    """Equal servers 2, others 1 + mu_min/mu_max, in any unit and without empty classes."""
    assert queueing.total_beyond_halfin_whitt(2.0) == queueing.GammaLaw(2.0, 2.0)
    assert queueing.total_beyond_halfin_whitt(1.0, [3.0, 1.0]).shape == pytest.approx(4 / 3)
    law = queueing.total_beyond_halfin_whitt(1.0, [9.0, 3.0, 1.0], [0.0, 0.5, 0.5])
    assert law.shape == pytest.approx(4 / 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: queueing.GammaLaw(0.0, 1.0), "shape is 0.0"),
        (lambda: queueing.GammaLaw(1.0, np.inf), "rate is inf"),
        (lambda: queueing.GammaLaw(True, 1.0), "shape is True"),
        (lambda: queueing.GammaLaw(1.0, 1.0).quantile(1.5), "prob is 1.5"),
        (lambda: queueing.total_beyond_halfin_whitt(0.0), "beta is 0.0"),
        (lambda: queueing.total_beyond_halfin_whitt(1.0, [1.0, -1.0]), r"service_rates\[1\]"),
        (lambda: queueing.halfin_whitt(np.nan), "beta is nan"),
        (lambda: queueing.halfin_whitt(1.0, num_servers=0), "num_servers is 0"),
        (lambda: queueing.halfin_whitt(1.0, [1.0], [0.5]), "shares sums to"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_models_of_the_diffusion():
    """Rates in the unit of a mean rate 1, and beta less what fast servers leave; no sampling."""
    model = queueing.halfin_whitt(2.0, [3.0, 1.0], num_servers=900)
    assert (model.decay, model.memory_decays, model.memory_weights) == (0.5, (1.5,), (1.5,))
    assert model.drift == pytest.approx(2.0 - 3.0 / 30)
    assert queueing.halfin_whitt(2.0, num_servers=900).drift == 2.0
    # Neither the unit nor a class of no servers matters.
    other = queueing.halfin_whitt(2.0, [90.0, 6.0, 2.0, 0.1], [0.0, 0.5, 0.5, 0.0], num_servers=900)
    assert (other.decay, *other.memory_decays, other.drift) == pytest.approx((0.5, 1.5, 1.9))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rates", "policy"),
    [([1.0, 1.0], queueing.JSQ()), ([1.5, 0.5], queueing.JFSQ())],
)
def test_queues_follow_the_halfin_whitt_diffusion(rates, policy):
    """Oracle: E X and E V of the diffusion, at steps 0.1 and 0.05. The queue at N = 400, 1600 and
    6400 has 1/sqrt(N) taken out. False-fail rate 1e-6 (5 s.e.) with the extrapolation's own
    distance as bias; detects 0.2 of about 0.8. The diffusion of the other
    kind of servers is rejected.
    """

    def diffusion(service_rates, step):
        paths = atlas.simulate_reflected_ou(
            queueing.halfin_whitt(1.0, service_rates),
            step=step,
            times=[15.0, 60.0],
            replicas=4096,
            key=5,
        )
        pushes = np.diff(paths.values("regulator"), axis=0)[0] / 45.0
        fast = max(service_rates) / np.mean(service_rates)
        return Estimate.from_samples(pushes / fast)

    def scaled_wait(n):
        run = queueing.long_run(
            queueing.System(np.repeat(rates, n // 2), n - n**0.5),
            policy,
            horizon=40.0 + 3e8 / n / 20,
            warmup=40.0,
            initial=np.ones(n, int),
            replicas=20,
            seed=2,
            num_ranks=1,
            engine="markov",
        )
        wait = run.estimate("wait")
        load = 1 - n**-0.5
        return np.array([wait.value, wait.std_error]) * load * n**0.5

    fine, coarse = diffusion(rates, 0.05), diffusion(rates, 0.1)
    sizes = np.array([scaled_wait(n) for n in (400, 1600, 6400)])
    limit = 2 * sizes[2, 0] - sizes[1, 0]
    before = 2 * sizes[1, 0] - sizes[0, 0]
    error = np.sqrt(4 * sizes[2, 1] ** 2 + sizes[1, 1] ** 2 + fine.std_error**2)
    bias = abs(limit - before) / 2 + abs(fine.value - coarse.value)
    assert abs(limit - fine.value) < 5 * error + bias
    assert 5 * error < 0.2
    other = diffusion([1.5, 0.5] if rates[0] == 1.0 else [1.0, 1.0], 0.05)
    assert abs(limit - other.value) > 5 * error + bias
