"""Ensembles of replicas: chunks, estimates with errors, output analysis, seeds, results."""

from ._batch_means import batch_means as batch_means
from ._checks import check_path as check_path
from ._chunk_store import ChunkStore as ChunkStore
from ._chunks import plan_chunks as plan_chunks
from ._effective_sample_size import effective_sample_size as effective_sample_size
from ._estimate import Estimate as Estimate
from ._half_width import RelativeHalfWidth as RelativeHalfWidth
from ._memory import available_memory as available_memory
from ._memory import check_memory as check_memory
from ._moments import StreamingMoments as StreamingMoments
from ._mser5 import mser5 as mser5
from ._overlapping_batch_means import overlapping_batch_means as overlapping_batch_means
from ._philox import philox4x32 as philox4x32
from ._provenance import provenance as provenance
from ._quantiles import StreamingQuantiles as StreamingQuantiles
from ._result import Result as Result
from ._run_chunks import Interrupted as Interrupted
from ._run_chunks import run_chunks as run_chunks
from ._seed import Seed as Seed
from ._seed import resolve_seed as resolve_seed
from ._variable import Variable as Variable
from ._variable import estimate_variables as estimate_variables
from ._write_atomically import write_atomically as write_atomically
