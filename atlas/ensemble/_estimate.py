"""An estimate: a value, its standard error and the degrees of freedom behind that error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ._checks import check_axis, check_fraction, check_numbers


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Estimate:
    """Values with standard errors and Student intervals, elementwise.

        value +- t_{dof, (1 + level)/2} std_error

    Arguments:
        value: any shape.
        std_error: standard error of `value`, same shape (a scalar serves all entries), >= 0.
        dof: degrees of freedom of `std_error`, same shape or scalar, >= 0; `inf` where the error
            is known exactly. With `dof` 0 (one sample) the error cannot be known: `std_error` is
            then nan and every interval is (-inf, inf), which covers at any level.

    Raises: ValueError for shapes that do not fit or negative errors.
    """

    value: np.ndarray
    std_error: np.ndarray
    dof: np.ndarray

    def __init__(self, value: ArrayLike, std_error: ArrayLike, dof: ArrayLike) -> None:
        value = check_numbers("value", value)
        for name, given in (("std_error", std_error), ("dof", dof)):
            array = check_numbers(name, given)
            if array.ndim and array.shape != value.shape:
                raise ValueError(
                    f"{name} must have the shape of value, {value.shape}, got {array.shape}"
                )
            if np.any(array < 0):
                raise ValueError(f"{name} must not be negative, got {array.min()}")
            object.__setattr__(self, name, _read_only(np.broadcast_to(array, value.shape)))
        unknown = np.where(self.dof > 0, self.std_error, np.nan)
        object.__setattr__(self, "value", _read_only(value))
        object.__setattr__(self, "std_error", _read_only(unknown))

    @classmethod
    def from_samples(cls, samples: ArrayLike, axis: int = 0) -> Estimate:
        """The mean of independent samples along `axis`.

            std_error = sqrt(sum (x - mean)^2 / (n (n - 1))),  dof = n - 1

        Arguments:
            samples: independent samples along `axis`; other axes stay.
            axis: the axis of the samples.
        Returns: an Estimate of the shape without `axis`.
        Raises: ValueError if there is no sample.
        Cost: two passes.
        """
        array = _samples_first("samples", samples, axis)
        count = array.shape[0]
        with np.errstate(invalid="ignore"):
            # An infinite sample has an infinite mean, whose error is nan.
            mean = array.mean(axis=0)
            square_sum = np.square(array - mean).sum(axis=0)
        std_error = np.sqrt(square_sum / (count * max(count - 1, 1)))
        return cls(mean, std_error, count - 1.0)

    @classmethod
    def from_ratio(cls, numerators: ArrayLike, denominators: ArrayLike, axis: int = 0) -> Estimate:
        """A ratio of means, such as an average over jobs, from independent pairs (delta method).

            value = sum y / sum x,   std_error = that of the mean of (y - value x) / mean(x)

        Arguments:
            numerators, denominators: one pair per replica or batch along `axis`, equal shapes.
            axis: the axis of the pairs.
        Returns: an Estimate; nan where all denominators are zero.
        Raises: ValueError for different shapes or no pair.
        """
        above = _samples_first("numerators", numerators, axis)
        below = _samples_first("denominators", denominators, axis)
        if above.shape != below.shape:
            raise ValueError(
                f"denominators must have the shape of numerators, {above.shape}, got {below.shape}"
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            value = above.sum(axis=0) / below.sum(axis=0)
            residuals = (above - value * below) / below.mean(axis=0)
        return cls(value, cls.from_samples(residuals).std_error, len(above) - 1.0)

    @classmethod
    def pooled(cls, means: Any, std_errors: Any, dof: Any, axis: int = 0) -> Estimate:
        """The mean of R replicas, each with its own standard error from batch means.

            within  = sum s_i^2 / R^2          with sum dof_i degrees of freedom
            between = var(means) / R           with R - 1
            std_error^2 = (dof_w within + dof_b between) / (dof_w + dof_b)

        With B equal batches per replica this is the error of all R B batches taken as one sample.
        Where `between` exceeds `within` by more than the 0.999 quantile of their F ratio, batches
        are correlated and only `between` counts, which independent replicas make valid: `dof` then
        shows R - 1.

        Arguments:
            means: mean of each replica along `axis`, all of the same horizon.
            std_errors: standard error of each, same shape; nan where dof is 0.
            dof: degrees of freedom of each, same shape or scalar.
            axis: the axis of the replicas.
        Returns: an Estimate of the shape without `axis`.
        Raises: ValueError for different shapes or no replica.
        """
        values = _samples_first("means", means, axis)
        errors = _samples_first("std_errors", std_errors, axis)
        if errors.shape != values.shape:
            raise ValueError(
                f"std_errors must have the shape of means, {values.shape}, got {errors.shape}"
            )
        each = check_numbers("dof", dof)
        if each.ndim and each.shape != np.shape(means):
            raise ValueError(
                f"dof must have the shape of means, {np.shape(means)}, or be one number, got "
                f"{each.shape}"
            )
        each = np.moveaxis(each, axis, 0) if each.ndim else each
        each = np.broadcast_to(each, values.shape)
        count = values.shape[0]
        known = each > 0
        # A replica without an error of its own (dof 0) takes part in `between` only.
        within_dof = np.where(known.all(axis=0), each.sum(axis=0), 0.0)
        within = np.where(known, np.square(errors), 0.0).sum(axis=0) / count**2
        between_dof = count - 1.0
        between = np.square(cls.from_samples(values).std_error) if count > 1 else 0.0 * within
        correlated = _exceeds(between, between_dof, within, within_dof)
        within_dof = np.where(correlated, 0.0, within_dof)
        total = within_dof + between_dof
        variance = (within_dof * within + between_dof * between) / np.maximum(total, 1.0)
        return cls(values.mean(axis=0), np.sqrt(variance), total)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `value`."""
        return self.value.shape

    @property
    def ci(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper end of the 95 % Student interval."""
        return self.interval(0.95)

    def half_width(self, level: float = 0.95) -> np.ndarray:
        """Half the width of the Student interval; inf where `dof` is 0."""
        prob = 0.5 + 0.5 * check_fraction("level", level)
        known = np.where(self.dof > 0, self.dof, 1.0)
        factor = np.where(np.isinf(known), special.ndtri(prob), special.stdtrit(known, prob))
        return np.where(self.dof > 0, factor * self.std_error, np.inf)

    def interval(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper end of the Student interval of coverage `level`, in (0, 1)."""
        half = self.half_width(level)
        return self.value - half, self.value + half

    def __getitem__(self, index: Any) -> Estimate:
        return Estimate(self.value[index], self.std_error[index], self.dof[index])

    def __repr__(self) -> str:
        if not self.shape:
            dof = f"{float(self.dof):.4g}"
            return f"Estimate({_format(float(self.value), float(self.std_error))}, dof {dof})"
        pairs = zip(self.value.ravel()[:6], self.std_error.ravel()[:6], strict=True)
        shown = ", ".join(_format(float(v), float(e)) for v, e in pairs)
        more = ", ..." if self.value.size > 6 else ""
        return f"Estimate([{shown}{more}], shape {self.shape})"


def _read_only(array: np.ndarray) -> np.ndarray:
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _samples_first(name: str, values: Any, axis: int) -> np.ndarray:
    array = check_numbers(name, values)
    array = np.moveaxis(array, check_axis(axis, array, name), 0)
    if array.shape[0] == 0:
        raise ValueError(f"{name} must hold at least one sample along axis {axis}, got none")
    return array


def _exceeds(
    between: np.ndarray, between_dof: float, within: np.ndarray, within_dof: np.ndarray
) -> np.ndarray:
    if between_dof == 0:
        return np.zeros(within.shape, bool)
    bound = special.fdtri(between_dof, np.maximum(within_dof, 1.0), 0.999)
    return (within_dof > 0) & (between > bound * within)


def _format(value: float, std_error: float) -> str:
    """Two significant digits of the error, and the value to the same decimal."""
    if not (math.isfinite(value) and math.isfinite(std_error)) or std_error == 0:
        return f"{value:.6g} +/- {std_error:.2g}"
    decimals = 1 - math.floor(math.log10(std_error))
    if max(abs(value), std_error) >= 1e6 or decimals > 8:
        digits = max(0, decimals + math.floor(math.log10(max(abs(value), std_error))))
        return f"{value:.{min(digits, 16)}e} +/- {std_error:.1e}"
    return f"{value:.{max(decimals, 0)}f} +/- {std_error:.{max(decimals, 0)}f}"
