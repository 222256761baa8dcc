"""What a running web app is told at its start."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from ipaddress import ip_address
from pathlib import Path

from fullbench.errors import InputError

VARIABLE = "FULLBENCH_WEB"
"""The environment variable by which `fullbench serve` hands the settings to its workers."""

TASK_LIMIT = 200_000
"""Number of tasks that a study may have, unless the site chooses another."""

HOUR = 3600.0
DAY = 24 * HOUR


def _everywhere(host: str) -> bool:
    """Whether this listens on all addresses of the machine."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


@dataclass(frozen=True)
class Settings:
    """Everything that can be chosen; times are in seconds, sizes in bytes."""

    database: str
    """URL of the database of accounts and votes: `sqlite:///FILE` or `postgresql://...`."""
    ledger: str | None = None
    """Path or URL of the ledger that is shown and that people's verdicts go to."""
    data: Path = Path("fullbench-web")
    """Folder of uploaded pictures."""
    title: str = ""
    """The name of the site in place of its imprint's; `fullbench` where neither has one."""
    secret: str = ""
    """Signs tokens of forms; where empty, one is drawn at the first start and kept in the database."""
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    https: bool = False
    """Whether people reach the app by https: cookies are then sent over https only."""
    public: bool = False
    """Whether results can be read without an account."""
    proxies: str = "127.0.0.1"
    """Addresses of reverse proxies whose word about the client's address is taken, separated by commas."""
    idle: float = 12 * HOUR
    """A session ends after this long without a request."""
    lasting: float = 14 * DAY
    """A session ends this long after signing in, whatever happens."""
    body_limit: int = 24 * 1024 * 1024
    picture_limit: int = 20 * 1024 * 1024
    parcel_limit: int = 16 * 1024**3
    """How large the files of one study may be that are sent in pieces, packed and unpacked."""
    pixel_limit: int = 64_000_000
    task_limit: int = TASK_LIMIT
    """Number of tasks that one study may have."""
    url: str = ""
    """The address by which people reach the site, where a proxy stands before it."""
    names: str = ""
    """The file of names that pages show judges and contestants by, and of the site's imprint; none where empty."""

    @property
    def base(self) -> str:
        """The address to open."""
        if self.url:
            return self.url.rstrip("/")
        # Nobody can open the address that stands for all of a machine's; its name they can.
        host = socket.gethostname() if _everywhere(self.host) else self.host
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}"

    def to_environment(self) -> None:
        """Leave the settings for worker processes."""
        os.environ[VARIABLE] = json.dumps({**asdict(self), "data": str(self.data)})

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """The settings that `to_environment` left."""
        text = environment.get(VARIABLE)
        if not text:
            raise InputError(f"{VARIABLE} is not set: start the web app by `fullbench serve`")
        values = json.loads(text)
        return cls(**{**values, "data": Path(values["data"])})
