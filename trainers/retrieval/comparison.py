"""Compares queries of several threads with all vectors of a gallery, in one product where they come together."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from trainers.retrieval.vectors import Vectors

EXACT = 2**22
"""Numbers of a gallery up to which cosines are computed in float64."""


class Comparison:
    """The comparison of queries with all of one gallery's vectors.

    One product runs at a time, with all of torch's threads; the queries that arrive meanwhile share the next one: ten
    of them take little longer than one, because the time goes into reading the vectors.
    """

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors
        self._waiting: list[tuple[np.ndarray, Future[np.ndarray | None]]] = []
        self._busy, self._lock = False, threading.Lock()

    @property
    def bytes(self) -> int:
        """Of the vectors, and of their copy in float64 where there is one; mapped ones count too."""
        rows = self.vectors.rows
        return int(rows.nbytes + (8 * rows.size if rows.size <= EXACT else 0))

    def similarities(self, query: np.ndarray) -> np.ndarray:
        """Return cosines ``[N]`` with a unit query float32 ``[D]``; the caller may write to them.

        In float64 up to :data:`EXACT` numbers, as the metrics do: scores are then those of
        :func:`trainers.metrics.evaluate`. In float32 beyond.
        """
        answered: Future[np.ndarray | None] = Future()
        with self._lock:
            self._waiting.append((query, answered))
            waits, self._busy = self._busy, True
        if waits and (answer := answered.result()) is not None:
            return answer
        return self._lead(answered)

    def _lead(self, leader: Future[np.ndarray | None]) -> np.ndarray:
        """Answer all that wait, then let the first of those that came meanwhile lead: its future gets None."""
        with self._lock:
            taken, self._waiting = self._waiting, []
        others = [future for _, future in taken if future is not leader]
        try:
            table = self._products(np.stack([query for query, _ in taken]))
            for row, (_, future) in zip(table, taken, strict=True):
                if future is leader:
                    answer = row
                else:
                    future.set_result(row)
        except BaseException as error:  # all who wait hear of it
            for future in others:
                if not future.done():
                    future.set_exception(error)
            raise
        finally:
            with self._lock:
                self._busy = bool(self._waiting)
                if self._waiting:
                    self._waiting[0][1].set_result(None)
        return answer

    @cached_property
    def _exact(self) -> Tensor:
        return torch.nn.functional.normalize(torch.tensor(self.vectors.rows, dtype=torch.float64), dim=1)

    def _products(self, queries: np.ndarray) -> np.ndarray:
        """Return the cosines ``[Q, N]``."""
        if self.vectors.rows.size <= EXACT:
            unit = torch.nn.functional.normalize(torch.tensor(queries, dtype=torch.float64), dim=1)
            return np.stack([torch.mv(self._exact, query).numpy() for query in unit])
        asked = torch.from_numpy(np.ascontiguousarray(queries.T, np.float32))
        if self.vectors.rows.dtype == np.float32:
            return np.ascontiguousarray((torch.from_numpy(self.vectors.rows) @ asked).numpy().T)
        table = np.empty((len(queries), len(self.vectors)), np.float32)
        for first, block in self.vectors.blocks():
            table[:, first : first + len(block)] = (torch.from_numpy(block) @ asked).numpy().T
        return table
