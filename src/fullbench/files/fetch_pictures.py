"""Pictures that data name brought into the data's own folder: from the web, out of zips, out of Parquet files.

They go to `images/` beside the data, and `images/pictures.jsonl` says of each where it came from and what its digest
is. Whoever reads the data afterwards finds them there, whatever the address says by then.
"""

from __future__ import annotations

import json
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from fullbench.core.picture import media_type
from fullbench.errors import InputError
from fullbench.files.readers import pyarrow_for
from fullbench.files.writers import replacing

Step = Callable[[str, int, int], None]
LIST = "pictures.jsonl"
FOLDERS = ("images", "image")
_INDEX = "index.jsonl"


def base_name(name: str) -> str:
    """The file's name in an address or a path.

    >>> base_name("https://example.org/a/b%20c.png?x=1"), base_name("image/7.jpg")
    ('b c.png', '7.jpg')
    """
    path = unquote(urlsplit(name).path) if "://" in name else name
    return Path(path).name or sha256(name.encode()).hexdigest()[:16]


def copy_of(folder: Path, name: str) -> Path | None:
    """Where the picture of a name or address lies in a data folder, fetched or put there by hand; None if nowhere."""
    for place in FOLDERS:
        here = folder / place
        if (noted := _listed(here).get(name)) is not None and (here / noted).exists():
            return here / noted
        # A folder with an index of its own numbers its pictures otherwise.
        if "://" in name and (here / base_name(name)).is_file() and not (here / _INDEX).exists():
            return here / base_name(name)
    return None


def _listed(folder: Path) -> dict[str, str]:
    try:
        at = (folder / LIST).stat().st_mtime_ns
    except OSError:
        return {}
    return _read_list(folder / LIST, at)


@lru_cache(maxsize=64)
def _read_list(path: Path, _at: int) -> dict[str, str]:
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    return {row["name"]: Path(row["file"]).name for row in rows}


@dataclass
class Fetched:
    """What came of bringing pictures in."""

    wanted: int = 0
    there: int = 0
    brought: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)


@dataclass
class Fetcher:
    """Brings the pictures that data name into their folder, at most `rate` a second from the web."""

    folder: Path
    rate: float = 2.0
    cache: Path = Path()
    pause: Callable[[float], None] = time.sleep
    _last: float = 0.0

    @property
    def images(self) -> Path:
        """Where they go: `images/`, unless that is a folder with an index of its own."""
        first, second = (self.folder / name for name in FOLDERS)
        return second if (first / _INDEX).exists() else first

    def bring(self, names: Iterable[str], *, web: bool, step: Step | None = None) -> Fetched:
        """Bring in what is not there yet; what fails is told, and is due again at the next call."""
        from fullbench.files.picture_urls import Unfetched  # late: few runs need what speaks to the web

        done = Fetched()
        wanted = list(dict.fromkeys(names))
        missing = [name for name in wanted if not self._has(name)]
        done.wanted, done.there = len(wanted), len(wanted) - len(missing)
        for name in self._from_parquet(missing):
            done.brought["parquet"] += 1
            missing.remove(name)
        packed = dict(self._zipped())
        for place, name in enumerate(missing, 1):
            if step is not None:
                step("brought in", place, len(missing))
            try:
                source, data = self._find(name, packed, web=web)
            except (Unfetched, InputError, OSError, zipfile.BadZipFile) as error:
                done.failed[name] = str(error)
                continue
            if media_type(data) is None:
                done.failed[name] = "what came is no picture"
                continue
            self._keep(name, source, data)
            done.brought[source.partition(":")[0]] += 1
        return done

    def _has(self, name: str) -> bool:
        """Whether a picture is there and holds what the list says."""
        copy = copy_of(self.folder, name)
        if copy is None:
            return "://" not in name and (self.folder / name).is_file()
        noted = self._noted().get(copy.name)
        return noted is None or sha256(copy.read_bytes()).hexdigest() == noted

    def _noted(self) -> dict[str, str]:
        path = self.images / LIST
        if not path.exists():
            return {}
        rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
        return {row["file"]: row["digest"] for row in rows}

    def _find(self, name: str, packed: dict[str, _Zipped], *, web: bool) -> tuple[str, bytes]:
        from fullbench.files.picture_urls import Unfetched, fetched

        if (unpack := packed.get(base_name(name))) is not None:
            return unpack()
        if "://" not in name:
            raise Unfetched("it is in no zip or Parquet file of the folder, and it is no address")
        if not web:
            raise Unfetched("it is on the web; --web fetches it")
        wait = self._last + 1 / self.rate - time.monotonic()
        if wait > 0:
            self.pause(wait)
        self._last = time.monotonic()
        return f"web:{name}", fetched(name, self.cache).read_bytes()

    def _from_parquet(self, names: Iterable[str]) -> Iterator[str]:
        """Keep those of the names that Parquet files of the folder hold, as the hub's data sets do."""
        wanted = {base_name(name): name for name in names}
        for path in sorted(self.folder.glob("*.parquet")) if wanted else ():
            for number, cell in _cells(path):
                name = wanted.pop(base_name(str(cell["path"])), None) if cell.get("path") else None
                if name is not None and media_type(bytes(cell["bytes"])) is not None:
                    self._keep(name, f"parquet:{path.name}#{number}", bytes(cell["bytes"]))
                    yield name

    def _zipped(self) -> Iterator[tuple[str, _Zipped]]:
        """The pictures in zips of the folder, by file name."""
        for path in sorted(self.folder.glob("*.zip")):
            with zipfile.ZipFile(path) as archive:
                names = [entry for entry in archive.namelist() if not entry.endswith("/")]
            for entry in names:
                yield base_name(entry), _Zipped(path, entry)

    def _keep(self, name: str, source: str, data: bytes) -> None:
        claimed = {file: known for known, file in _listed(self.images).items()}
        file = base_name(name)
        if claimed.get(file, name) != name:
            file = f"{sha256(name.encode()).hexdigest()[:8]}-{file}"
        self.images.mkdir(parents=True, exist_ok=True)
        with replacing(self.images / file) as part:
            part.write_bytes(data)
        row = {"name": name, "file": file, "digest": sha256(data).hexdigest(), "bytes": len(data), "from": source}
        with (self.images / LIST).open("a", encoding="utf-8") as listed:
            listed.write(json.dumps(row, ensure_ascii=False) + "\n")


@dataclass(frozen=True)
class _Zipped:
    """A picture in a zip."""

    path: Path
    entry: str

    def __call__(self) -> tuple[str, bytes]:
        with zipfile.ZipFile(self.path) as archive:
            return f"zip:{self.path.name}/{self.entry}", archive.read(self.entry)


def _cells(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The pictures in a Parquet file, with the numbers of their rows; a few rows are in memory at a time."""
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
