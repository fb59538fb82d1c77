"""What a claim is, and when it holds: estimate against theory with all that may part them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, sqrt

from scipy.special import ndtri, stdtrit

# Chance that an experiment whose claims are all true reports a failure.
FALSE_FAIL_RATE = 1e-4
# Chance with which a difference of the size called detectable makes its claim fail.
POWER = 0.9


@dataclass(frozen=True)
class Claim:
    """One number of an experiment beside the value that theory gives for it.

    Arguments:
        id: the claim's identifier, such as "P0.4".
        statement: what is said, in one sentence.
        quantity: what the number is, with its parameters and units.
        estimate: the number that was measured.
        std_error: its standard error, in the same units; 0 for a number without noise.
        theory: the value that theory gives.
        bias_bound: by how much discretisation may shift the estimate, as measured (a coupled
            run at half the step) or derived; 0 if the estimate is unbiased.
        dof: degrees of freedom of `std_error`; where they are few, Student's quantiles
            take the place of the normal ones.
    """

    id: str
    statement: str
    quantity: str
    estimate: float
    std_error: float
    theory: float
    bias_bound: float = 0.0
    dof: float = inf


@dataclass(frozen=True)
class Verdict:
    """A claim that has been judged among all claims of its experiment.

    Arguments:
        claim: the claim.
        sampling: the part of the tolerance that is due to sampling, z * std_error.
        detectable: a true difference of this size fails with probability `POWER`.
        holds: whether |estimate - theory| <= sampling + bias_bound; false with any NaN.
    """

    claim: Claim
    sampling: float
    detectable: float
    holds: bool

    @property
    def dominant(self) -> str:
        """The larger part of the tolerance: "error", "bias", or "-" if there is none."""
        if self.sampling == self.claim.bias_bound == 0:
            return "-"
        return "error" if self.sampling >= self.claim.bias_bound else "bias"


def judge(claims: Sequence[Claim]) -> tuple[Verdict, ...]:
    """Verdicts on all claims of an experiment, with one false-fail rate for them together.

    A claim holds if |estimate - theory| <= z * std_error + bias_bound. By Bonferroni's inequality
    each of m claims gets the share `FALSE_FAIL_RATE` / m, so z is the normal (or Student) quantile
    at 1 - FALSE_FAIL_RATE / (2 m), however the claims depend on one another. The difference that a
    claim could have detected is (z + q) * std_error + bias_bound, q the quantile at `POWER`.

    Arguments:
        claims: all claims of one experiment; at least one.

    Returns:
        One verdict for each claim, in the same order.

    Raises:
        ValueError: there is no claim, so that nothing would have been tried.
    """
    if not claims:
        raise ValueError("claims is empty: an experiment without a claim shows nothing; add one")
    tail = FALSE_FAIL_RATE / (2 * len(claims))
    return tuple(_verdict(claim, tail) for claim in claims)


def _verdict(claim: Claim, tail: float) -> Verdict:
    numbers = (claim.estimate, claim.std_error, claim.theory, claim.bias_bound)
    z = _upper_quantile(tail, claim.dof)
    sampling = z * claim.std_error
    power = _upper_quantile(1 - POWER, claim.dof)
    detectable = (z + power) * claim.std_error + claim.bias_bound
    usable = all(map(isfinite, numbers)) and claim.std_error >= 0 and claim.bias_bound >= 0
    holds = usable and abs(claim.estimate - claim.theory) <= sampling + claim.bias_bound
    return Verdict(claim, sampling, detectable, holds)


def _upper_quantile(tail: float, dof: float) -> float:
    if isfinite(dof):
        return -float(stdtrit(dof, tail))
    return -float(ndtri(tail))


def distance_error(num_samples: int) -> float:
    """The "standard error" with which a distance of distribution functions enters a claim.

    sup |F_n - F| of n independent samples exceeds t with probability at most 2 exp(-2 n t^2)
    (Dvoretzky, Kiefer, Wolfowitz; constant by Massart). At probability p that is
    t = sqrt(log(2/p) / (2n)), which for every p <= 1e-4 is at most 0.573/sqrt(n) times the
    two-sided normal quantile. So z * distance_error(n) is a valid bound for the distance under the
    same rule as for any other claim, with theory 0.

    Arguments:
        num_samples: number of independent samples.

    Returns:
        0.573 / sqrt(num_samples).

    Raises:
        ValueError: no samples.

    Source: [Massart1990].
    """
    if num_samples < 1:
        raise ValueError(f"num_samples is {num_samples}: a distance needs at least one sample")
    return 0.573 / sqrt(num_samples)
