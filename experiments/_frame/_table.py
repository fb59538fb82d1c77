"""The table of verdicts that a person reads."""

from collections.abc import Sequence
from math import floor, isfinite, log10

from ._claim import Verdict

_HEADER = ("claim", "quantity", "estimate", "theory", "bias bound", "limited by", "verdict")
_LEFT = ("claim", "quantity", "limited by", "verdict")


def format_with_error(value: float, std_error: float) -> str:
    """The value with its standard error, both to two digits of the error: "0.5012 +- 0.0031"."""
    if not (isfinite(value) and isfinite(std_error) and std_error > 0):
        return f"{value:.6g}" if std_error == 0 else f"{value:.6g} +- {std_error:.2g}"
    digits = max(0, 1 - floor(log10(std_error)))
    if digits > 9:
        return f"{value:.9g} +- {std_error:.1e}"
    return f"{value:.{digits}f} +- {std_error:.{digits}f}"


def format_table(verdicts: Sequence[Verdict]) -> str:
    """Aligned columns, one line for each claim."""
    rows = [_HEADER, *map(_cells, verdicts)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if name in _LEFT else cell.rjust(width)
            for cell, width, name in zip(row, widths, _HEADER, strict=True)
        ).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def _cells(verdict: Verdict) -> tuple[str, ...]:
    claim = verdict.claim
    return (
        claim.id,
        claim.quantity,
        format_with_error(claim.estimate, claim.std_error),
        f"{claim.theory:.5g}",
        f"{claim.bias_bound:.2g}" if claim.bias_bound else "0",
        verdict.dominant,
        "holds" if verdict.holds else "FAILS",
    )
