"""`make bench`: every comparison in one run, as one table. `python -m scripts.bench calls` runs one part."""

from __future__ import annotations

import sys
from importlib import import_module

PARTS = ("hearing", "calls", "ledger", "stats", "ratings", "reproduce")


def main() -> None:
    wanted = sys.argv[1:] or PARTS
    for part in wanted:
        if part not in PARTS:
            sys.exit(f"there is no part {part!r}; known: {', '.join(PARTS)}")
        print(f"\n{part}: what, ours, the other in the same run, ours divided by the other", flush=True)
        for row in import_module(f"scripts.bench.{part}").main():
            print(row, flush=True)


if __name__ == "__main__":
    main()
