"""Where the released files lie: in a clone of the authors' repository, in the hub's copy of it, or condensed by us.

Files go by the names that they have in the condensed form; a clone has them under `Dataset/`, the authors' three steps
under `raw_data/`, the subsets under `Hard & HQ/`. A clone has no labels of the first release, which its history alone
holds, and no file of other projects: whatever is not there is counted, and the figures that need it are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fullbench.errors import InputError

_MARKS = ("Benchmark", "Benchmark_Lite", "raw_data", "Hard & HQ")
"""Folders by which a clone is known."""
_RENAMED = {"step1/": "raw_data/step1/", "step3/": "raw_data/step3/", "Hard_HQ/": "Hard & HQ/"}
_IMAGES = ("image", "Images", "images")


@dataclass(frozen=True)
class Places:
    """A folder of the release; `whole` is the condensed form, in which no file may be missing."""

    folder: Path
    root: Path
    whole: bool

    @classmethod
    def of(cls, folder: Path) -> Places:
        """The places in a folder that holds `native/`, or in a clone (the folder itself, or its `Dataset/`)."""
        if not folder.is_dir():
            raise InputError(
                "there is no such folder; give a clone of the authors' repository, or a folder with native/",
                path=folder,
            )
        if (folder / "native").is_dir():
            return cls(folder, folder / "native", whole=True)
        for root in (folder / "Dataset", folder / "Datasets", folder):
            if any((root / mark).is_dir() for mark in _MARKS):
                return cls(folder, root, whole=False)
        raise InputError(
            "the folder holds no release: neither native/, nor a clone's Dataset/ with one of "
            f"{', '.join(_MARKS)}, nor items.jsonl of one's own",
            path=folder,
        )

    def find(self, file: str, suffix: str) -> Path | None:
        """Where a file is, gzipped or not; None where it is not there."""
        return next((path for path in self._candidates(file, suffix) if path.exists()), None)

    def expected(self, file: str, suffix: str) -> Path:
        """Where a file should be."""
        return next(self._candidates(file, suffix))

    def _candidates(self, file: str, suffix: str) -> Iterator[Path]:
        roots = [self.folder] if file.startswith("third_party/") else [self.root]
        if not self.whole:
            for ours, theirs in _RENAMED.items():
                if file.startswith(ours):
                    file = theirs + file.removeprefix(ours)
            roots.append(self.folder)
        for root in roots:
            yield root / f"{file}{suffix}.gz"
            yield root / f"{file}{suffix}"

    @property
    def images(self) -> list[Path]:
        """The folders in which pictures lie under their own names."""
        roots = dict.fromkeys((self.root, self.folder))
        folders = [root / name for root in roots for name in _IMAGES if (root / name).is_dir()]
        # One with an index has pictures under numbers of its own.
        return [folder for folder in folders if not (folder / "index.jsonl").exists()]
