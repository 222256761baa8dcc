"""Make or refresh .venv from requirements.lock, then run a command in it.

Usage: python3 scripts/launch.py EXTRA COMMAND [ARGS...]

Needs python3 and pip only. The environment is stamped with a digest of pyproject.toml and the lock, so a second
call starts at once; a file lock lets two calls share one installation; an interrupted one is simply done again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCK = ROOT / "requirements.lock"
BACKSLASH = " \\"
UV = next(line.strip() for line in (ROOT / "scripts" / "uv.txt").read_text().splitlines() if line.startswith("uv=="))


def say(text: str) -> None:
    print(f"[fullbench] {text}", file=sys.stderr, flush=True)


def wanted(extra: str) -> str:
    digest = hashlib.sha256()
    for path in (ROOT / "pyproject.toml", LOCK, Path(__file__)):
        digest.update(path.read_bytes())
    digest.update(f"{sys.version_info[:2]} {extra} {ROOT}".encode())
    return digest.hexdigest()


def install(extra: str) -> None:
    started = time.monotonic()
    if not PYTHON.exists():
        say("making the environment in .venv")
        venv.create(VENV, with_pip=False, clear=VENV.exists())
    target = f"{ROOT}[{extra}]" if extra else str(ROOT)
    pip = [sys.executable, "-m", "pip", "--python", str(PYTHON), "install", "--quiet", "--disable-pip-version-check"]
    say(f"installing what requirements.lock pins ({extra or 'core'})")
    uv = VENV / "bin" / "uv"
    if not uv.exists() and subprocess.run([*pip, UV], check=False).returncode:
        say("uv is not to be had; pip does it alone (about two minutes)")
    env = {**os.environ, "VIRTUAL_ENV": str(VENV), "UV_SYSTEM_CERTS": "1"}
    by_uv = [str(uv), "pip", "install", "--quiet", "--python", str(PYTHON), "-c", str(LOCK), "-e", target]
    done = subprocess.run(by_uv, check=False, env=env, stderr=subprocess.PIPE, text=True) if uv.exists() else None
    if done is not None and done.returncode and "hash mismatch" in done.stderr.lower():
        say(f"what was fetched is not what requirements.lock promises:\n{done.stderr}")
        raise subprocess.CalledProcessError(done.returncode, by_uv)
    if done is None or done.returncode:
        say("pip checks no hashes where a folder is installed; it takes the versions of the lock alone")
        pins = VENV / "pins.txt"
        lines = [line.rstrip(BACKSLASH) for line in LOCK.read_text().splitlines() if "==" in line]
        pins.write_text("\n".join(lines))
        subprocess.run([*pip, "-c", str(pins), "-e", target], check=True)
    say(f"environment ready after {time.monotonic() - started:.0f} s")


def main() -> None:
    extra, *command = sys.argv[1:]
    if sys.version_info < (3, 11):
        found = sys.version.split()[0]
        sys.exit(f"fullbench needs Python 3.11 or newer; this is {found}: call make with PYTHON=python3.12")
    with (ROOT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = VENV / f"stamp-{extra or 'core'}"
        digest = wanted(extra)
        if not stamp.exists() or stamp.read_text() != digest:
            try:
                install(extra)
            except subprocess.CalledProcessError as error:
                sys.exit(f"[fullbench] the installation failed (exit {error.returncode}); the lines above say why")
            stamp.write_text(digest)
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    env["PATH"] = f"{VENV / 'bin'}{os.pathsep}{env.get('PATH', '')}"
    env |= {"VIRTUAL_ENV": str(VENV), "UV_SYSTEM_CERTS": "1"}
    os.execvpe(command[0], command, env)


if __name__ == "__main__":
    main()
