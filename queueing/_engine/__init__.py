"""Engines: ways to simulate queues that are exact in law."""

from ._base import Batch as Batch
from ._base import Engine as Engine
from ._base import Run as Run
from ._base import Window as Window
from ._batched import BatchedEngine as BatchedEngine
from ._class_levels import ServerClasses as ServerClasses
from ._class_levels import server_classes_by_rate as server_classes_by_rate
from ._log_histogram import HISTOGRAM_SIZE as HISTOGRAM_SIZE
from ._log_histogram import QUANTILE_RELATIVE_ERROR as QUANTILE_RELATIVE_ERROR
from ._log_histogram import add_to_histogram as add_to_histogram
from ._log_histogram import empty_histogram as empty_histogram
from ._log_histogram import histogram_unit as histogram_unit
from ._log_histogram import upper_edges as upper_edges
from ._ranked_queues import QueueView as QueueView
from ._registry import ENGINES as ENGINES
from ._registry import choose_engine as choose_engine
from ._xoshiro import next_uniform as next_uniform
from ._xoshiro import uniform_index as uniform_index
