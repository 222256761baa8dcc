"""Settings of the web app and their transfer to worker processes."""

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
"""Environment variable by which `fullbench serve` passes the settings to its workers."""

TASK_LIMIT = 200_000
"""Default number of tasks that a campaign may have."""

HOUR = 3600.0
DAY = 24 * HOUR


def _is_unspecified_host(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


@dataclass(frozen=True)
class Settings:
    """All settings of the web app. Times are in seconds, sizes in bytes."""

    database: str
    """Database of accounts and votes: `sqlite:///FILE` or `postgresql://...`."""
    ledger: str | None = None
    """Path or URL of the ledger that is shown and that people's verdicts go to."""
    data: Path = Path("fullbench-web")
    """Folder of uploaded pictures."""
    title: str = ""
    """Name of the site instead of its imprint's; `fullbench` if neither has one."""
    secret: str = ""
    """Signs form tokens; if empty, one is drawn at the first start and stored in the database."""
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    https: bool = False
    """Whether people reach the app by https: cookies are then sent over https only."""
    public: bool = False
    """Whether results can be read without an account."""
    proxies: str = "127.0.0.1"
    """Addresses of trusted reverse proxies, separated by commas; they report the client's address."""
    idle: float = 12 * HOUR
    """A session ends after this long without a request."""
    lasting: float = 14 * DAY
    """A session ends this long after signing in, whatever happens."""
    body_limit: int = 24 * 1024 * 1024
    picture_limit: int = 20 * 1024 * 1024
    parcel_limit: int = 16 * 1024**3
    """Maximum size of the uploaded files of one campaign, packed and unpacked."""
    pixel_limit: int = 64_000_000
    task_limit: int = TASK_LIMIT
    url: str = ""
    """Public address of the site if it is behind a proxy."""
    names: str = ""
    """File with display names of judges and contestants, and the site's imprint; empty for none."""
    programs: tuple[str, ...] = ()
    """Specs of judges that may run code on this server."""

    @property
    def base(self) -> str:
        """Return the URL to open."""
        if self.url:
            return self.url.rstrip("/")
        # A browser cannot open 0.0.0.0, but it can open the name of the machine.
        host = socket.gethostname() if _is_unspecified_host(self.host) else self.host
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}"

    def to_environment(self) -> None:
        """Store the settings in the environment for worker processes."""
        os.environ[VARIABLE] = json.dumps({**asdict(self), "data": str(self.data)})

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """Read the settings that `to_environment` stored."""
        text = environment.get(VARIABLE)
        if not text:
            raise InputError(f"{VARIABLE} is not set: start the web app with `fullbench serve`")
        values = json.loads(text)
        return cls(**{**values, "data": Path(values["data"]), "programs": tuple(values.get("programs", ()))})
