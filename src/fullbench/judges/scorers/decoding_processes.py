"""Pillow decoding in separate processes.

Decoding threads and the thread that feeds the GPU would wait for the same interpreter; processes do not. They run
this module, take pictures through a pipe and return pixels. Unlike `multiprocessing`, this never runs the user's
script a second time. The pixels equal those of `decode_picture` and `Recipe.cut` in this process.
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
from fullbench.judges.scorers.batch_preprocessing_and_gpu_jpeg_decoding import Recipe
from fullbench.judges.scorers.safe_picture_decoding import decode_picture


class DecodingProcesses:
    """One process per concurrent caller; processes are kept for later pictures and end with this object."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._idle: LifoQueue[subprocess.Popen[bytes]] = LifoQueue()
        finalize(self, _end_all, self._idle)

    def pixels(self, picture: Picture) -> Any:
        """Return a picture at the model's size, as `Recipe.cut` does. Raises `Unscorable` if it cannot be decoded."""
        try:
            process = self._idle.get_nowait()
        except Empty:
            process = _start_process()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump((self._recipe, picture), process.stdin)
            process.stdin.flush()
            outcome = pickle.load(process.stdout)  # noqa: S301 (our own process wrote it)
        except (EOFError, OSError, pickle.UnpicklingError):  # killed, perhaps for memory: this thread decodes instead
            _end_process(process)
            return self._recipe.cut(decode_picture(picture))
        self._idle.put(process)
        if isinstance(outcome, str):
            raise Unscorable(outcome)
        return outcome


def _start_process() -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "fullbench.judges.scorers.decoding_processes"]
    return subprocess.Popen(  # noqa: S603 (our own module)
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )


def _end_process(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:  # unsent data for a process that is gone
                continue
    process.wait()


def _end_all(idle: LifoQueue[subprocess.Popen[bytes]]) -> None:
    while not idle.empty():
        _end_process(idle.get_nowait())


def decode_requests(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Decode requests until the input ends."""
    while True:
        try:
            recipe, picture = pickle.load(incoming)  # noqa: S301 (our own process wrote it)
        except EOFError:
            return
        try:
            outcome = recipe.cut(decode_picture(picture))
        except Unscorable as reason:
            outcome = str(reason)
        pickle.dump(outcome, outgoing, protocol=pickle.HIGHEST_PROTOCOL)
        outgoing.flush()


if __name__ == "__main__":
    decode_requests(sys.stdin.buffer, sys.stdout.buffer)
