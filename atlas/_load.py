"""`load`: read back what a result's `save` wrote."""

import os

from .ensemble import Result


def load(path: str | os.PathLike[str]) -> Result:
    """The result in a netCDF file, of the class that wrote it.

    Raises FileNotFoundError, or ValueError if `path` is no path, or the file is damaged or was
    written by another program. Results of `queueing` need that package to be imported.
    """
    return Result.load(path)
