"""docs/diffrax.md: its script is short, runs as it stands, and gives the exact law."""

import re
from pathlib import Path
from typing import Any

import numpy as np

import atlas

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "diffrax.md"


def test_the_script_is_short_runs_and_has_the_exact_means(capsys):
    """Oracle: the product law. 500 replicas, z = 4.9 (1e-6 a gap) and 2 % for the scheme, which
    detects 24 %; gaps all of mean 1 are rejected."""
    blocks = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text("utf-8"), re.M | re.S)
    assert len(blocks) == 1 and len(blocks[0].splitlines()) <= 30
    names: dict[str, Any] = {"__name__": "__document__"}
    exec(compile(blocks[0], DOCUMENT.name, "exec"), names)
    assert capsys.readouterr().out.startswith("mean gaps [")
    gaps = np.asarray(names["gaps"], float)
    mean, error = gaps.mean(axis=0), gaps.std(axis=0) / np.sqrt(len(gaps))
    exact = atlas.stationary_gaps(names["model"]).mean
    assert np.all(np.abs(mean - exact) < 0.02 * exact + 4.9 * error)
    assert np.any(np.abs(mean - 1) > 0.02 + 4.9 * error)
