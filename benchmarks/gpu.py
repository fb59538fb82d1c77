"""Particle steps and events per second on a graphics processor, against its copy bandwidth.

`python -m benchmarks.gpu` measures in under five minutes, over batch sizes, a full step of
`atlas.Splitting` with 128 particles, and the two ways of the queue engine "batched": leaps of
marginal JSQ with 1000 servers, charged with the events that they leap over, and events of JSQ with
100 servers and a buffer. A step that did nothing but read and write its state could not be faster
than the copy bandwidth, measured beside it, allows. Writes `gpu.json`, `gpu.png` and `gpu.pdf`. On
a machine without such a processor it says so and ends with status 0.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

import atlas
import queueing
from atlas.ensemble import provenance, resolve_seed
from experiments._frame import (
    COLOURS,
    MARKERS,
    THEORY_COLOUR,
    figure_style,
    new_figure,
    save_figure,
    write_files,
    write_json,
)
from queueing._engine import ENGINES
from queueing._subject import resolve_subject

from ._harness import Spread

NUM_PARTICLES, NUM_STEPS, STEP = 128, 400, 0.02
LEAPING_SERVERS, COUNTED_SERVERS, BUFFER = 1000, 100, 8
BATCHES = tuple(2**power for power in range(8, 18))
COPIED = 2**28
ROUNDS, TIME_LIMIT = 3, 240.0


@dataclass(frozen=True)
class Workload:
    """Something that runs in batches.

    Arguments:
        name: for the legend.
        unit: of its work.
        bytes_per_unit: what one unit of work has to read and write at least.
        prepare: batch size -> (run, units of work of one run).
    """

    name: str
    unit: str
    bytes_per_unit: float
    prepare: Callable[[int], tuple[Callable[[], object], float]]


@dataclass(frozen=True)
class Rate:
    """Units of work per second at one batch size, smallest, median and largest of the rounds."""

    workload: str
    batch: int
    per_second: Spread


def copy_bandwidth(num_floats: int, rounds: int = ROUNDS) -> Spread:
    """Bytes read and written per second by a copy of `num_floats` float32."""
    copy = jax.jit(lambda values: values + 1)
    values = jnp.zeros(num_floats, jnp.float32)
    times = _times(lambda: copy(values).block_until_ready(), rounds)
    return Spread.of([8.0 * num_floats / seconds for seconds in times])


def _times(run: Callable[[], object], rounds: int) -> list[float]:
    run()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times


def _splitting(batch: int):
    model = atlas.reflected_atlas(NUM_PARTICLES, a=2.0, b=1.0)
    positions = np.cumsum(atlas.stationary_gaps(model).mean)

    def run():
        return atlas.simulate(
            model,
            atlas.Splitting(step=STEP),
            horizon=NUM_STEPS * STEP,
            initial=positions,
            replicas=batch,
            chunk=batch,
            num_ranks=1,
            key=0,
        )

    return run, float(NUM_PARTICLES * NUM_STEPS * batch)


def _batch(subject, lengths: np.ndarray, batch: int):
    start = ENGINES["batched"].prepare(subject, None)
    seed = resolve_seed(0)
    return start(np.broadcast_to(lengths, (batch, lengths.size)), seed, range(batch))


def _leaps(batch: int):
    regime = queueing.extreme_congestion(n=LEAPING_SERVERS, a=2.0, b=1.0)
    subject = resolve_subject(regime, None)
    lengths = regime.initial_lengths("stationary", replicas=1, seed=1)[0]
    replicas = _batch(subject, lengths, max(1, batch // 16))
    duration = 1.0
    rate = regime.system.arrival_rate + regime.system.total_service_rate

    def run():
        replicas.advance(duration)
        return replicas.lengths()

    return run, rate * duration * max(1, batch // 16)


def _events(batch: int):
    system = queueing.System(np.ones(COUNTED_SERVERS), 0.95 * COUNTED_SERVERS, buffer=BUFFER)
    subject = resolve_subject(system, queueing.JSQ())
    replicas = _batch(subject, np.ones(COUNTED_SERVERS, np.int64), batch)
    num_events = 2000.0
    duration = num_events / (system.arrival_rate + system.total_service_rate)

    def run():
        replicas.advance(duration)
        return replicas.lengths()

    return run, num_events * batch


WORKLOADS = (
    Workload(f"Splitting, {NUM_PARTICLES} particles", "particle step", 8.0, _splitting),
    # Lengths of 4 bytes for each of the servers, read and written, over the events of an interval.
    Workload(
        f"leaps over events, {LEAPING_SERVERS} servers",
        "event",
        8.0 * LEAPING_SERVERS / (2.0 * LEAPING_SERVERS**1.5),
        _leaps,
    ),
    Workload(
        f"events, {COUNTED_SERVERS} servers, buffer {BUFFER}", "event", 8.0 * (BUFFER + 1), _events
    ),
)


def measure_rates(
    workloads: Sequence[Workload], batches: Sequence[int], rounds: int, time_limit: float
) -> list[Rate]:
    """The rate of every workload over batch sizes, until its share of the time is used up."""
    rates = []
    for workload in workloads:
        end = time.perf_counter() + time_limit / len(workloads)
        for batch in batches:
            run, work = workload.prepare(batch)
            times = _times(run, rounds)
            rates.append(Rate(workload.name, batch, Spread.of([work / t for t in times])))
            # The next batch takes about twice as long.
            if time.perf_counter() + 3.0 * sum(times) > end:
                break
    return rates


def draw(rates: Sequence[Rate], bandwidth: Spread, workloads: Sequence[Workload]) -> Figure:
    """Rates against batch size, each with the rate that the copy bandwidth allows."""
    figure = new_figure(width=4.2 * len(workloads), height=4.4)
    all_axes = np.atleast_1d(figure.subplots(1, len(workloads)))
    for number, (axes, workload) in enumerate(zip(all_axes, workloads, strict=True)):
        found = [rate for rate in rates if rate.workload == workload.name]
        median = np.array([rate.per_second.median for rate in found])
        low = median - [rate.per_second.min for rate in found]
        high = [rate.per_second.max for rate in found] - median
        axes.errorbar(
            [rate.batch for rate in found],
            median,
            yerr=[low, high],
            fmt=MARKERS[number] + "-",
            color=COLOURS[number],
            label="measured; bar: min to max",
        )
        axes.axhline(
            bandwidth.median / workload.bytes_per_unit,
            color=THEORY_COLOUR,
            linestyle="--",
            label=f"copy bandwidth / {workload.bytes_per_unit:.3g} bytes",
        )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("batch size")
        axes.set_ylabel(f"{workload.unit}s per second")
        axes.set_title(workload.name)
        axes.legend(loc="lower right")
    return figure


def main(arguments: Sequence[str]) -> int:
    """Measure, write the files and say where they are; the exit status is 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of the files")
    options = parser.parse_args(arguments)
    if jax.default_backend() == "cpu":
        print(
            "JAX finds no graphics processor here, so there is nothing to measure. On a machine "
            "with one, install the extra `cuda`: pip install 'atlas-queueing[cuda]'."
        )
        return 0
    bandwidth = copy_bandwidth(COPIED)
    rates = measure_rates(WORKLOADS, BATCHES, ROUNDS, TIME_LIMIT)
    write_report(options.out, rates, bandwidth, WORKLOADS)
    return 0


def write_report(
    folder: Path, rates: Sequence[Rate], bandwidth: Spread, workloads: Sequence[Workload]
) -> None:
    """JSON and figure."""
    document = {
        "benchmark": "gpu",
        "device": jax.devices()[0].device_kind,
        "environment": provenance(),
        "copy_bytes_per_second": asdict(bandwidth),
        "bytes_per_unit": {each.name: each.bytes_per_unit for each in workloads},
        "rates": [asdict(rate) for rate in rates],
    }
    with figure_style():
        figure = draw(rates, bandwidth, workloads)
    save = lambda path: save_figure(figure, path)  # noqa: E731
    writers = {"gpu.json": lambda path: write_json(document, path), "gpu.png": save}
    paths = write_files(folder, writers | {"gpu.pdf": save})
    for rate in rates:
        print(f"{rate.workload}, batch {rate.batch}: {rate.per_second.median:.3g} per second")
    print(f"Files: {', '.join(map(str, paths))}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
