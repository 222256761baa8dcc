"""Locations of the released files: in a clone of the authors' repository, the hub's copy, or our condensed form.

Files have the names of the condensed form. A clone has them under `Dataset/`: the authors' three steps in
`raw_data/`, the subsets in `Hard & HQ/`. A clone lacks the labels of the first release, which only its history holds,
and files of other projects. Missing files are counted, and numbers that need them are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fullbench.errors import InputError

_CLONE_FOLDERS = ("Benchmark", "Benchmark_Lite", "raw_data", "Hard & HQ")
"""Folders that identify a clone."""
_CLONE_PREFIXES = {"step1/": "raw_data/step1/", "step3/": "raw_data/step3/", "Hard_HQ/": "Hard & HQ/"}
_IMAGES = ("image", "Images", "images")


@dataclass(frozen=True)
class Places:
    """A folder of the release; in the condensed form (`is_condensed`) no file may be missing."""

    folder: Path
    root: Path
    is_condensed: bool

    @classmethod
    def from_folder(cls, folder: Path) -> Places:
        """Detect the layout of a folder: with `native/`, or a clone (the folder itself or its `Dataset/`)."""
        if not folder.is_dir():
            raise InputError(
                "there is no such folder; give a clone of the authors' repository, or a folder with native/",
                path=folder,
            )
        if (folder / "native").is_dir():
            return cls(folder, folder / "native", is_condensed=True)
        for root in (folder / "Dataset", folder / "Datasets", folder):
            if any((root / mark).is_dir() for mark in _CLONE_FOLDERS):
                return cls(folder, root, is_condensed=False)
        raise InputError(
            "the folder holds no release: neither native/, nor a clone's Dataset/ with one of "
            f"{', '.join(_CLONE_FOLDERS)}, nor items.jsonl of one's own",
            path=folder,
        )

    def find(self, file: str, suffix: str) -> Path | None:
        """Return the path of a file, gzipped or not, or None if it is missing."""
        return next((path for path in self._candidates(file, suffix) if path.exists()), None)

    def expected_path(self, file: str, suffix: str) -> Path:
        """Return the preferred path of a file, present or not."""
        return next(self._candidates(file, suffix))

    def _candidates(self, file: str, suffix: str) -> Iterator[Path]:
        roots = [self.folder] if file.startswith("third_party/") else [self.root]
        if not self.is_condensed:
            for condensed_prefix, clone_prefix in _CLONE_PREFIXES.items():
                if file.startswith(condensed_prefix):
                    file = clone_prefix + file.removeprefix(condensed_prefix)
            roots.append(self.folder)
        for root in roots:
            yield root / f"{file}{suffix}.gz"
            yield root / f"{file}{suffix}"

    @property
    def images(self) -> list[Path]:
        """Folders that hold pictures under their original names."""
        roots = dict.fromkeys((self.root, self.folder))
        folders = [root / name for root in roots for name in _IMAGES if (root / name).is_dir()]
        # A folder with an index names its pictures by its own numbers.
        return [folder for folder in folders if not (folder / "index.jsonl").exists()]
