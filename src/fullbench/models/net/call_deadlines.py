"""Timeouts of calls with one timer for all of them: one timer per call would cost a tenth of the call."""

from __future__ import annotations

import asyncio


class Deadlines:
    """The same time limit for each call. As all limits are equal, the call that began first is due first."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._due: dict[asyncio.Task[object], float] = {}
        self._late: set[asyncio.Task[object]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> asyncio.Task[object]:
        """Start the limit of the running task. The task must call `end` when it is done, however it ended."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a deadline is a task's")
        loop = task.get_loop()
        due = self._due[task] = loop.time() + self._seconds
        if self._timer is None:
            self._timer = loop.call_at(due, self._cancel_late_tasks, loop)
        return task

    def end(self, task: asyncio.Task[object]) -> None:
        del self._due[task]
        self._late.discard(task)

    def is_timeout(self, task: asyncio.Task[object]) -> bool:
        """Return True if a cancelled task may continue: only its deadline cancelled it."""
        return task in self._late and task.uncancel() == 0

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _cancel_late_tasks(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        self._timer = None
        for task, due in self._due.items():
            if due > now:
                self._timer = loop.call_at(due, self._cancel_late_tasks, loop)
                return
            if task not in self._late:
                self._late.add(task)
                task.cancel()
