"""The command line of the benchmarks: which ones to run, where the JSON goes, how it ended."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

from atlas.ensemble import provenance
from experiments._frame import (
    Catalogue,
    check_folder,
    figure_style,
    save_figure,
    write_files,
    write_json,
)

from ._harness import Comparison, Measurement, growth, measure
from ._summary_figure import draw

_SCALES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def main(catalogue: Catalogue, arguments: Sequence[str], program: str) -> int:
    """Run benchmarks of the catalogue as the arguments say.

    Arguments:
        catalogue: the benchmarks that there are.
        arguments: what follows the program's name on the command line.
        program: how the program is called, for messages.

    Returns:
        The exit status: 0 all bounds are kept, 1 one is not, 2 usage error (by argparse's exit).
    """
    parser = _parser(catalogue, program)
    options = parser.parse_args(arguments)
    names = options.names or (list(catalogue) if options.all else [])
    for name in names:
        if name not in catalogue:
            parser.error(catalogue.unknown(name))
    if options.rounds is not None and options.rounds < 1:
        parser.error(f"--rounds is {options.rounds}: measure at least one")
    if not names:
        parser.print_help()
    try:
        # Now rather than after minutes of measuring.
        check_folder("--out", options.out)
    except ValueError as error:
        parser.error(str(error))
    documents = [_run(catalogue, name, options) for name in names]
    if documents:
        _write_figure(documents, options.out)
    return 0 if all(case["holds"] for each in documents for case in each["cases"]) else 1


def _write_figure(documents: Sequence[dict[str, Any]], folder: Path) -> None:
    with figure_style():
        figure = draw(documents)
    names = [f"benchmarks.{suffix}" for suffix in ("png", "pdf")]
    paths = write_files(folder, {name: lambda path: save_figure(figure, path) for name in names})
    print(f"Figure: {', '.join(map(str, paths))}")


def _parser(catalogue: Catalogue, program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        description="Benchmarks:\n" + catalogue.listing(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which to run")
    parser.add_argument("--all", action="store_true", help="all of them, if none is named")
    parser.add_argument("--quick", action="store_true", help="smaller sizes and three rounds")
    parser.add_argument("--rounds", type=int, help="how many rounds to measure")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of NAME.json")
    return parser


def _run(catalogue: Catalogue, name: str, options: argparse.Namespace) -> dict[str, Any]:
    comparison = catalogue.load(name)
    if not isinstance(comparison, Comparison):
        raise TypeError(f"{name}.{catalogue.attribute} must be a Comparison, is {comparison!r}")
    rounds = options.rounds or (3 if options.quick else comparison.rounds)
    measurements = measure(comparison.cases(options.quick), rounds)
    document = {
        "benchmark": name,
        "unit": comparison.unit,
        "settings": {"quick": options.quick, "rounds": rounds},
        "environment": provenance(),
        "cases": [_case_document(measurement) for measurement in measurements],
        "exponents": {found.series: asdict(found.exponent) for found in growth(measurements)},
    }
    file = f"benchmark_{name}.json"
    (path,) = write_files(options.out, {file: lambda path: write_json(document, path)})
    print(f"{name}: {catalogue.summary(name)}\n")
    print(format_measurements(measurements, comparison.unit, rounds))
    print(f"File: {path}\n")
    return document


def _case_document(measurement: Measurement) -> dict[str, Any]:
    case = measurement.case
    return {
        "name": case.name,
        "work": case.work,
        "seconds_per_unit": {**asdict(measurement.cost), "rounds": measurement.costs},
        "ratio_to_baseline": {**asdict(measurement.ratio), "rounds": measurement.ratios},
        "series": case.series or None,
        "size": case.size if case.series else None,
        "at_most": case.at_most if isfinite(case.at_most) else None,
        "at_least": case.at_least or None,
        "holds": measurement.holds,
    }


def format_measurements(measurements: Sequence[Measurement], unit: str, rounds: int) -> str:
    """A table: cost per unit, and the ratio to the first case as median [min, max]."""
    rows = [("case", f"per {unit}", "ratio to the first", "demanded", "")]
    for measurement in measurements:
        ratio = measurement.ratio
        bound = _format_bound(measurement.case.at_least, measurement.case.at_most)
        rows.append(
            (
                measurement.case.name,
                _format_seconds(measurement.cost.median),
                f"{ratio.median:.3g} [{ratio.min:.3g}, {ratio.max:.3g}]",
                bound,
                "" if not bound else "kept" if measurement.holds else "NOT KEPT",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    for found in growth(measurements):
        e = found.exponent
        lines.append(
            f"{found.series}: cost ~ size^{e.median:.3g} [{e.min:.3g}, {e.max:.3g}] over all sizes."
        )
    lines.append(f"Medians of {rounds} interleaved rounds; in brackets the smallest and largest.")
    return "\n".join(lines)


def _format_seconds(seconds: float) -> str:
    for scale, name in _SCALES:
        if seconds >= scale:
            return f"{seconds / scale:.3g} {name}"
    return f"{seconds * 1e9:.3g} ns"


def _format_bound(at_least: float, at_most: float) -> str:
    bounds = []
    if at_least > 0:
        bounds.append(f">= {at_least:g}")
    if isfinite(at_most):
        bounds.append(f"<= {at_most:g}")
    return " and ".join(bounds)
