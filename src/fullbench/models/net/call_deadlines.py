"""Calls that take too long are cut off, with one timer for all of them: a timer for each call costs a tenth of it."""

from __future__ import annotations

import asyncio


class Deadlines:
    """So many seconds for each call. As all have as long, the one that began first is due first."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._due: dict[asyncio.Task[object], float] = {}
        self._late: set[asyncio.Task[object]] = set()
        self._bell: asyncio.TimerHandle | None = None

    def begin(self) -> asyncio.Task[object]:
        """The running task has its time from now on; it says `end` when it is done, however it ended."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a deadline is a task's")
        loop = task.get_loop()
        due = self._due[task] = loop.time() + self._seconds
        if self._bell is None:
            self._bell = loop.call_at(due, self._ring, loop)
        return task

    def end(self, task: asyncio.Task[object]) -> None:
        del self._due[task]
        self._late.discard(task)

    def cut(self, task: asyncio.Task[object]) -> bool:
        """Whether a task that was cancelled is to go on: it was cancelled here for being late, and by nobody else."""
        return task in self._late and task.uncancel() == 0

    def close(self) -> None:
        if self._bell is not None:
            self._bell.cancel()
            self._bell = None

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        self._bell = None
        for task, due in self._due.items():
            if due > now:
                self._bell = loop.call_at(due, self._ring, loop)
                return
            if task not in self._late:
                self._late.add(task)
                task.cancel()
