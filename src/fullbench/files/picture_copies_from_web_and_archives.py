"""Copies pictures that data refer to into the data's folder: from the web, zip files or Parquet files.

They go to `images/` next to the data; `images/pictures.jsonl` lists the source and digest of each. Later reads find
them there, even if the address returns something else by then.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from fullbench.core.media import recognise_type
from fullbench.errors import InputError
from fullbench.files.bounded_archives import BoundedArchive
from fullbench.files.row_readers import pyarrow_for
from fullbench.files.row_writers import replace_atomically

Step = Callable[[str, int, int], None]
LIST = "pictures.jsonl"
FOLDERS = ("images", "image")
_INDEX = "index.jsonl"


def base_name(name: str) -> str:
    """Return the file name in a URL or path.

    >>> base_name("https://example.org/a/b%20c.png?x=1"), base_name("image/7.jpg")
    ('b c.png', '7.jpg')
    """
    path = unquote(urlsplit(name).path) if "://" in name else name
    return Path(path).name or sha256(name.encode()).hexdigest()[:16]


def copy_of(folder: Path, name: str) -> Path | None:
    """Return the local copy of a picture name or URL in a data folder, fetched or added by hand, or None."""
    for place in FOLDERS:
        here = folder / place
        if (file_name := _files_by_name(here).get(name)) is not None and (here / file_name).exists():
            return here / file_name
        # A folder with its own index uses other file names.
        if "://" in name and (here / base_name(name)).is_file() and not (here / _INDEX).exists():
            return here / base_name(name)
    return None


def _files_by_name(folder: Path) -> dict[str, str]:
    try:
        at = (folder / LIST).stat().st_mtime_ns
    except OSError:
        return {}
    return _read_list(folder / LIST, at)


@lru_cache(maxsize=64)  # `_at`, the file's time, is only part of the cache key
def _read_list(path: Path, _at: int) -> dict[str, str]:
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    return {row["name"]: Path(row["file"]).name for row in rows}


@dataclass
class FetchResult:
    """Counts and failures of one fetch."""

    counts_by_source: Counter[str] = field(default_factory=Counter)
    errors: dict[str, str] = field(default_factory=dict)


@dataclass
class Fetcher:
    """Copies pictures that data refer to into their folder; at most `rate` per second from the web."""

    folder: Path
    rate: float = 2.0
    cache: Path = Path()
    pause: Callable[[float], None] = time.sleep
    _last: float = 0.0

    @property
    def images(self) -> Path:
        """Target folder: `images/`, or `image/` if `images/` has its own index."""
        first, second = (self.folder / name for name in FOLDERS)
        return second if (first / _INDEX).exists() else first

    def bring(self, names: Iterable[str], *, web: bool, step: Step | None = None) -> FetchResult:
        """Fetch missing pictures; failures are reported and tried again by the next call."""
        from fullbench.files.picture_download import FetchError  # imported late: few runs use the web

        result = FetchResult()
        missing = [name for name in dict.fromkeys(names) if not self._has(name)]
        for name in self._from_parquet(missing):
            result.counts_by_source["parquet"] += 1
            missing.remove(name)
        zip_entries = dict(self._zip_entries())
        for place, name in enumerate(missing, 1):
            if step is not None:
                step("brought in", place, len(missing))
            try:
                source, data = self._find(name, zip_entries, web=web)
            except (FetchError, InputError, OSError) as error:
                result.errors[name] = str(error)
                continue
            if recognise_type(data) is None:
                result.errors[name] = "what came is no picture, video, recording or PDF file"
                continue
            self._keep(name, source, data)
            result.counts_by_source[source.partition(":")[0]] += 1
        return result

    def _has(self, name: str) -> bool:
        copy = copy_of(self.folder, name)
        if copy is None:
            return "://" not in name and (self.folder / name).is_file()
        listed_digest = self._listed_digests().get(copy.name)
        return listed_digest is None or sha256(copy.read_bytes()).hexdigest() == listed_digest

    def _listed_digests(self) -> dict[str, str]:
        path = self.images / LIST
        if not path.exists():
            return {}
        rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
        return {row["file"]: row["digest"] for row in rows}

    def _find(self, name: str, zip_entries: dict[str, _ZipEntry], *, web: bool) -> tuple[str, bytes]:
        from fullbench.files.picture_download import FetchError, fetch_picture

        if (unpack := zip_entries.get(base_name(name))) is not None:
            return unpack()
        if "://" not in name:
            raise FetchError("it is in no zip or Parquet file of the folder, and is not a web address")
        if not web:
            raise FetchError("it is on the web; add --web to download it")
        wait = self._last + 1 / self.rate - time.monotonic()
        if wait > 0:
            self.pause(wait)
        self._last = time.monotonic()
        return f"web:{name}", fetch_picture(name, self.cache).read_bytes()

    def _from_parquet(self, names: Iterable[str]) -> Iterator[str]:
        """Store the named pictures that Parquet files of the folder contain, as Hugging Face data sets do."""
        names_by_base = {base_name(name): name for name in names}
        for path in sorted(self.folder.glob("*.parquet")) if names_by_base else ():
            for number, cell in _picture_cells(path):
                name = names_by_base.pop(base_name(str(cell["path"])), None) if cell.get("path") else None
                if name is not None and recognise_type(bytes(cell["bytes"])) is not None:
                    self._keep(name, f"parquet:{path.name}#{number}", bytes(cell["bytes"]))
                    yield name

    def _zip_entries(self) -> Iterator[tuple[str, _ZipEntry]]:
        for path in sorted(self.folder.glob("*.zip")):
            with BoundedArchive(path) as archive:
                names = [member.filename for member in archive.members]
            for entry in names:
                yield base_name(entry), _ZipEntry(path, entry)

    def _keep(self, name: str, source: str, data: bytes) -> None:
        names_by_file = {file: picture_name for picture_name, file in _files_by_name(self.images).items()}
        file = base_name(name)
        if names_by_file.get(file, name) != name:
            file = f"{sha256(name.encode()).hexdigest()[:8]}-{file}"
        self.images.mkdir(parents=True, exist_ok=True)
        with replace_atomically(self.images / file) as part:
            part.write_bytes(data)
        row = {"name": name, "file": file, "digest": sha256(data).hexdigest(), "bytes": len(data), "from": source}
        with (self.images / LIST).open("a", encoding="utf-8") as list_file:
            list_file.write(json.dumps(row, ensure_ascii=False) + "\n")


@dataclass(frozen=True)
class _ZipEntry:
    path: Path
    entry: str

    def __call__(self) -> tuple[str, bytes]:
        with BoundedArchive(self.path) as archive:
            return f"zip:{self.path.name}/{self.entry}", archive.read_member(self.entry)


def _picture_cells(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    _, parquet = pyarrow_for("reading Parquet")
    with parquet.ParquetFile(path) as file:
        columns = [part.name for part in file.schema_arrow if str(part.type).startswith("struct")]
        number = 0
        for batch in file.iter_batches(batch_size=16, columns=columns) if columns else ():
            for row in batch.to_pylist():
                for cell in row.values():
                    if isinstance(cell, dict) and isinstance(cell.get("bytes"), bytes):
                        yield number, cell
                number += 1
