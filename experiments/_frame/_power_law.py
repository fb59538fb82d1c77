"""Exponents: a power law fitted to numbers whose errors are known."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import least_squares


@dataclass(frozen=True)
class PowerLaw:
    """y = factor x^exponent (1 + slope x^correction), as fitted.

    Arguments:
        factor, exponent, slope: the fitted parameters; slope is 0 where no correction was asked.
        correction: the power of the correction, or None.
        exponent_error: standard error of the exponent, from the errors of y.
        misfit: weighted sum of squared residuals, chi-square with `dof` degrees of freedom where
            the model is right.
        dof: number of points less number of parameters.
    """

    factor: float
    exponent: float
    slope: float
    correction: float | None
    exponent_error: float
    misfit: float
    dof: int

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The fitted curve."""
        x = np.asarray(x, float)
        return self.factor * x**self.exponent * (1 + self.slope * x ** (self.correction or 0))


def fit_power_law(
    x: np.ndarray, y: np.ndarray, covariance: np.ndarray, correction: float | None = None
) -> PowerLaw:
    """Generalised least squares on the numbers themselves, not on their logarithms.

    Minimises r' C^{-1} r with r = y - c x^p (1 + e x^q) over c, p and, where q is given, e.
    Numbers near zero, of either sign, count with their errors, where a logarithm would give them
    too much weight or none.

    Arguments:
        x: positive numbers, such as steps; at least as many as parameters, 2 or 3.
        y: numbers of the same shape.
        covariance: of y; shape (n, n), or (n,) for the variances of independent ones.
        correction: q, the power of the next term relative to the leading one; None for none.

    Returns:
        The fit.

    Raises:
        ValueError: too few points, shapes that differ, x <= 0, or no covariance matrix.

    Cost: a few 3 x 3 problems.
    """
    x, y, covariance = (np.asarray(array, float) for array in (x, y, covariance))
    size = 2 if correction is None else 3
    if x.ndim != 1 or x.size < size or y.shape != x.shape or not np.all(x > 0):
        raise ValueError(f"x = {x}, y = {y}: give at least {size} pairs with positive x")
    if covariance.ndim == 1:
        covariance = np.diag(covariance)
    if covariance.shape != (x.size, x.size):
        raise ValueError(f"covariance has shape {covariance.shape}, needs {(x.size, x.size)}")
    try:
        root = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError as error:
        raise ValueError("covariance is not positive definite: give independent errors") from error
    largest = x.max()
    scaled = x / largest

    def residuals(parameters: np.ndarray) -> np.ndarray:
        model = parameters[0] * scaled ** parameters[1]
        if correction is not None:
            model = model * (1 + parameters[2] * scaled**correction)
        return solve_triangular(root, y - model, lower=True)

    fit = least_squares(residuals, _start(x, y)[:size], x_scale="jac")
    errors = np.sqrt(np.diag(np.linalg.pinv(fit.jac.T @ fit.jac)))
    return PowerLaw(
        factor=float(fit.x[0] / largest ** fit.x[1]),
        exponent=float(fit.x[1]),
        slope=0.0 if correction is None else float(fit.x[2] / largest**correction),
        correction=correction,
        exponent_error=float(errors[1]),
        misfit=float(2 * fit.cost),
        dof=x.size - size,
    )


def _start(x: np.ndarray, y: np.ndarray) -> list[float]:
    # From the two largest x, whose numbers stand out most from the noise.
    second, first = np.argsort(x)[-2:]
    ratio = max(abs(y[first]), 1e-300) / max(abs(y[second]), 1e-300)
    exponent = float(np.clip(np.log(ratio) / np.log(x[first] / x[second]), -4, 4))
    return [float(y[first]), exponent, 0.0]
