"""Open Jackson networks, and the system with pauses as one."""

import numpy as np
import pytest
import scipy.sparse as sparse

from queueing._exact import exact_stationary
from queueing._jackson import JacksonNetwork, paused_gaps
from queueing._paused import PausedSystem
from queueing._product_geometric import ProductGeometric


def p0_rates(n, a=2.0, b=1.0):
    arrivals = np.full(n, n - a / np.sqrt(n))
    arrivals[0] += b * np.sqrt(n)
    return arrivals, np.full(n, float(n))


def two_stations():
    """Feedback: 40 % of what station 1 serves goes to station 2, a quarter of that comes back."""
    return JacksonNetwork([0.3, 0.2], [1.0, 0.8], [[0.1, 0.4], [0.25, 0.0]])


def brute_force_law(network, cap):
    """The stationary law on lengths up to `cap` by the null space of a dense generator."""
    routing = network.routing_matrix.toarray()
    levels = np.arange(cap + 1)
    states = [(i, j) for i in levels for j in levels]
    number = {state: k for k, state in enumerate(states)}
    rates = np.zeros((len(states), len(states)))

    def add(source, target, rate):
        if target in number:
            rates[number[source], number[target]] += rate

    for i, j in states:
        add((i, j), (i + 1, j), network.external_rates[0])
        add((i, j), (i, j + 1), network.external_rates[1])
        leave = 1.0 - routing.sum(axis=1)
        if i > 0:
            add((i, j), (i - 1, j), network.service_rates[0] * leave[0])
            add((i, j), (i - 1, j + 1), network.service_rates[0] * routing[0, 1])
        if j > 0:
            add((i, j), (i, j - 1), network.service_rates[1] * leave[1])
            add((i, j), (i + 1, j - 1), network.service_rates[1] * routing[1, 0])
    generator = rates - np.diag(rates.sum(axis=1))
    system = np.vstack((generator.T, np.ones(len(states))))
    right = np.zeros(len(states) + 1)
    right[-1] = 1.0
    return np.array(states), np.linalg.lstsq(system, right, rcond=None)[0]


def test_product_form_is_the_null_vector_of_the_generator():
    """Oracle: dense linear algebra with lengths up to 24; the same comparison rejects loads that
    leave out the feedback of station 2."""
    network = two_stations()
    states, law = brute_force_law(network, 24)
    assert np.abs(network.prob(states) - law).max() < 1e-7
    without_feedback = ProductGeometric(network.external_rates / network.service_rates)
    assert np.abs(without_feedback.prob(states) - law).max() > 1e-2


def test_traffic_equations():
    network = two_stations()
    routing = network.routing_matrix.toarray()
    inflow = network.external_rates + routing.T @ network.throughputs
    assert np.allclose(network.throughputs, inflow, rtol=1e-14)
    assert np.allclose(network.loads, network.throughputs / network.service_rates)


def test_means_agree_with_littles_law():
    network = two_stations()
    response = network.mean_waits + 1.0 / network.service_rates
    assert np.allclose(network.throughputs * response, network.mean_lengths, rtol=1e-12)
    visits = network.throughputs / network.external_rates.sum()
    assert network.mean_time_in_network == pytest.approx(visits @ response, rel=1e-12)


def test_tandem_of_two_is_two_independent_queues():
    network = JacksonNetwork([0.5, 0.0], [1.0, 2.0], sparse.csr_array([[0.0, 1.0], [0.0, 0.0]]))
    assert np.allclose(network.mean_lengths, [1.0, 1.0 / 3.0])
    assert network.prob([0, 0]) == pytest.approx(0.5 * 0.75)
    assert np.allclose(network.tail([2, 2]), [0.25, 0.0625])


def test_station_without_jobs_is_empty():
    network = JacksonNetwork([0.0, 0.4], [1.0, 1.0], np.zeros((2, 2)))
    assert network.mean_lengths[0] == 0.0
    assert np.all(network.sample(replicas=50, seed=3)[:, 0] == 0)


@pytest.mark.parametrize("n", [2, 3])
def test_paused_law_is_exactly_a_product(n):
    """Oracle: the sparse null vector of the paused chain in joint law, with unequal rates; the
    same comparison rejects gaps whose ratios do not accumulate from the ranks above."""
    arrivals = np.array([1.1, 0.7, 0.8])[-n:]
    services = np.array([1.4, 1.3, 1.5])[-n:]
    chain = exact_stationary(PausedSystem(arrivals, services), max_length=60 if n == 2 else 44)
    law = PausedSystem(arrivals, services).stationary_gaps()
    gaps = np.diff(chain.states, axis=1, prepend=0)
    assert np.abs(law.prob(gaps) - chain.probabilities).max() < 1e-9
    assert np.allclose(chain.mean("gaps"), law.mean, atol=10 * chain.truncation_error + 1e-9)
    wrong = ProductGeometric(arrivals / services)
    assert np.abs(wrong.prob(gaps) - chain.probabilities).max() > 1e-2


def test_paused_network_solves_the_same_traffic_equations():
    for n in (1, 2, 7, 300):
        arrivals, services = p0_rates(n, a=0.7, b=0.3)
        closed = PausedSystem(arrivals, services).stationary_gaps()
        network = paused_gaps(arrivals, services)
        assert np.allclose(network.loads, closed.ratios, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("n", "printed"),
    [
        (8, [1.95802, 1.09732, 1.34703, 24.7335, 9.79759, 0.338064, 0.476798]),
        (16, [3.11506, 1.63936, 1.78673, 97.3323, 29.0984, 0.243010, 0.378880]),
        (100, [9.0591, 4.56196, 4.61328, 2537.42, 479.362, 0.0994125, 0.179793]),
        (1000, [30.6432, 15.332, 15.3478, 117839.0, 15577.7, 0.0316024, 0.0612296]),
    ],
)
def test_paused_table(n, printed):
    """To all printed digits (6 significant): means of the first gaps, spread, queue, two atoms."""
    law = PausedSystem(*p0_rates(n)).stationary_gaps()
    mean = law.mean
    queue = np.cumsum(mean).mean()
    atoms = 1.0 - law.ratios[:2]
    found = [*mean[:3], mean[1:].sum(), queue, *atoms]
    assert np.allclose(found, printed, rtol=6e-6)


def test_closed_form_at_a_million_servers():
    """Near the top rho_k^m is (1 - a n^{-3/2})^{(n-k+1) m}; only the lowest gap knows b."""
    n, a, b = 10**6, 2.0, 1.0
    law = PausedSystem(*p0_rates(n, a, b)).stationary_gaps()
    above = np.arange(n, 0, -1)
    log_rho = above * np.log1p(-a / n**1.5)
    log_rho[0] += np.log1p(b / np.sqrt(n) / (1.0 - a / n**1.5))
    exact = 1.0 / np.expm1(-log_rho)
    assert np.allclose(law.mean, exact, rtol=1e-6)
    tails = law.tail(np.full(n, 700))[:2]
    assert np.allclose(tails, np.exp(700 * log_rho[:2]), rtol=1e-8)


def test_samples_follow_the_law():
    """Oracle: means and tails of the product law, and no correlation between gaps.  Each of 22
    statistics at 5.5 sigma: false-fail rate below 1e-6; detects means off by 4 %, and so rejects a
    sample of the network without its special stream."""
    arrivals, services = np.array([1.2, 0.8, 0.7]), np.array([1.5, 1.2, 1.0])
    law = PausedSystem(arrivals, services).stationary_gaps()
    draws = law.sample(replicas=20_000, seed=5)

    def worst(sample):
        size = sample.shape[0]
        scores = [np.abs(sample.mean(axis=0) - law.mean) / law.std * np.sqrt(size)]
        for level in (1, 2, 4):
            tail = law.tail(np.full(3, level))
            errors = (sample >= level).mean(axis=0) - tail
            scores.append(np.abs(errors) / np.sqrt(tail * (1 - tail) / size))
        scores.append(np.abs(np.corrcoef(sample.T)[np.triu_indices(3, 1)]) * np.sqrt(size))
        return np.concatenate(scores).max()

    assert worst(draws) < 5.5
    wrong = PausedSystem(np.array([1.1, 0.8, 0.7]), services).stationary_gaps()
    assert worst(wrong.sample(replicas=20_000, seed=5)) > 5.5


def test_samples_belong_to_replicas():
    """C5, C6: replica i is the same in any batch, and fewer gaps are a prefix of all."""
    law = PausedSystem(*p0_rates(16)).stationary_gaps()
    whole = law.sample(replicas=9, seed=1)
    assert np.array_equal(law.sample(replicas=range(4, 9), seed=1), whole[4:])
    assert np.array_equal(law.sample(replicas=9, seed=1, num_coordinates=5), whole[:, :5])
    assert len(np.unique(whole, axis=0)) == 9
    assert not np.array_equal(law.sample(replicas=9, seed=2), whole)


def test_cdf_tail_and_prob_agree():
    law = ProductGeometric([0.5, 0.25, 0.0])
    levels = np.arange(6)
    for k in range(3):
        point = np.zeros((6, 3), dtype=int)
        point[:, k] = levels
        others = np.prod(np.delete(1.0 - law.ratios, k))
        pmf = law.prob(point) / others
        assert np.allclose(np.cumsum(pmf), law.cdf(point)[:, k])
        assert np.allclose(1.0 - np.cumsum(pmf) + pmf, law.tail(point)[:, k])
    assert law.prob([-1, 0, 0]) == 0.0
    assert np.all(law.cdf([-0.5, -1.0, -2.0]) == 0.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: JacksonNetwork([1.0], [1.0, 1.0], np.zeros((1, 1))), "service_rates has 2"),
        (lambda: JacksonNetwork([1.0], [0.0], np.zeros((1, 1))), r"service_rates\[0\] is 0"),
        (lambda: JacksonNetwork([-1.0], [1.0], np.zeros((1, 1))), r"external_rates\[0\] is -1"),
        (lambda: JacksonNetwork([np.nan], [1.0], np.zeros((1, 1))), r"external_rates\[0\]"),
        (lambda: JacksonNetwork([1.0], [2.0], np.zeros((2, 2))), "routing_matrix has shape"),
        (lambda: JacksonNetwork([1.0], [2.0], [[-0.1]]), "routing_matrix has a negative"),
        (lambda: JacksonNetwork([1.0], [2.0], [[np.nan]]), "routing_matrix has a negative"),
        (lambda: JacksonNetwork([1.0], [2.0], [[1.1]]), r"routing_matrix\[0\] sums to 1.1"),
        (
            lambda: JacksonNetwork([1.0, 0], [2.0, 2.0], [[0.0, 0.5], [0.0, 1.0]]),
            "no job leave from station 1",
        ),
        (
            lambda: JacksonNetwork([0.5, 0.9], [1.0, 1.0], [[0, 0.5], [0, 0]]).mean_lengths,
            r"loads\[1\] = 1.15",
        ),
        (lambda: JacksonNetwork([0.0], [1.0], [[0.0]]).mean_time_in_network, "external_rates"),
        (lambda: PausedSystem([1.0, 1.0], [1.0]), "service_rates has 1"),
        (lambda: PausedSystem([1.0, 0.9], [1.0, 0.8]).stationary_gaps(), "rho_2 = 1.125"),
        (lambda: PausedSystem([1.3, 0.7], [1.0, 0.8]).stationary_gaps(), "rho_1 = 1.1375"),
        (lambda: PausedSystem([0.5], [0.0]).stationary_gaps(), r"service_rates\[0\] is 0"),
        (lambda: paused_gaps([0.5], [0.0]), r"service_rates\[0\] is 0"),
        (lambda: ProductGeometric([0.5, 1.0]), r"ratios\[1\]"),
        (lambda: ProductGeometric([0.5]).prob([[1, 2]]), "lengths has shape"),
        (lambda: ProductGeometric([0.5]).prob([0.5]), "no integer"),
        (lambda: ProductGeometric([0.5]).sample(replicas=0, seed=1), "replicas is 0"),
        (lambda: ProductGeometric([0.5]).sample(replicas=range(0), seed=1), "replicas"),
        (
            lambda: ProductGeometric([0.5]).sample(replicas=1, seed=1, num_coordinates=2),
            "num_coordinates is 2",
        ),
    ],
)
def test_bad_networks_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_routing_that_is_no_matrix_is_refused():
    with pytest.raises(ValueError, match="routing_matrix"):
        JacksonNetwork([1.0], [2.0], "nowhere")
