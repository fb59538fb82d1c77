"""The pull that keeps two stations together best when information is old: measured constants."""

import numpy as np

from .ensemble import Estimate

#: kappa at which E|D| of `delay_diffusion` is least, kappa = pull sqrt(delay) / sigma.
#:
#: In units of the delay and of sigma sqrt(delay) the only parameter of the difference is kappa, and
#: E|D| = sigma sqrt(delay) m(kappa), with m ~ 1/(2 kappa) for small and kappa/2 for large kappa.
#: Found from 8e6 delays at each of ten kappa with common noise, `DelayedBridge` with step
#: delay/16, a quartic in log kappa, and coupled runs at delay/8; the error covers what is left of
#: the bias. The minimum is flat: m is within 2 % of its least value for kappa in 0.84 ... 1.26.
OPTIMAL_DELAY_GAIN = Estimate(1.032, 0.003, np.inf)

#: E|D| / (sigma sqrt(delay)) at that kappa, extrapolated to step 0 with order 3/2.
LEAST_DELAY_SPREAD = Estimate(1.0923, 0.0008, np.inf)
