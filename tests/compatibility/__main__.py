"""Write the ledger, the lake and the list of verdicts of the release again: `python -m tests.compatibility`."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
from pathlib import Path

from tests.compatibility.frozen_release import FOLDER, copy_release, run_in_release, verdicts_of


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        work = copy_release(Path(name), with_ledger=False)
        for words in (["run", "study.toml", "--quiet"], ["lake", "write", "frozen.ledger", "--out", "lake"]):
            done = run_in_release(work, *words)
            assert done.returncode == 0, done.stderr
        # mtime=0: the same ledger gives the same bytes
        (FOLDER / "ledger.sqlite.gz").write_bytes(gzip.compress((work / "frozen.ledger").read_bytes(), mtime=0))
        shutil.rmtree(FOLDER / "lake", ignore_errors=True)
        shutil.copytree(work / "lake", FOLDER / "lake")
        api = FOLDER.parents[1] / "golden" / "files" / "openapi.json"
        (FOLDER / "openapi.json.gz").write_bytes(gzip.compress(api.read_bytes(), mtime=0))
        text = json.dumps(verdicts_of(work / "frozen.ledger"), ensure_ascii=False, indent=0)
        (FOLDER / "verdicts.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
