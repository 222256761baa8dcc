"""Peers from the package index, each in an environment of its own under `bench/`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "bench"
VERSIONS = {
    "openai": ("openai==3.49.0", "aiohttp"),
    "inspect-ai": ("inspect-ai", "openai"),
    "rouge-score": ("rouge-score==0.1.2",),
    "pycocoevalcap": ("pycocoevalcap==1.2",),
}


def python_of(package: str) -> Path | None:
    """The Python of an environment that holds the package, made when first asked for; None where it cannot be had."""
    home = FOLDER / package
    python = home / "bin" / "python"
    done = home / "installed"
    if done.exists():
        return python
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        return None
    sys.stderr.write(f"installing {package} into bench/{package}\n")
    shutil.rmtree(home, ignore_errors=True)
    env = {**os.environ, "VIRTUAL_ENV": str(home)}
    steps = (
        [uv, "venv", "-q", "--python", sys.executable, str(home)],
        [uv, "pip", "install", "-q", *VERSIONS[package]],
    )
    for step in steps:
        if subprocess.run(step, env=env, check=False).returncode:
            return None
    done.touch()
    return python
