"""Random ids, and digests under which secrets are kept: who reads the database learns no link, cookie or token."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from sqlalchemy import Connection, delete, insert, select

from fullbench.web.accounts.account_tables import site

ADDRESS = "address"


def new_id() -> str:
    """A name for a row that nobody can guess."""
    return secrets.token_hex(8)


def new_secret() -> str:
    """What opens a door: 256 random bits, fit for a URL or a header."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """What is kept of a secret. The secret is random and long, so a plain hash is enough."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def signed(key: bytes, *parts: str) -> str:
    """A signature of some words that only this site can make."""
    return hmac.new(key, "\0".join(parts).encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def address(connection: Connection) -> str:
    """The address that the site was last started with; nothing where it was never started."""
    return str(connection.execute(select(site.c.value).where(site.c.name == ADDRESS)).scalar_one_or_none() or "")


def set_address(connection: Connection, url: str) -> None:
    """Note the address that the site is started with, for links that are made beside it."""
    connection.execute(delete(site).where(site.c.name == ADDRESS))
    connection.execute(insert(site).values(name=ADDRESS, value=url))


def site_key(connection: Connection, secret: str) -> bytes:
    """The key of this site: made from the secret given, or drawn at the first start and kept."""
    if not secret:
        stored = connection.execute(select(site.c.value).where(site.c.name == "secret")).scalar_one_or_none()
        if stored is None:
            stored = new_secret()
            connection.execute(insert(site).values(name="secret", value=stored))
        secret = str(stored)
    return hashlib.sha256(b"fullbench web\0" + secret.encode()).digest()
