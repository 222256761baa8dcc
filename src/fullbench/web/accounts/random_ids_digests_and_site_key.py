"""Random ids, digests of secrets, and the site's key. The database contains no usable link, cookie or token."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from sqlalchemy import Connection, delete, insert, select

from fullbench.web.accounts.account_and_shared_site_tables import site

ADDRESS = "address"


def new_id() -> str:
    """Return a random row id that cannot be guessed."""
    return secrets.token_hex(8)


def new_secret() -> str:
    """Return 256 random bits as text for a URL or a header."""
    return secrets.token_urlsafe(32)


def secret_digest(secret: str) -> str:
    """Return the SHA-256 of a secret. The secret is random and long, so a plain hash is enough."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def sign_parts(key: bytes, *parts: str) -> str:
    """Return an HMAC of some words that only this site can compute."""
    return hmac.new(key, "\0".join(parts).encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def site_address(connection: Connection) -> str:
    """Return the address that the site was last started with, or an empty string."""
    return str(connection.execute(select(site.c.value).where(site.c.name == ADDRESS)).scalar_one_or_none() or "")


def set_site_address(connection: Connection, url: str) -> None:
    """Store the site's address for links that are created outside the web app."""
    connection.execute(delete(site).where(site.c.name == ADDRESS))
    connection.execute(insert(site).values(name=ADDRESS, value=url))


def site_key(connection: Connection, secret: str) -> bytes:
    """Derive the site's key from the given secret, or from one drawn at the first start and stored."""
    if not secret:
        stored_secret = connection.execute(select(site.c.value).where(site.c.name == "secret")).scalar_one_or_none()
        if stored_secret is None:
            stored_secret = new_secret()
            connection.execute(insert(site).values(name="secret", value=stored_secret))
        secret = str(stored_secret)
    return hashlib.sha256(b"fullbench web\0" + secret.encode()).digest()
