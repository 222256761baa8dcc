"""Which golden files there are, and what makes each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.golden import keys, names, reproduced, requests, samples, surface

FILES = Path(__file__).parent / "files"


@dataclass(frozen=True)
class Golden:
    """One file. `make` is given an empty folder to work in and gives the file's text."""

    make: Callable[[Path], str]
    slow: bool = False
    data: Path | None = None
    """The folder outside the project that it is computed from."""

    @property
    def lacks(self) -> str:
        """Why it cannot be computed here; empty where it can."""
        return f"the released data are not at {self.data}" if self.data is not None and not self.data.is_dir() else ""


def _goldens() -> dict[str, Golden]:
    found = {
        "names.json": Golden(names.names),
        "keys.json": Golden(keys.keys),
        "requests.json": Golden(requests.requests),
        "help.txt": Golden(surface.help_texts),
        "list.json": Golden(surface.listed),
        "openapi.json": Golden(surface.web_api),
        "demo.json": Golden(samples.demo),
        "synthetic-wide-own-judges.json": Golden(partial(samples.own_bench, benchmark="synthetic-wide"), slow=True),
    }
    for name in samples.STUDIES:
        found[f"sample-{name}.json"] = Golden(partial(samples.sample, benchmark=name))
    for name in reproduced.NAMES:
        found[f"reproduce-{name}.json"] = Golden(partial(reproduced.reproduced, name=name), data=reproduced.DATA / name)
    for name in reproduced.LATER:
        made = partial(reproduced.record, name=name)
        found[f"record-{name}.json"] = Golden(made, slow=True, data=reproduced.DATA / name)
    return found


GOLDENS: Mapping[str, Golden] = _goldens()
