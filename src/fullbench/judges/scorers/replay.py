"""A model's kernels recorded once and started again with one call.

Launching the hundreds of kernels of a large encoder keeps the interpreter busy, and those who read and decode pictures
beside it want the interpreter too. A recorded graph leaves it to them. The kernels and so the numbers are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Replayed:
    """A function from one batch on a GPU to a tensor, recorded for the first shape that comes twice.

    Other shapes, such as the last batch of a run, and batches on a CPU are computed as ever.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._last: tuple[int, ...] = ()
        self._graph: Any = None
        self._given: Any = None
        self._found: Any = None

    def __call__(self, batch: Any) -> Any:
        if not batch.is_cuda:
            return self._function(batch)
        shape = tuple(batch.shape)
        if self._graph is None and shape == self._last:
            self._record(batch)
        self._last = shape
        if self._graph is None or self._given.shape != batch.shape:
            return self._function(batch)
        self._given.copy_(batch)
        self._graph.replay()
        return self._found.clone()

    def _record(self, batch: Any) -> None:
        """Record on a stream of its own, as torch demands; other threads may use the card meanwhile."""
        import torch

        given = batch.clone()
        side = torch.cuda.Stream(batch.device)
        side.wait_stream(torch.cuda.current_stream(batch.device))
        with torch.cuda.stream(side):
            self._function(given)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
                found = self._function(given)
        torch.cuda.current_stream(batch.device).wait_stream(side)
        self._graph, self._given, self._found = graph, given, found
