"""Which files of tests take longest: they begin first, so that no worker is left alone with one at the end.

    sh scripts/test.sh --durations=0 | tee build/durations.txt
    python -m scripts.longest build/durations.txt

Reads what pytest prints of durations and writes tests/longest.txt: seconds and files, the longest first. Where it is
old nothing but time is lost.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

LONGEST = Path(__file__).resolve().parent.parent / "tests" / "longest.txt"
LEAST = 4.0
"""Files that take less, in seconds, fill gaps at the end and need not be listed."""
LINE = re.compile(r"^(?P<seconds>\d+\.\d+)s (?:setup|call|teardown) +(?P<file>[^:\s]+)::")


def longest(lines: Iterable[str]) -> list[tuple[float, str]]:
    """The files that took at least `LEAST` seconds, with their seconds."""
    took: dict[str, float] = defaultdict(float)
    for line in lines:
        if found := LINE.match(line):
            took[found["file"]] += float(found["seconds"])
    return sorted(((round(seconds, 1), file) for file, seconds in took.items() if seconds >= LEAST), reverse=True)


def listed() -> list[str]:
    """The files that take longest, the longest first."""
    return [line.split()[1] for line in LONGEST.read_text(encoding="utf-8").splitlines()]


def order(tests: Mapping[str, int], longest: Sequence[str]) -> dict[str, int]:
    """Each file's place, by how many tests files have: the longest first, then those with most tests."""
    places = {file: place for place, file in enumerate(longest)}
    ordered = sorted(tests, key=lambda file: (places.get(file, len(places)), -tests[file], file))
    return {file: place for place, file in enumerate(ordered)}


def main() -> None:
    found = longest(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines())
    if not found:
        sys.exit(f"no durations in {sys.argv[1]}: it is to be what pytest prints with --durations=0")
    LONGEST.write_text("".join(f"{seconds:6.1f} {file}\n" for seconds, file in found), encoding="utf-8")
    print(f"written: {LONGEST.name}, {len(found)} files")


if __name__ == "__main__":
    main()
