"""The frame of the experiments: verdicts with a stated false-fail rate, files, exit statuses."""

import csv
import json
import os
import subprocess
import sys
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest

from experiments._frame import (
    FALSE_FAIL_RATE,
    POWER,
    Catalogue,
    Claim,
    Experiment,
    bias_bound,
    controlled,
    distance_error,
    fit_power_law,
    format_table,
    format_with_error,
    judge,
    main,
    new_figure,
    save_figure,
    spawn_seed,
    write_csv,
    write_files,
    write_json,
)
from experiments._registry import EXPERIMENTS

CLAIM_KEYS = {
    "id", "statement", "quantity", "estimate", "std_error", "theory", "bias_bound",
    "detectable", "holds",
}  # fmt: skip
ROOT = Path(__file__).resolve().parents[1]

EXPERIMENT = '''
"""Mean of normals against its value."""
from dataclasses import dataclass
import numpy as np
from experiments._frame import Claim, Experiment, Outcome, new_figure

@dataclass(frozen=True)
class Settings:
    mean: float = 0.0
    """What the mean is, where theory says 0."""
    samples: int = 10000
    """How many."""
    fault: str = "none"
    """Goes wrong on purpose."""

def run(settings, *, seed):
    if settings.fault == "refused":
        raise ValueError("samples is 0: take at least one")
    if settings.fault == "crash":
        raise RuntimeError("broken")
    if settings.fault == "interrupted":
        raise KeyboardInterrupt
    sample = np.random.default_rng(seed).normal(settings.mean, 1.0, settings.samples)
    figure = new_figure()
    figure.add_subplot().hist(sample)
    error = sample.std() / settings.samples**0.5
    claim = Claim("T.1", "The mean is zero.", "mean", float(sample.mean()), float(error), 0.0)
    rows = [{"mean": claim.estimate, "error": claim.std_error}]
    return Outcome([claim], rows, figure, ["A note."])

EXPERIMENT = Experiment("T", Settings(), Settings(samples=100), run)
'''


def claim(estimate=0.0, std_error=1.0, theory=0.0, bias_bound=0.0, dof=inf) -> Claim:
    return Claim("T.1", "A statement.", "a number", estimate, std_error, theory, bias_bound, dof)


@pytest.fixture
def catalogue(tmp_path, monkeypatch) -> Catalogue:
    package = tmp_path / "toy_experiments"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "mean.py").write_text(EXPERIMENT)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "toy_experiments", raising=False)
    monkeypatch.delitem(sys.modules, "toy_experiments.mean", raising=False)
    return Catalogue("toy_experiments", ("mean",), "EXPERIMENT")


def test_true_claims_fail_together_at_most_at_the_stated_rate():
    """Oracle: the exact probability that one of m independent true claims fails, 1 - (1 - p)^m.

    No sampling, so no false-fail rate; a z without the share for each claim (m = 1 used for all)
    is rejected: it would fail 20 times as often.
    """
    from scipy.stats import norm, t

    for number, dof in ((1, inf), (20, inf), (20, 7.0), (300, inf)):
        verdict = judge([claim(dof=dof)] * number)[0]
        law = norm if dof == inf else t(dof)
        one = 2 * law.sf(verdict.sampling)
        together = -np.expm1(number * np.log1p(-one))
        assert together == pytest.approx(FALSE_FAIL_RATE, rel=1e-3)
        assert together <= FALSE_FAIL_RATE * (1 + 1e-9)


def test_a_difference_of_the_detectable_size_is_found_with_the_stated_power():
    """Oracle: the normal probability of failing, computed; no sampling."""
    from scipy.stats import norm

    verdict = judge([claim(std_error=0.3, bias_bound=0.1)] * 5)[0]
    tolerance = verdict.sampling + 0.1
    assert norm.sf(tolerance, loc=verdict.detectable, scale=0.3) == pytest.approx(POWER, rel=1e-9)


def test_a_claim_holds_up_to_error_plus_bias_and_no_further():
    sampling = judge([claim()])[0].sampling
    inside = claim(estimate=sampling + 0.5 - 1e-9, bias_bound=0.5)
    outside = claim(estimate=sampling + 0.5 + 1e-9, bias_bound=0.5)
    assert judge([inside])[0].holds
    assert not judge([outside])[0].holds
    assert judge([claim(std_error=0.0, bias_bound=1e-12)])[0].holds


@pytest.mark.parametrize("name", ["estimate", "std_error", "theory", "bias_bound"])
@pytest.mark.parametrize("value", [nan, inf])
def test_no_claim_holds_with_a_number_that_is_none(name, value):
    assert not judge([claim(**{name: value})])[0].holds


@pytest.mark.parametrize("name", ["std_error", "bias_bound"])
def test_no_claim_holds_with_a_negative_error(name):
    assert not judge([claim(**{name: -1.0})])[0].holds


def test_an_experiment_without_claims_is_refused():
    with pytest.raises(ValueError, match="claims is empty"):
        judge([])


@pytest.mark.parametrize("num_samples", [10, 1000, 10**4])
@pytest.mark.parametrize("number", [1, 30, 1000])
def test_distances_of_laws_fail_no_more_often_than_other_claims(num_samples, number):
    """Oracle: the exact law of sup |F_n - F|. A factor of 0.45 instead of 0.573 is rejected."""
    from scipy.stats import kstwo

    share = FALSE_FAIL_RATE / number
    tolerance = judge([claim(std_error=distance_error(num_samples))] * number)[0].sampling
    assert kstwo.sf(min(tolerance, 1.0), num_samples) <= share
    if num_samples == 10**4:
        assert kstwo.sf(tolerance * 0.45 / 0.573, num_samples) > share


def test_the_table_aligns_and_says_what_limits_each_verdict():
    claims = [
        claim(0.50123, 0.0031, 0.5, 0.1),
        claim(123.0, 0.5, 100.0),
        claim(1.0, 0.0, 1.0),
        claim(nan, 0.1, 1.0),
    ]
    lines = format_table(judge(claims)).splitlines()
    assert " ".join(lines[0].split()) == (
        "claim quantity estimate theory bias bound limited by verdict"
    )
    assert "0.5012 +- 0.0031" in lines[2]
    assert [line.split()[-1] for line in lines[2:]] == ["holds", "FAILS", "holds", "FAILS"]
    assert [line.split()[-2] for line in lines[2:]] == ["bias", "error", "-", "error"]
    columns = {line.index("a number") for line in lines[2:]}
    assert columns == {lines[0].index("quantity")}


@pytest.mark.parametrize(
    ("value", "std_error", "text"),
    [
        (0.50123, 0.0031, "0.5012 +- 0.0031"),
        (1234.5, 25.0, "1234 +- 25"),
        (1.5, 0.0, "1.5"),
        (nan, nan, "nan +- nan"),
        (1.0, 2e-14, "1 +- 2.0e-14"),
    ],
)
def test_numbers_are_shown_to_two_digits_of_their_error(value, std_error, text):
    assert format_with_error(value, std_error) == text


def test_json_is_strict_whatever_the_numbers(tmp_path):
    path = tmp_path / "x.json"
    document = {"a": nan, "b": [inf, np.float32(0.5)], "c": np.arange(2), "d": Path("x"), "e": True}
    write_json(document, path)

    def refuse(token):
        raise AssertionError(token)

    read = json.loads(path.read_text(), parse_constant=refuse)
    assert read == {"a": None, "b": [None, 0.5], "c": [0, 1], "d": "x", "e": True}


def test_a_set_of_files_is_replaced_whole_or_not_at_all(tmp_path):
    def write(text):
        return lambda path: path.write_text(text)

    def fail(path):
        path.write_text("half")
        raise OSError("disk full")

    write_files(tmp_path, {"a": write("old"), "b": write("old")})
    with pytest.raises(OSError, match="disk full"):
        write_files(tmp_path, {"a": write("new"), "b": fail})
    assert [(tmp_path / name).read_text() for name in "ab"] == ["old", "old"]
    write_files(tmp_path, {"a": write("new"), "b": write("new")})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    assert [(tmp_path / name).read_text() for name in "ab"] == ["new", "new"]


def test_a_folder_in_the_place_of_a_file_is_refused_before_anything_is_written(tmp_path):
    (tmp_path / "b").mkdir()
    with pytest.raises(ValueError, match="is a folder"):
        write_files(tmp_path, {"a": lambda path: path.touch(), "b": lambda path: path.touch()})
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("path", [5, None, b"x.png"])
def test_what_is_no_path_is_refused_by_name(path):
    for name, use in (
        ("folder", lambda: write_files(path, {})),
        ("path", lambda: write_json({}, path)),
        ("path", lambda: write_csv([{"a": 1}], path)),
        ("path", lambda: save_figure(new_figure(), path)),
    ):
        with pytest.raises(ValueError, match=f"{name} must be .* got {path!r}"):
            use()


def test_a_figure_of_unknown_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"x\.svg': choose one that ends in \.png or \.pdf"):
        save_figure(new_figure(), tmp_path / "x.svg")


@pytest.mark.parametrize("suffix", ["png", "pdf"])
def test_the_same_figure_is_the_same_file(tmp_path, suffix):
    paths = [tmp_path / f"{number}.{suffix}" for number in (1, 2)]
    for path in paths:
        figure = new_figure()
        figure.add_subplot().plot([0, 1], [0, 1], label="line")
        save_figure(figure, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_an_experiment_writes_its_four_files_and_ends_with_zero(catalogue, tmp_path, capsys):
    out = tmp_path / "a folder" / "results"
    assert main(catalogue, ["mean", "--out", str(out), "--seed", "3", "--quick"], "toy") == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "mean.csv",
        "mean.json",
        "mean.pdf",
        "mean.png",
    ]
    document = json.loads((out / "mean.json").read_text())
    assert set(document) == {
        "experiment", "paper", "settings", "environment", "claims", "seconds",
    }  # fmt: skip
    assert document["experiment"] == "mean"
    assert document["settings"] == {
        "seed": 3, "quick": True, "mean": 0.0, "samples": 100, "fault": "none",
    }  # fmt: skip
    assert document["environment"]
    assert [set(entry) for entry in document["claims"]] == [CLAIM_KEYS]
    assert document["claims"][0]["holds"] is True
    with (out / "mean.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["mean"]) == document["claims"][0]["estimate"]
    printed = capsys.readouterr().out
    assert "1 of 1 claims hold" in printed
    assert "A note." in printed
    assert "T.1: The mean is zero." in printed
    assert str(out / "mean.pdf") in printed


def test_a_false_claim_ends_with_one_and_says_so(catalogue, tmp_path, capsys):
    status = main(catalogue, ["mean", "--out", str(tmp_path), "--mean", "0.1"], "toy")
    assert status == 1
    assert json.loads((tmp_path / "mean.json").read_text())["claims"][0]["holds"] is False
    assert "FAILS" in capsys.readouterr().out


def test_flags_are_read_on_top_of_the_quick_form(catalogue, tmp_path):
    main(catalogue, ["mean", "--samples", "50", "--quick", "--out", str(tmp_path)], "toy")
    settings = json.loads((tmp_path / "mean.json").read_text())["settings"]
    assert (settings["samples"], settings["quick"]) == (50, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["meen"], "Did you mean 'mean'"),
        (["nothing_like_it"], "mean  Mean of normals"),
        (["mean", "--seed", "-1"], "--seed is -1"),
        (["mean", "--fault", "refused"], "take at least one"),
        (["mean", "--samples", "many"], "many"),
        (["mean", "--no-such-flag"], "no-such-flag"),
    ],
)
def test_usage_errors_end_with_two_and_name_the_remedy(
    catalogue, tmp_path, capsys, arguments, message
):
    out = ["--out", str(tmp_path / "out")]
    try:
        status = main(catalogue, [*arguments, *out], "toy")
    except SystemExit as stop:
        status = stop.code
    assert status == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_place_of_the_folder_is_found_before_the_run(catalogue, tmp_path, capsys):
    (tmp_path / "file").touch()
    arguments = ["mean", "--out", str(tmp_path / "file"), "--fault", "crash"]
    assert main(catalogue, arguments, "toy") == 2
    assert "is a file" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["file/below", "x" * 300, "closed/out"])
def test_a_folder_that_cannot_be_made_is_found_before_the_run(
    catalogue, tmp_path, capsys, place, monkeypatch
):
    (tmp_path / "file").touch()
    (tmp_path / "closed").mkdir()
    access = os.access

    def closed(path, mode):
        # An administrator may write everywhere, whatever the folder's own bits say.
        return Path(path).name != "closed" and access(path, mode)

    monkeypatch.setattr(os, "access", closed)
    arguments = ["mean", "--out", str(tmp_path / place), "--fault", "crash"]
    assert main(catalogue, arguments, "toy") == 2
    assert "--out" in capsys.readouterr().err
    assert not (tmp_path / "closed" / "out").exists()


def test_a_crash_and_an_interruption_are_no_verdicts(catalogue, tmp_path, capsys):
    out = ["--out", str(tmp_path)]
    assert main(catalogue, ["mean", *out], "toy") == 0
    before = (tmp_path / "mean.json").read_bytes()
    assert main(catalogue, ["mean", "--fault", "crash", *out], "toy") == 3
    assert "RuntimeError: broken" in capsys.readouterr().err
    assert main(catalogue, ["mean", "--fault", "interrupted", *out], "toy") == 130
    assert (tmp_path / "mean.json").read_bytes() == before


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_without_a_name_there_is_one_line_for_each(catalogue, capsys, arguments):
    assert main(catalogue, arguments, "toy") == 0
    assert "  mean  Mean of normals against its value." in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("name", EXPERIMENTS.names)
def test_each_registered_experiment_is_well_formed(name):
    assert EXPERIMENTS.summary(name).endswith(".")
    experiment = EXPERIMENTS.load(name)
    assert isinstance(experiment, Experiment)
    assert experiment.settings != experiment.quick


def test_each_experiment_file_is_registered():
    folder = ROOT / "experiments"
    files = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")}
    assert files == set(EXPERIMENTS)


def test_the_command_line_lists_and_refuses():
    """One process for each status, as a shell sees it."""
    command = [sys.executable, "-m", "experiments"]
    listing = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert all(name in listing.stdout for name in EXPERIMENTS)
    unknown = subprocess.run([*command, "no_such"], capture_output=True, text=True, cwd=ROOT)
    assert unknown.returncode == 2
    assert unknown.stderr.startswith("python -m experiments: unknown name 'no_such'")
    assert all(name in unknown.stderr for name in EXPERIMENTS)


@pytest.mark.parametrize(("exponent", "slope"), [(0.5, 0.0), (1.5, -0.8), (-0.5, 2.0)])
def test_a_power_law_is_found_again_with_its_correction(exponent, slope):
    x = np.array([0.4, 0.2, 0.1, 0.05, 0.025])
    y = -2.0 * x**exponent * (1 + slope * x**0.5)
    fit = fit_power_law(x, y, 1e-6 * np.ones(5), correction=0.5)
    assert fit.exponent == pytest.approx(exponent, abs=1e-5)
    assert fit.factor == pytest.approx(-2.0, rel=1e-4)
    assert fit.slope == pytest.approx(slope, abs=1e-4)
    assert fit(x) == pytest.approx(y, rel=1e-6)
    if slope:
        # Far beyond what chi-square with three degrees of freedom allows.
        assert fit_power_law(x, y, 1e-6 * np.ones(5)).misfit > 35


@pytest.mark.slow
def test_the_error_of_an_exponent_is_that_of_its_scatter():
    """Oracle: the scatter of 2000 fits to data with known, correlated errors.

    The ratio of variances has a relative standard error of 3.2 %; 20 % apart has probability below
    1e-6. An error that neglects the correlation is rejected.
    """
    x = np.array([0.4, 0.2, 0.1, 0.05])
    y = 0.3 * x
    mixing = np.eye(4)
    mixing[1, :2] = 0.9, 0.44
    root = np.diag(0.02 * y) @ mixing
    covariance = root @ root.T
    noise = np.random.default_rng(3).normal(size=(2000, 4)) @ root.T
    exponents = [fit_power_law(x, y + each, covariance).exponent for each in noise]
    stated = fit_power_law(x, y, covariance).exponent_error
    assert np.var(exponents) / stated**2 == pytest.approx(1.0, abs=0.2)
    neglected = fit_power_law(x, y, np.diag(covariance)).exponent_error
    assert np.var(exponents) / neglected**2 != pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize(
    ("x", "y", "covariance", "message"),
    [
        ([1.0], [1.0], [1.0], "at least 2 pairs"),
        ([1.0, -1.0], [1.0, 1.0], [1.0, 1.0], "positive x"),
        ([1.0, 2.0], [1.0, 1.0], [1.0, 1.0, 1.0], "covariance has shape"),
        ([1.0, 2.0], [1.0, 1.0], [1.0, 0.0], "positive definite"),
    ],
)
def test_what_cannot_be_fitted_is_refused(x, y, covariance, message):
    with pytest.raises(ValueError, match=message):
        fit_power_law(np.array(x), np.array(y), np.array(covariance))


def test_the_bias_bound_covers_the_bias_at_the_finer_step():
    """Oracle: samples with bias h^p built in, p = 1 and 3/2, on common noise.

    Five standard errors of 3e-4; a bound that counts on order 2 is too small and is rejected.
    """
    noise = np.random.default_rng(1).exponential(size=(100_000, 2))
    for order in (1.0, 1.5):
        coarse, fine = noise * (1 + 0.2**order), noise * (1 + 0.1**order)
        bound = bias_bound(coarse, fine)
        assert np.all(bound >= 0.1**order - 1.5e-3)
        assert np.all(bound <= 2 * 0.1**order)
    assert np.all(bias_bound(noise * 1.2, noise * 1.1, order=2.0) < 0.1 - 1.5e-3)


def test_a_control_keeps_the_mean_and_lowers_the_error():
    """Oracle: E y = 2 and variance 1 - 0.8^2 of the controlled samples, 200 000 of them.

    Five standard errors, 1.3e-3 each: false-fail rate 6e-7. A control with a wrong mean is seen.
    """
    generator = np.random.default_rng(2)
    control = generator.normal(size=(200_000, 1))
    samples = 2 + 0.8 * control + 0.6 * generator.normal(size=control.shape)
    better = controlled(samples, control, np.array([0.0]))
    assert better.std() == pytest.approx(0.6, rel=0.01)
    assert better.mean() == pytest.approx(2.0, abs=5 * 0.6 / 200_000**0.5)
    wrong = controlled(samples, control, np.array([0.1]))
    assert wrong.mean() != pytest.approx(2.0, abs=5 * 0.6 / 200_000**0.5)


def test_each_run_of_an_experiment_has_a_seed_of_its_own():
    seeds = {spawn_seed(seed, *path) for seed in range(9) for path in [(), (0,), (1,), (0, 1)]}
    assert len(seeds) == 36
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert spawn_seed(3, 1, 2) == spawn_seed(3, 1, 2)
