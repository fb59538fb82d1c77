"""The frame of the benchmarks: rounds in turn, ratios within a round, bounds and JSON."""

import json
import sys

import pytest

from benchmarks._command import format_measurements, main
from benchmarks._harness import Case, Spread, growth, measure
from benchmarks._registry import BENCHMARKS
from experiments._frame import Catalogue

COMPARISON = '''
"""A short loop against a longer one."""
from benchmarks._harness import Case, Comparison

def cases(quick):
    size = 1000 if quick else 10000
    return [
        Case("short", lambda: sum(range(size)), work=size),
        Case("long", lambda: sum(range(10 * size)), work=10 * size, at_most={bound}),
    ]

COMPARISON = Comparison("addition", cases, rounds=5)
'''


@pytest.fixture
def catalogue(tmp_path, monkeypatch):
    package = tmp_path / "toy_benchmarks"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "kept.py").write_text(COMPARISON.format(bound=1000))
    (package / "broken.py").write_text(COMPARISON.format(bound=1e-9))
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("toy_benchmarks", "toy_benchmarks.kept", "toy_benchmarks.broken"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return Catalogue("toy_benchmarks", ("kept", "broken"), "COMPARISON")


class Machine:
    """A clock whose speed drifts: each unit of work takes longer than the one before."""

    def __init__(self, drift: float) -> None:
        self.now, self.slowness, self.drift, self.order = 0.0, 1.0, drift, []

    def case(self, name: str, units: float, **bounds: float) -> Case:
        def run():
            self.order.append(name)
            self.now += units * self.slowness
            self.slowness *= self.drift

        return Case(name, run, **bounds)


def test_each_round_runs_every_case_once_and_begins_with_another():
    machine = Machine(drift=1.0)
    measure([machine.case(name, 1.0) for name in "abc"], rounds=3, clock=lambda: machine.now)
    assert "".join(machine.order) == "abc" + "abc" + "bca" + "cab"


def test_ratios_survive_a_machine_that_slows_down():
    """Oracle: the true ratio 3. On a machine that ends 16 times slower, timing one case after the
    other would give 3 times the drift between the two blocks; the interleaved median does not."""
    machine = Machine(drift=1.15)
    cases = [machine.case("a", 1.0), machine.case("b", 3.0)]
    measured = measure(cases, rounds=10, clock=lambda: machine.now)[1]
    assert measured.ratio.median == pytest.approx(3.0, rel=0.16)
    assert measured.ratio.min < 3.0 < measured.ratio.max
    block = sum(measured.costs[5:]) / sum(measured.costs[:5])
    assert block > 2


def test_costs_are_per_unit_of_work():
    machine = Machine(drift=1.0)
    cases = [machine.case("a", 2.0, work=4.0), machine.case("b", 3.0, work=2.0)]
    first, second = measure(cases, rounds=2, clock=lambda: machine.now)
    assert (first.cost.median, second.cost.median, second.ratio.median) == (0.5, 1.5, 3.0)


def test_a_median_outside_its_bounds_is_reported():
    machine = Machine(drift=1.0)
    cases = [
        machine.case("a", 1.0),
        machine.case("b", 3.0, at_most=2.0),
        machine.case("c", 3.0, at_least=2.0),
        machine.case("d", 3.0, at_least=4.0),
    ]
    measurements = measure(cases, rounds=2, clock=lambda: machine.now)
    assert [m.holds for m in measurements] == [True, False, True, False]
    text = format_measurements(measurements, "step", 2)
    assert [line.split()[-1] for line in text.splitlines()[2:5]] == ["KEPT", "kept", "KEPT"]


def test_spread_is_min_median_max():
    assert Spread.of([3.0, 1.0, 2.0, 10.0]) == Spread(1.0, 2.5, 10.0)


def test_exponents_are_those_of_the_costs_round_by_round():
    """Oracle: cost = size^2 for one series, constant for another; a single size has none."""
    machine = Machine(drift=1.0)
    cases = [machine.case(f"a{n}", 3.0 * n**2, series="a", size=n) for n in (1, 10, 100)]
    cases += [machine.case(f"b{n}", 5.0, series="b", size=n) for n in (1, 8)]
    cases += [machine.case("c", 1.0, series="c", size=4.0), machine.case("d", 1.0)]
    found = growth(measure(cases, rounds=2, clock=lambda: machine.now))
    assert [each.series for each in found] == ["a", "b"]
    assert found[0].exponent.median == pytest.approx(2.0)
    assert found[1].exponent.max == pytest.approx(0.0)
    text = format_measurements(measure(cases, 2, clock=lambda: machine.now), "step", 2)
    assert "a: cost ~ size^2 [2, 2]" in text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: measure([], 1), "at least one"),
        (lambda: measure([Case("a", int), Case("a", int)], 1), "own name"),
        (lambda: measure([Case("a", int)], 0), "rounds is 0"),
        (lambda: Case("a", int, work=0.0), "must be positive"),
        (lambda: Case("a", int, size=-1.0), "must be positive"),
        (lambda: Case("a", int, at_least=2.0, at_most=1.0), "exceeds"),
    ],
)
def test_what_cannot_be_measured_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_command_writes_json_and_says_whether_bounds_are_kept(catalogue, tmp_path, capsys):
    assert main(catalogue, ["kept", "--quick", "--out", str(tmp_path)], "toy") == 0
    document = json.loads((tmp_path / "benchmark_kept.json").read_text())
    assert document["settings"] == {"quick": True, "rounds": 3}
    case = document["cases"][1]
    ratio = case["ratio_to_baseline"]
    assert ratio["min"] <= ratio["median"] <= ratio["max"]
    assert len(ratio["rounds"]) == 3
    assert case["holds"] is True and document["exponents"] == {}
    assert all((tmp_path / f"benchmarks.{suffix}").stat().st_size for suffix in ("png", "pdf"))
    assert main(catalogue, ["broken", "--quick", "--out", str(tmp_path)], "toy") == 1
    assert "NOT KEPT" in capsys.readouterr().out


def test_all_runs_all_and_without_a_name_there_is_a_list(catalogue, tmp_path, capsys):
    assert main(catalogue, ["--all", "--quick", "--out", str(tmp_path)], "toy") == 1
    assert len(list(tmp_path.glob("benchmark_*.json"))) == 2
    capsys.readouterr()
    assert main(catalogue, [], "toy") == 0
    assert "kept    A short loop against a longer one." in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["nope"], ["kept", "--rounds", "0"], ["--nope"]])
def test_usage_errors_end_with_two(catalogue, capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        main(catalogue, arguments, "toy")
    assert stop.value.code == 2
    assert capsys.readouterr().err


def test_a_file_in_the_place_of_the_folder_is_a_usage_error(catalogue, tmp_path, capsys):
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as stop:
        main(catalogue, ["kept", "--quick", "--out", str(tmp_path / "file")], "toy")
    assert stop.value.code == 2
    assert "is a file" in capsys.readouterr().err


def test_each_registered_benchmark_has_its_line():
    assert all(BENCHMARKS.summary(name).endswith(".") for name in BENCHMARKS)
