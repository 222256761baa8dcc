"""Pictures decoded by Pillow in processes of their own.

Threads that decode and the thread that feeds the card want the same interpreter, and each waits for the other;
processes do not. They run this module, take pictures through a pipe and give pixels back, so that a script of the
user's own is never run a second time in them, as `multiprocessing` would without a guard in it. The pixels are those of
`decode` and `Recipe.cut` in this process.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from queue import Empty, LifoQueue
from typing import Any, BinaryIO
from weakref import finalize

from fullbench.core.picture import Picture
from fullbench.errors import Unscorable
from fullbench.judges.scorers.batch_preprocessing import Recipe
from fullbench.judges.scorers.decoded_pictures import decode


class DecodingProcesses:
    """As many processes as threads ask at once; they are kept for the next pictures and end with this object."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._idle: LifoQueue[subprocess.Popen[bytes]] = LifoQueue()
        finalize(self, _end_all, self._idle)

    def pixels(self, picture: Picture) -> Any:
        """A picture at the model's size, as `Recipe.cut` gives it; what cannot be decoded raises `Unscorable`."""
        try:
            process = self._idle.get_nowait()
        except Empty:
            process = _start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump((self._recipe, picture), process.stdin)
            process.stdin.flush()
            outcome = pickle.load(process.stdout)  # noqa: S301 (our own process wrote it)
        except (EOFError, OSError, pickle.UnpicklingError):  # it was killed, say for memory: this thread decodes
            _end(process)
            return self._recipe.cut(decode(picture))
        self._idle.put(process)
        if isinstance(outcome, str):
            raise Unscorable(outcome)
        return outcome


def _start() -> subprocess.Popen[bytes]:
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "fullbench.judges.scorers.decoding_processes"]
    return subprocess.Popen(  # noqa: S603 (our own module)
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=surroundings
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:  # what was on its way to a process that is gone
                continue
    process.wait()


def _end_all(idle: LifoQueue[subprocess.Popen[bytes]]) -> None:
    while not idle.empty():
        _end(idle.get_nowait())


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Decode what comes until nothing comes any more."""
    while True:
        try:
            recipe, picture = pickle.load(incoming)  # noqa: S301 (our own process wrote it)
        except EOFError:
            return
        try:
            outcome = recipe.cut(decode(picture))
        except Unscorable as reason:
            outcome = str(reason)
        pickle.dump(outcome, outgoing, protocol=pickle.HIGHEST_PROTOCOL)
        outgoing.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
