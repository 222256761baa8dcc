"""Compare the golden files with what the code says now, or write them anew.

python -m tests.golden                        compare all, and say which differ
python -m tests.golden --write                write all
python -m tests.golden --write names.json     write some
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.golden.goldens import FILES, GOLDENS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description="Compare or write the golden files.")
    parser.add_argument("names", nargs="*", metavar="FILE", help="Only these files, such as names.json.")
    parser.add_argument("--write", action="store_true", help="Write the files anew instead of comparing them.")
    parser.add_argument("--to", type=Path, default=FILES, help="Another folder than tests/golden/files.")
    asked = parser.parse_args()
    if unknown := [name for name in asked.names if name not in GOLDENS]:
        parser.error(f"there is no golden file {unknown[0]!r}; known: {', '.join(GOLDENS)}")
    asked.to.mkdir(parents=True, exist_ok=True)
    different = 0
    for name in asked.names or GOLDENS:
        golden, path = GOLDENS[name], asked.to / name
        if golden.lacks:
            print(f"{name}: left out, {golden.lacks}")  # noqa: T201
            continue
        started = time.process_time()
        with TemporaryDirectory() as folder:
            text = golden.make(Path(folder))
        same = path.exists() and path.read_text(encoding="utf-8") == text
        different += not same
        if asked.write and not same:
            path.write_text(text, encoding="utf-8")
        said = "same" if same else "written" if asked.write else "DIFFERENT"
        print(f"{name}: {said} ({time.process_time() - started:.1f} s of processor)", flush=True)  # noqa: T201
    return 1 if different and not asked.write else 0


if __name__ == "__main__":
    sys.exit(main())
