"""The numbers that the calendar engine draws in advance: each once, each kind on its own."""

import numpy as np

from queueing import Erlang, Exponential, Hyperexponential, System
from queueing._engine._calendar_start import NO_SAMPLES
from queueing._engine._calendar_state import COUNT_ENTRIES, CURSOR, TRAVEL_CURSOR
from queueing._engine._calendar_supply import Supply


def test_every_number_is_drawn_once_and_by_a_generator_of_its_own():
    """Exact: three blocks of arrivals, of the services of each law and of travel times go on where
    the block before ended, and each kind belongs to its own child of the replica's seed."""
    service = (Erlang(2), Hyperexponential(3.0), Erlang(2))
    system = System([1.0, 3.0, 2.0], 2.0, service, travel_times=1.0, travel_law=Erlang(3))
    supply = Supply(system, np.random.SeedSequence(7))
    blocks, counts = supply.open(NO_SAMPLES), np.zeros(COUNT_ENTRIES, np.int64)
    arrivals, travels, services = [], [], []
    for _ in range(3):
        arrivals.append(blocks.arrivals.copy())
        travels.append(blocks.travels.copy())
        # Two laws, and the one of servers that never finish.
        services.append(blocks.services.reshape(3, -1).copy())
        counts[[CURSOR, TRAVEL_CURSOR]] = blocks.arrivals.size, blocks.travels.size
        blocks.cursors[:] = services[0].shape[1]
        supply.refill(blocks, counts)
        assert not counts.any() and not blocks.cursors.any()
    found = [np.concatenate(travels), *np.concatenate(services, axis=1)[:2]]
    children = [
        np.random.Generator(np.random.PCG64(child)) for child in np.random.SeedSequence(7).spawn(4)
    ]
    laws = (Erlang(3), Erlang(2), Hyperexponential(3.0))
    for numbers, law, child in zip(found, laws, children[1:], strict=True):
        expected = np.empty_like(numbers)
        law.start(child).fill(expected)
        np.testing.assert_array_equal(numbers, expected)
    times = np.concatenate(arrivals)
    between = np.empty_like(times)
    Exponential().start(children[0]).fill(between)
    np.testing.assert_allclose(times, np.cumsum(between) / 2.0, rtol=1e-13)
    assert np.all(services[0][2] == np.inf)
