"""Make or refresh .venv from requirements.lock, then run a command in it.

Usage: python3 scripts/launch.py EXTRA COMMAND [ARGS...]

Needs python3 and pip only. The environment is stamped with a digest of pyproject.toml and the lock, so a second
call starts at once; a file lock lets two calls share one installation; an interrupted one is simply done again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCK = ROOT / "requirements.lock"
UV_LOCK = ROOT / "scripts" / "uv.txt"
BUILD_LOCK = ROOT / "scripts" / "build.txt"
"""What builds this package; it is installed before, so that no build fetches anything without a hash."""
HASHED = "--require-hashes"


def say(text: str) -> None:
    print(f"[fullbench] {text}", file=sys.stderr, flush=True)


def wanted(extra: str) -> str:
    digest = hashlib.sha256()
    for path in (ROOT / "pyproject.toml", LOCK, UV_LOCK, BUILD_LOCK, Path(__file__)):
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
    subprocess.run([*pip, HASHED, "-r", str(BUILD_LOCK)], check=True)
    uv = VENV / "bin" / "uv"
    if not uv.exists() and subprocess.run([*pip, HASHED, "-r", str(UV_LOCK)], check=False).returncode:
        say("uv cannot be installed; pip installs the packages without it (some minutes)")
    env = {**os.environ, "VIRTUAL_ENV": str(VENV), "UV_SYSTEM_CERTS": "1"}
    by_uv = [str(uv), "pip", "install", "--quiet", "--python", str(PYTHON), "--no-build-isolation"]
    by_uv += ["-c", str(LOCK), "-e", target]
    done = subprocess.run(by_uv, check=False, env=env, stderr=subprocess.PIPE, text=True) if uv.exists() else None
    if done is not None and done.returncode and "hash mismatch" in done.stderr.lower():
        say(f"a downloaded file does not have the hash in requirements.lock:\n{done.stderr}")
        raise subprocess.CalledProcessError(done.returncode, by_uv)
    if done is None or done.returncode:
        install_by_pip(pip, extra)
    say(f"environment ready after {time.monotonic() - started:.0f} s")


def install_by_pip(pip: list[str], extra: str) -> None:
    """Install the packages of an extra with their hashes, then this folder without dependencies.

    pip takes hashes for all packages or none, and a folder has none. So it first says which packages it would take.
    """
    blocks = dict(lock_blocks(LOCK.read_text(encoding="utf-8")))
    pins, part = VENV / "pins.txt", VENV / "part.lock"
    pins.write_text("\n".join(block.split(" \\\n")[0] for block in blocks.values()), encoding="utf-8")
    plan = [*pip, "--dry-run", "--only-binary", ":all:", "--report", "-", "-c", str(pins), *requirements_of(extra)]
    report = json.loads(subprocess.run(plan, check=True, stdout=subprocess.PIPE, text=True).stdout)
    names = {canonical_name(entry["metadata"]["name"]) for entry in report["install"]}
    if names:
        part.write_text("\n".join(blocks[name] for name in sorted(names)), encoding="utf-8")
        subprocess.run([*pip, HASHED, "--no-deps", "-r", str(part)], check=True)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "-e", str(ROOT)], check=True)


def lock_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield each package of a lock with its lines. Versions for other Pythons come under a name of their own."""
    for block in re.split(r"\n(?=\S)", text.strip()):
        name, marker = re.split(r"[=@ ]", block)[0], block.split(" \\\n")[0].partition(";")[2].strip()
        key = canonical_name(name)
        yield (key if applies(marker) else f"{key};{marker}"), block


def applies(marker: str) -> bool:
    """Return True if a marker of the lock holds here. pip ignores lines that do not hold, so only names matter."""
    from pip._vendor.packaging.markers import Marker

    return not marker or Marker(marker).evaluate()


def canonical_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements_of(extra: str) -> list[str]:
    """Return the requirements of this package with an extra, which may name others of our extras."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements, waiting, seen = list(project["dependencies"]), [extra] if extra else [], set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        for requirement in project["optional-dependencies"][name]:
            own = re.fullmatch(r"fullbench\[(.+)\]", requirement)
            if own is None:
                requirements.append(requirement)
            else:
                waiting += set(own[1].split(",")) - seen
    return requirements


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
