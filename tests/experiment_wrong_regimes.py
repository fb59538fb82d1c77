"""Extreme congestion with one fault each, for tests of experiments that have to reject faults."""

from __future__ import annotations

from math import sqrt

import numpy as np

import queueing
from queueing._regime import ExtremeCongestion


def with_more_slack(n: int, a: float, b: float) -> ExtremeCongestion:
    """The slack of the random stream is 5 % larger than said."""
    return queueing.extreme_congestion(n, 1.05 * a, b)


class _SecondRank(ExtremeCongestion):
    @property
    def policy(self) -> queueing.Marginal:
        """The small stream goes to the second shortest queue."""
        probs = np.zeros(self.n)
        probs[1] = 1.0
        return queueing.Marginal(queueing.RankBased(probs), rate=self.b * sqrt(self.n))


def to_the_second_rank(n: int, a: float, b: float) -> ExtremeCongestion:
    """The small stream is sent to the wrong queue."""
    return _SecondRank(n, a, b)
