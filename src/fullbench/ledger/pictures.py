"""Pictures beside the ledger, each in a file named by the digest of its bytes."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from fullbench.core.errors import LedgerError
from fullbench.core.pictures import Picture


class PictureFolder:
    """`NAME.pictures/ab/abcdef...`: written whole or not at all, checked against the digest when read."""

    def __init__(self, ledger: Path, *, sync: bool = False) -> None:
        """With `sync`, wait for the disk after every picture."""
        self._sync = sync
        self.folder = ledger.with_name(ledger.name + ".pictures")

    def path(self, digest: str) -> Path:
        return self.folder / digest[:2] / digest

    def keep(self, picture: Picture) -> None:
        """Copy the picture's bytes in, unless they are there already."""
        path = self.path(picture.digest)
        if path.exists() and path.stat().st_size:
            return
        data = picture.data()
        part = path.with_name(f"{picture.digest}.{secrets.token_hex(4)}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                file.write(data)
                if self._sync:
                    file.flush()
                    os.fsync(file.fileno())
            part.replace(path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise LedgerError(
                f"{self.folder}: a picture cannot be kept ({error.strerror}); what is in the ledger stays: "
                "mend that and run again to go on"
            ) from error
