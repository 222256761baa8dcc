"""Pictures beside the ledger, each in a file named by the digest of its bytes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from fullbench.core.errors import LedgerError
from fullbench.core.pictures import Picture


class PictureFolder:
    """`NAME.pictures/ab/abcdef...`: written whole or not at all, checked against the digest when read."""

    def __init__(self, ledger: Path) -> None:
        self.folder = ledger.with_name(ledger.name + ".pictures")

    def path(self, digest: str) -> Path:
        return self.folder / digest[:2] / digest

    def keep(self, picture: Picture) -> None:
        """Copy the picture's bytes in, unless they are there already."""
        path = self.path(picture.digest)
        if path.exists():
            return
        data = picture.data()
        part = path.with_name(f"{picture.digest}.{os.getpid()}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise LedgerError(
                f"{self.folder}: a picture cannot be kept ({error.strerror}); what is in the ledger stays: "
                "mend that and run again to go on"
            ) from error

    def damaged(self) -> Iterator[str]:
        """One sentence for each file whose bytes are not those its name promises."""
        if not self.folder.is_dir():
            return
        for path in sorted(self.folder.glob("*/*")):
            if path.suffix == ".part":
                continue
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != path.name:
                yield f"the picture {path} does not have the bytes its name promises"
