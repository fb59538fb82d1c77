"""Join an idle queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ._free_first import FreeFirst


@dataclass(frozen=True)
class JIQ(FreeFirst):
    """Every job to an idle server, uniformly; to any server, uniformly, if none is idle.

    P(server i) = 1{Q_i = 0} / I if I > 0 servers are idle, else 1/K .

    With unequal service rates a load below 1 does not make it stable: where none is idle a slow
    server receives as many jobs as a fast one.  With arrival rate lambda and M = sum mu_i it is
    stable if for every set of s servers, of rates mu(S) together,

        s lambda^2 < mu(S) (K (M - mu(S)) + lambda s) ;

    for two servers that is necessary too.  `long_run` refuses what is known to be unstable and
    warns where neither is known.

    Source: [LuXieKliotGellerLarusGreenberg2011].
    """

    fallback_length: ClassVar[int] = 1
