"""A disk whose file locks fail, as NFS without a lock service: the sentence names the locks, not another process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
static int refuse(const char *name, int file, int command, void *argument) {
    if (command == F_SETLK || command == F_SETLKW) { errno = ENOLCK; return -1; }
    int (*real)(int, int, void *) = dlsym(RTLD_NEXT, name);
    return real(file, command, argument);
}
#define WRAPPER(name) int name(int file, int command, ...) { \
    va_list list; va_start(list, command); void *argument = va_arg(list, void *); va_end(list); \
    return refuse(#name, file, command, argument); }
WRAPPER(fcntl)
WRAPPER(fcntl64)
"""
PROGRAM = """
import sys
from fullbench.ledger.sqlite import ledger_file_opening_migration_and_copies as open_file
open_file.BUSY_SECONDS = 0.1
from fullbench.errors import LedgerError
from fullbench.ledger.ledger import Ledger
try:
    Ledger(sys.argv[1]).close()
except LedgerError as error:
    print(error)
"""


@pytest.fixture
def shim(tmp_path) -> Path:
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("no C compiler for Linux here")
    (tmp_path / "shim.c").write_text(SHIM)
    library = tmp_path / "shim.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, tmp_path / "shim.c", "-ldl"], check=True)
    return library


def open_ledger(path: Path, **variables: str) -> str:
    command = [sys.executable, "-c", PROGRAM, str(path)]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_disk_without_locks_is_named(tmp_path, shim):
    path = tmp_path / "x.ledger"
    said = open_ledger(path, LD_PRELOAD=str(shim))
    assert "this disk has no working file locks (No locks available), as with NFS without a lock service" in said
    assert open_ledger(path) == "", "with locks it opens"
