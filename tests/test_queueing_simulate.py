"""`simulate`: snapshots of replicas, the same whatever the batch, the chunk and the threads."""

import jax
import numpy as np
import pytest
from scipy import stats

import queueing
from queueing import JSQ, Marginal, PowerOfD, Random, RankBased, System

_SYSTEM = System([1.0, 1.0, 0.5], 1.7)
_P0 = queueing.extreme_congestion(n=12, a=2.0, b=1.0)


def _cases():
    return {
        "markov": (_SYSTEM, PowerOfD(2), "markov"),
        "leap": (_P0, None, "leap"),
        "pauses": (_P0.with_pauses(), None, "pauses"),
    }


def _simulate(name, **settings):
    subject, policy, engine = _cases()[name]
    settings = {"times": [0.5, 2.0], "seed": 4, "engine": engine, "progress": False, **settings}
    return queueing.simulate(subject, policy, **settings)


@pytest.mark.parametrize("name", _cases())
def test_a_replica_is_the_same_in_any_batch(name, monkeypatch):
    """C5, C6: bit for bit over batches, chunks, blocks and threads; and all replicas differ."""
    whole = _simulate(name, replicas=9).lengths
    for start, stop in ((0, 4), (4, 9), (8, 9)):
        part = _simulate(name, replicas=range(start, stop))
        np.testing.assert_array_equal(part.lengths, whole[:, start:stop])
        assert part.coordinates["replica"].tolist() == list(range(start, stop))
    for chunk, num_threads in ((1, 1), (2, 2), (9, 1), (7, 3)):
        again = _simulate(name, replicas=9, chunk=chunk, num_threads=num_threads)
        np.testing.assert_array_equal(again.lengths, whole)
    monkeypatch.setattr("queueing._simulate._BLOCK_REPLICAS", 4)
    np.testing.assert_array_equal(_simulate(name, replicas=9, chunk=9).lengths, whole)
    monkeypatch.setattr("queueing._simulate._BLOCK_LENGTHS", 1)
    np.testing.assert_array_equal(_simulate(name, replicas=9, chunk=5).lengths, whole)
    monkeypatch.undo()
    long = _simulate(name, times=np.arange(10.0, 110.0, 10.0), replicas=64).lengths
    assert len(np.unique(np.swapaxes(long, 0, 1).reshape(64, -1), axis=0)) == 64


@pytest.mark.parametrize("name", _cases())
def test_what_is_saved_is_consistent(name):
    out = _simulate(name, replicas=5, observe={"second": lambda q: q[1], "pair": lambda q: q[:2]})
    np.testing.assert_array_equal(np.sort(out.lengths, axis=-1), out.lengths_ranked)
    np.testing.assert_array_equal(np.cumsum(out.gaps, axis=-1), out.lengths_ranked)
    np.testing.assert_array_equal(out.values("total"), out.lengths.sum(axis=-1))
    np.testing.assert_array_equal(
        out.values("imbalance"), out.lengths.max(axis=-1) - out.lengths.min(axis=-1)
    )
    np.testing.assert_array_equal(out.values("idle_servers"), (out.lengths == 0).sum(axis=-1))
    np.testing.assert_array_equal(out.values("second"), out.lengths_ranked[..., 1])
    np.testing.assert_array_equal(out.values("pair"), out.lengths_ranked[..., :2])
    np.testing.assert_array_equal(out.values("prob_tie"), out.gaps[..., 1] == 0)
    reached = np.mean(out.lengths[..., None] >= np.arange(1, 33), axis=-2)
    np.testing.assert_allclose(out.values("occupancy"), reached, atol=1e-15)
    few = _simulate(name, replicas=5, num_ranks=2)
    np.testing.assert_array_equal(few.lengths_ranked, out.lengths_ranked[..., :2])
    np.testing.assert_array_equal(few.values("total"), out.values("total"))
    with pytest.raises(ValueError, match="only ranks are kept"):
        few.estimate("lengths")
    with pytest.raises(ValueError, match="long_run"):
        out.estimate("prob_wait")
    dataset = out.to_xarray()
    assert dataset["lengths_ranked"].dims == ("time", "replica", "rank")
    assert dataset["rank"].values[0] == 1
    assert dataset.attrs["engine"] == name


def test_scaled_gaps_are_gaps_over_the_unit_of_length():
    out = _simulate("leap", replicas=3)
    np.testing.assert_allclose(out.scaled_gaps, out.gaps / np.sqrt(12.0))
    assert out.estimate("scaled_gaps").shape == (2, 12)
    with pytest.raises(ValueError, match="unit of length"):
        _simulate("markov").estimate("scaled_gaps")


def test_results_are_stored_and_read_again(tmp_path):
    out = _simulate("leap", replicas=3)
    loaded = queueing.Snapshots.load(out.save(tmp_path / "snapshots.nc"))
    np.testing.assert_array_equal(loaded.lengths, out.lengths)
    assert loaded.attrs["seed"] == 4


def test_a_store_of_chunks_gives_the_same_and_is_used_again(tmp_path):
    """C14: what is stored is not run again, and is the same."""
    out = _simulate("markov", replicas=6, chunk=2)
    first = _simulate("markov", replicas=4, chunk=2, store=tmp_path / "store")
    again = _simulate("markov", replicas=6, chunk=2, store=tmp_path / "store")
    np.testing.assert_array_equal(first.lengths, out.lengths[:, :4])
    np.testing.assert_array_equal(again.lengths, out.lengths)
    with pytest.raises(ValueError, match="was made with seed"):
        _simulate("markov", replicas=6, chunk=2, seed=5, store=tmp_path / "store")
    with pytest.raises(ValueError, match="seed that is given"):
        _simulate("markov", seed=None, store=tmp_path / "other")
    with pytest.raises(ValueError, match=r"store must be .* got 5"):
        _simulate("markov", store=5)


def test_without_a_seed_one_is_drawn_once_and_stored():
    """C16; and a typed key is a seed like another (C15)."""
    first, second = _simulate("markov", seed=None), _simulate("markov", seed=None)
    assert first.attrs["seed"] != second.attrs["seed"]
    again = _simulate("markov", seed=first.attrs["seed"])
    np.testing.assert_array_equal(first.lengths, again.lengths)
    key = jax.random.key(3)
    by_key = _simulate("markov", seed=None, key=key)
    assert by_key.attrs["seed_implementation"] == "threefry2x32"
    np.testing.assert_array_equal(by_key.lengths, _simulate("markov", seed=key).lengths)


def test_times_are_saved_as_given():
    """C12: time 0, repeated times and a horizon; saving more often keeps the law, not the path."""
    out = _simulate("markov", times=[0.0, 0.0, 1.0, 1.0], initial=[3, 1, 2])
    assert out.times.tolist() == [0.0, 0.0, 1.0, 1.0]
    assert out.lengths[:2, 0].tolist() == [[3, 1, 2], [3, 1, 2]]
    np.testing.assert_array_equal(out.lengths[2], out.lengths[3])
    assert queueing.simulate(_SYSTEM, JSQ(), horizon=0.0, seed=1).lengths.tolist() == [[[0, 0, 0]]]


def test_starts_are_those_that_are_asked_for():
    given = np.array([[1, 0, 2], [4, 4, 4]])
    out = _simulate("markov", times=[0.0], replicas=2, initial=given)
    np.testing.assert_array_equal(out.lengths[0], given)
    part = _simulate("markov", times=[0.0], replicas=range(1, 2), initial=given[1:])
    np.testing.assert_array_equal(part.lengths[0], given[1:])
    product = _simulate("leap", times=[0.0], replicas=400, initial="stationary")
    assert "product-exponential" in product.attrs["initial"]
    expected = _P0.initial_lengths("stationary", replicas=400, seed=4)
    np.testing.assert_array_equal(product.lengths_ranked[0], expected)
    # Ranks are dealt to servers at random: the first server is the shortest 1 time in 12.
    shortest_first = np.mean(product.lengths[0].argmin(axis=1) == 0)
    assert abs(shortest_first - 1 / 12) < 5.0 * np.sqrt(1 / 12 / 400)
    paused = _simulate("pauses", times=[0.0], replicas=3, initial="stationary")
    assert "system with pauses" in paused.attrs["initial"]
    law = _P0.with_pauses().stationary_gaps()
    by_law = _simulate("leap", times=[0.0], replicas=3, initial=law)
    assert "independent geometric" in by_law.attrs["initial"]
    limit = _P0.limit_law(num_gaps=12)
    assert _simulate("leap", times=[0.0], initial=limit).lengths.min() >= 0


def test_snapshots_have_the_exact_transient_law():
    """Oracle: uniformisation; chi-square on 4000 replicas, both engines, false-fail rate 1e-6 each.

    The law at a time 10 % later is rejected.
    """
    system = System([1.0, 1.0], 1.6)
    policy = Marginal(RankBased([0.9, 0.1]), fraction=0.4)
    start = np.array([0, 3])
    for engine in ("markov", "leap"):
        out = queueing.simulate(
            system, policy, times=[1.0, 2.5], initial=start, replicas=4000, seed=6, engine=engine
        )
        for index, time in enumerate(out.times):
            ranked = out.lengths_ranked[index]
            assert _transient_p(ranked, system, policy, start, time) > 1e-6
        assert _transient_p(out.lengths_ranked[1], system, policy, start, 1.25) < 1e-6


def _transient_p(ranked, system, policy, start, time):
    exact = queueing.exact_transient(system, policy, times=[time], initial=start, max_length=30)
    states, probabilities = exact.states, np.asarray(exact.probabilities)[0]
    keys = np.sort(states, axis=1) @ [1, 100]
    law = np.bincount(keys, weights=probabilities, minlength=4000)
    counts = np.bincount(ranked @ [1, 100], minlength=4000)
    expected = law * len(ranked)
    kept = expected >= 10.0
    observed = np.append(counts[kept], counts[~kept].sum())
    expected = np.append(expected[kept], expected[~kept].sum())
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue


def test_the_policy_does_not_share_the_services_randomness():
    """C7: which server a job takes says nothing about the service that follows.

    Two servers that are alike, 40000 replicas with one arrival each on average by t = 1: lengths at
    t given those at t/2 have equal chances to fall; correlation below 6/sqrt(replicas).
    """
    system = System([1.0, 1.0], 1.0)
    out = queueing.simulate(
        system, Random(), times=[0.5, 0.6], initial=[2, 2], replicas=4000, seed=7
    )
    arrived = out.lengths[0, :, 0] - out.lengths[0, :, 1]
    moved = (out.lengths[1] - out.lengths[0]) @ [1, -1]
    assert abs(np.corrcoef(arrived, moved)[0, 1]) < 6.0 / np.sqrt(4000)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"times": None}, "pass exactly one"),
        ({"horizon": 1.0}, "pass exactly one"),
        ({"times": [2.0, 1.0]}, "not ascending"),
        ({"times": [-1.0]}, "not negative"),
        ({"times": [np.nan]}, "finite"),
        ({"times": []}, "at least one"),
        ({"replicas": 0}, "replicas must be at least 1"),
        ({"replicas": 1.5}, "replicas must be an integer"),
        ({"replicas": range(0)}, "non-empty range"),
        ({"chunk": 0}, "chunk must be at least 1"),
        ({"num_threads": 0}, "num_threads is 0"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"seed": 1, "key": 1}, "give one of them"),
        ({"seed": 0.5}, "seed must be an integer"),
        ({"engine": "markow"}, "engine is 'markow'.*'markov'"),
        ({"engine": None}, "engine is None"),
        ({"engine": "pauses"}, "with_pauses"),
        ({"num_ranks": 0}, "num_ranks is 0"),
        ({"num_ranks": 4}, "num_ranks is 4"),
        ({"num_levels": 0}, "num_levels is 0"),
        ({"initial": "stationery"}, "initial is 'stationery'"),
        ({"initial": "stationary"}, "give a regime"),
        ({"initial": [1, 2]}, r"initial has shape \(2,\)"),
        ({"initial": [1, 2, -1]}, r"initial\[2\] is -1"),
        ({"initial": [1, 2, 0.5]}, r"initial\[2\] is 0.5"),
        ({"initial": [1, 2, np.nan]}, r"initial\[2\] is nan"),
        ({"initial": [[1, 2, 3], [1, 2, 3]]}, "row per replica"),
        ({"initial": 3.0}, "initial has shape"),
        ({"initial": object()}, "initial is"),
        ({"observe": {"total": len}}, "observe has 'total'"),
        ({"observe": {"rank": len}}, "observe has 'rank'"),
        ({"observe": {"two words": len}}, "identifier"),
        ({"observe": {"mine": 3}}, "observe.'mine'. is 3"),
        ({"observe": len}, "observe is"),
        ({"observe": {"mine": lambda q: np.nan}}, "finite"),
        ({"observe": {"mine": lambda q: "x"}}, "no number"),
        ({"progress": 1}, "progress must be"),
        ({"throw": 1}, "throw is 1"),
        ({"executor": 3}, "executor must be"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    """Every refusal names the argument, its value and the remedy."""
    with pytest.raises(ValueError, match=message):
        _simulate("markov", **settings)


@pytest.mark.parametrize(
    ("subject", "policy", "message"),
    [
        ("system", JSQ(), "system_or_regime is 'system'"),
        (_P0, JSQ(), "policy is JSQ.* beside a regime"),
        (_P0.with_pauses().system, JSQ(), "a system with pauses has none"),
        (_SYSTEM, None, "policy is None"),
    ],
)
def test_impossible_subjects_are_refused(subject, policy, message):
    with pytest.raises(ValueError, match=message):
        queueing.simulate(subject, policy, horizon=1.0)


def test_buffers_and_order_bound_the_start():
    limited = System([1.0, 1.0], 1.0, buffer=2)
    with pytest.raises(ValueError, match="above buffer = 2"):
        queueing.simulate(limited, JSQ(), horizon=1.0, initial=[3, 0])
    with pytest.raises(ValueError, match="law without bound"):
        law = queueing.ProductGeometric([0.5, 0.5])
        queueing.simulate(limited, JSQ(), horizon=1.0, initial=law)
    with pytest.raises(ValueError, match="must ascend"):
        queueing.simulate(_P0.with_pauses(), horizon=1.0, initial=np.arange(12)[::-1])
    with pytest.raises(ValueError, match="buffer is 2, felt between"):
        queueing.simulate(limited, JSQ(), horizon=1.0, engine="leap")


def test_auto_takes_the_engine_that_its_rule_says():
    def chosen(subject, policy=None):
        return queueing.simulate(subject, policy, horizon=0.0, seed=0).attrs["engine"]

    assert chosen(_P0.with_pauses()) == "pauses"
    assert chosen(queueing.extreme_congestion(n=400, a=2.0, b=1.0)) == "leap"
    assert chosen(_SYSTEM, JSQ()) == "markov"
    assert chosen(_SYSTEM, Marginal(JSQ(), rate=0.5)) == "markov"
    assert chosen(_SYSTEM, Marginal(JSQ(), rate=1e-5)) == "leap"
    assert chosen(_SYSTEM, Random()) == "markov"
