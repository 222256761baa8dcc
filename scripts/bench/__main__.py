"""`make bench`: every comparison in one run, as one table. `python -m scripts.bench calls` runs one part.

A part is a module of this folder with a `main() -> list[Row]`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path


def main() -> None:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py"))}
    parts = [name for name, text in texts.items() if "\ndef main() -> list[Row]:" in text]
    for part in sys.argv[1:] or parts:
        if part not in parts:
            sys.exit(f"there is no part {part!r}; known: {', '.join(parts)}")
        print(f"\n{part}: what, ours, the other in the same run, ours divided by the other", flush=True)
        for row in import_module(f"scripts.bench.{part}").main():
            print(row, flush=True)


if __name__ == "__main__":
    main()
