"""Engines: ways to simulate queues that are exact in law."""

from ._base import Engine as Engine
from ._base import Run as Run
from ._base import Window as Window
from ._ranked_queues import QueueView as QueueView
from ._registry import ENGINES as ENGINES
from ._registry import choose_engine as choose_engine
from ._xoshiro import next_uniform as next_uniform
from ._xoshiro import uniform_index as uniform_index
