"""The command line: find the experiment, read its settings, run it, report, say how it ended."""

import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import tyro

from atlas.ensemble import provenance

from ._catalogue import Catalogue
from ._claim import FALSE_FAIL_RATE, Verdict, judge
from ._experiment import Experiment, Outcome
from ._figure import figure_style
from ._report import check_folder, claim_document, settings_document, write_report
from ._table import format_table

ALL_HOLD, ONE_FAILS, USAGE_ERROR, CRASH, INTERRUPTED = 0, 1, 2, 3, 130
SettingsT = TypeVar("SettingsT")


@dataclass(frozen=True)
class Options(Generic[SettingsT]):
    """The flags that every experiment has, and its own."""

    settings: tyro.conf.OmitArgPrefixes[SettingsT]
    out: Path = Path("results")
    """Folder that gets NAME.json, NAME.csv, NAME.png and NAME.pdf."""
    seed: int = 0
    """Seed of all random numbers, at least 0."""
    quick: tyro.conf.FlagCreatePairsOff[bool] = False
    """The quick form: fewer paths, so larger errors. Other flags still count."""


def main(catalogue: Catalogue, arguments: Sequence[str], program: str) -> int:
    """Run one experiment of the catalogue as the arguments say.

    Arguments:
        catalogue: the experiments that there are.
        arguments: what follows the program's name on the command line.
        program: how the program is called, for messages.

    Returns:
        The exit status: 0 all claims hold, 1 at least one fails, 2 usage error, 3 a crash, and 130
        for Ctrl-C. Without a name it lists the experiments and returns 0.
    """
    if not arguments or arguments[0] in ("-h", "--help", "--list"):
        print(f"usage: {program} NAME [--out DIR] [--seed S] [--quick] [settings]\n")
        print(f"Experiments (`{program} NAME --help` shows the settings):\n{catalogue.listing()}")
        return ALL_HOLD
    name, *rest = arguments
    if name not in catalogue:
        print(f"{program}: {catalogue.unknown(name)}", file=sys.stderr)
        return USAGE_ERROR
    try:
        return _run(catalogue, name, rest, f"{program} {name}")
    except KeyboardInterrupt:
        print(f"{program} {name}: interrupted; no file was replaced", file=sys.stderr)
        return INTERRUPTED
    except ValueError as error:
        # The packages refuse bad input with a ValueError that names the remedy, which is what
        # someone who mistyped a flag has to see. `python -X dev` shows where it came from.
        if sys.flags.dev_mode:
            raise
        print(f"{program} {name}: {error}", file=sys.stderr)
        return USAGE_ERROR
    except Exception:
        # Not the interpreter's own status for this, 1, which says here that a claim fails.
        traceback.print_exc()
        return CRASH


def _run(catalogue: Catalogue, name: str, arguments: Sequence[str], program: str) -> int:
    experiment = catalogue.load(name)
    if not isinstance(experiment, Experiment):
        raise TypeError(f"{name}.{catalogue.attribute} must be an Experiment, is {experiment!r}")
    options = _read_options(experiment, arguments, program, catalogue.summary(name))
    start = time.perf_counter()
    with figure_style():
        outcome = experiment.run(options.settings, seed=options.seed)
    seconds = time.perf_counter() - start
    verdicts = judge(outcome.claims)
    document = {
        "experiment": name,
        "paper": experiment.paper,
        "settings": settings_document(options.settings, seed=options.seed, quick=options.quick),
        "environment": provenance(),
        "claims": [claim_document(verdict) for verdict in verdicts],
        "seconds": round(seconds, 3),
    }
    paths = write_report(options.out, name, document, outcome)
    print(_summary(name, catalogue.summary(name), verdicts, outcome, paths, seconds))
    return ALL_HOLD if all(verdict.holds for verdict in verdicts) else ONE_FAILS


def _read_options(
    experiment: Experiment[Any], arguments: Sequence[str], program: str, summary: str
) -> Options[Any]:
    form = experiment.quick if "--quick" in arguments else experiment.settings
    options = tyro.cli(
        Options[type(form)],
        default=Options(settings=form),
        args=arguments,
        prog=program,
        description=summary,
    )
    if options.seed < 0:
        raise ValueError(f"--seed is {options.seed}: choose an integer of at least 0")
    # Now rather than after minutes of computing.
    check_folder("--out", options.out)
    return options


def _summary(
    name: str,
    title: str,
    verdicts: Sequence[Verdict],
    outcome: Outcome,
    paths: Sequence[Path],
    seconds: float,
) -> str:
    held = sum(verdict.holds for verdict in verdicts)
    statements = dict.fromkeys(f"{v.claim.id}: {v.claim.statement}" for v in verdicts)
    lines = [f"{name}: {title}", "", format_table(verdicts), "", *statements, *outcome.notes]
    lines += [
        f"{held} of {len(verdicts)} claims hold ({seconds:.1f} s; false-fail rate of all together "
        f"{FALSE_FAIL_RATE:g}).",
        "Files: " + ", ".join(map(str, paths)),
    ]
    return "\n".join(lines) + "\n"
