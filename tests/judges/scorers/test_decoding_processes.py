"""Pictures decoded in other processes: the same pixels and the same reasons, whatever becomes of a process."""

from __future__ import annotations

import gc
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from fullbench import Picture
from fullbench.errors import Unscorable
from fullbench.judges.scorers.batch_preprocessing_and_gpu_jpeg_decoding import Recipe
from fullbench.judges.scorers.decoding_processes import DecodingProcesses
from fullbench.judges.scorers.safe_picture_decoding import decode_picture
from tests.judges.scorers.making import encoded, picture, texture

RECIPE = Recipe(48, 32, (0.5,) * 3, (0.5,) * 3)


def _running(processes: DecodingProcesses) -> list[int]:
    return [process.pid for process in processes._idle.queue]


def test_pixels_and_reasons_are_those_of_this_process(tmp_path):
    on_disk = tmp_path / "one.jpg"
    on_disk.write_bytes(encoded(texture(9, 80), "JPEG"))
    pictures = [Picture.read(on_disk), *(picture(texture(seed, 70 + seed)) for seed in range(5))]
    processes = DecodingProcesses(RECIPE)
    with ThreadPoolExecutor(2) as pool:
        ours = list(pool.map(processes.pixels, pictures))
    assert all(np.array_equal(one, RECIPE.cut(decode_picture(this))) for one, this in zip(ours, pictures, strict=True))
    broken = Picture.from_bytes(encoded(texture(1, 64), "JPEG")[:200])
    with pytest.raises(Unscorable) as here:
        decode_picture(broken)
    with pytest.raises(Unscorable) as there:
        processes.pixels(broken)
    assert str(there.value) == str(here.value)
    assert 1 <= len(_running(processes)) <= 2
    # A process that is killed costs no picture: this process decodes it, and the next has a new one.
    for pid in _running(processes):
        os.kill(pid, signal.SIGKILL)
    for _ in range(3):
        assert np.array_equal(processes.pixels(pictures[0]), ours[0])
    (left, *_) = _running(processes)
    del processes, there  # the error's traceback holds it too
    gc.collect()
    with pytest.raises(ProcessLookupError):
        os.kill(left, 0)
