"""Pictures that data files name by an address on the web, fetched where the user agreed to it.

Whoever wrote the file chose the address, and this machine can reach more than they can: so the address that is really
connected to is looked at, of every redirect too, and none of a private network is asked. No proxy is used, since one
would do the connecting out of our sight. What was fetched is kept in the user's cache with its digest: a second run
reads it from there, and sees the same picture whatever the server says by then.
"""

from __future__ import annotations

import hashlib
import http.client
import ipaddress
import json
import os
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from fullbench.core.picture import LARGEST
from fullbench.files.writers import replacing

SCHEMES = {"http": 80, "https": 443}
REDIRECTS = 5
TRIES = 3
PAUSE = 0.5
CONNECT_SECONDS = 10.0
WHOLE_SECONDS = 120.0
"""So long may a picture take; a server that sends a byte now and then would keep us for ever."""
CHUNK = 65_536
PLAIN = "/%?&=+,;:@!$'()*~-._[]"
"""Characters of a path that stay as they are; letters of other alphabets are sent by their bytes."""
MOVED = frozenset({301, 302, 303, 307, 308})
PASSING = frozenset({429, 500, 502, 503, 504})
_HIDING = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
"""Ways from IPv6 to any IPv4 address behind a translator, the private ones among them."""


class Unfetched(Exception):
    """Why an address gave no picture, in words that fit after a colon."""


class _Passing(Unfetched):
    """A reason that may be gone at the next try."""


def fetched(address: str, folder: Path) -> Path:
    """The file in `folder` that holds what the address gave, fetched where it is not there yet."""
    note = folder / f"{hashlib.sha256(address.encode()).hexdigest()}.json"
    known = _known(note, address)
    if known is not None:
        return known
    data = _patiently(address)
    digest = hashlib.sha256(data).hexdigest()
    file = folder / digest
    with replacing(file) as part:
        part.write_bytes(data)
    said = {"address": address, "digest": digest, "bytes": len(data), "at": time.time()}
    with replacing(note) as part:
        part.write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")
    return file


def _known(note: Path, address: str) -> Path | None:
    """The file that was kept for an address, where it still holds what it held then."""
    try:
        said = json.loads(note.read_text(encoding="utf-8"))
        file = note.with_name(said["digest"])
        same = said["address"] == address and hashlib.sha256(file.read_bytes()).hexdigest() == said["digest"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return file if same else None


def _patiently(address: str) -> bytes:
    for again in range(TRIES):
        try:
            return _followed(address)
        except _Passing:
            if again == TRIES - 1:
                raise
            time.sleep(PAUSE * 2**again)
    raise AssertionError


def _followed(address: str) -> bytes:
    """What the address gives, redirects followed; each step is looked at as the first one was."""
    deadline = time.monotonic() + WHOLE_SECONDS
    for _ in range(REDIRECTS + 1):
        parts = _split(address)
        try:
            answer = _asked(parts, deadline)
        except (OSError, http.client.HTTPException) as error:
            raise _Passing(f"no answer from {parts.hostname} ({error or type(error).__name__})") from error
        if isinstance(answer, bytes):
            return answer
        target = urljoin(address, answer)
        if parts.scheme == "https" and urlsplit(target).scheme == "http":
            raise Unfetched(f"it leads on to {target!r}, which is not encrypted")
        address = target
    raise Unfetched(f"it leads on more than {REDIRECTS} times")


def _split(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError as error:
        raise Unfetched(f"{address!r} is no address ({error})") from error
    if parts.scheme not in SCHEMES:
        raise Unfetched(f"{parts.scheme}:// is not fetched from; http and https are")
    if not parts.hostname or parts.username is not None or parts.password is not None:
        raise Unfetched(f"{parts.hostname or 'it'} is named with a user, or not at all")
    return parts


def _asked(parts: SplitResult, deadline: float) -> bytes | str:
    """The whole body, or the address that it leads on to."""
    host, port = parts.hostname or "", parts.port or SCHEMES[parts.scheme]
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    shown = f"[{host}]" if ":" in host else host
    named = shown if parts.port is None else f"{shown}:{parts.port}"
    headers = {"Host": named, "Accept": "image/*", "Accept-Encoding": "identity", "User-Agent": "fullbench"}
    connection = http.client.HTTPConnection(host, port)
    with _connected(host, port) as plain, _wrapped(plain, parts.scheme, host) as line, closing(connection):
        connection.sock = line
        connection.request("GET", quote(path, safe=PLAIN), headers=headers)
        with closing(connection.getresponse()) as response:
            if response.status in MOVED:
                return response.headers.get("Location") or ""
            if response.status != 200:
                kind = _Passing if response.status in PASSING else Unfetched
                raise kind(f"{host} answered {response.status}")
            if (response.headers.get("Content-Encoding") or "identity") != "identity":
                raise Unfetched(f"{host} sent it packed, though it was asked not to")
            return b"".join(_chunks(response, line, deadline))


def _wrapped(line: socket.socket, scheme: str, host: str) -> socket.socket:
    return ssl.create_default_context().wrap_socket(line, server_hostname=host) if scheme == "https" else line


def _chunks(response: http.client.HTTPResponse, line: socket.socket, deadline: float) -> Iterator[bytes]:
    most = f"it has more than {LARGEST // 2**20} MiB, the most that a picture may have"
    if (response.length or 0) > LARGEST:
        raise Unfetched(most)
    taken = 0
    while chunk := response.read1(CHUNK):
        taken += len(chunk)
        if taken > LARGEST:
            raise Unfetched(most)
        if (left := deadline - time.monotonic()) <= 0:
            raise Unfetched(f"it did not come within {WHOLE_SECONDS:g} s")
        line.settimeout(min(left, CONNECT_SECONDS))
        yield chunk
    if response.length:
        raise _Passing("it broke off")


def _connected(host: str, port: int) -> socket.socket:
    """A connection to the first address of the host that answers; all of them must be public."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    if not _trusted(host, port):
        for *_, place in found:
            if not public(str(place[0])):
                raise Unfetched(
                    f"{host} is {place[0]}, an address of a private network, which files may not name; where it is "
                    f"yours, set FULLBENCH_FETCH_PRIVATE={host}:{port}"
                )
    trouble: OSError | None = None
    for family, kind, protocol, _, place in found:
        connection = socket.socket(family, kind, protocol)
        connection.settimeout(CONNECT_SECONDS)
        try:
            connection.connect(place)
        except OSError as error:
            connection.close()
            trouble = error
            continue
        return connection
    raise trouble or OSError("it has no address")


def _trusted(host: str, port: int) -> bool:
    """Whether the user named this host as one of theirs, as HOST or HOST:PORT, several parted by commas."""
    named = os.environ.get("FULLBENCH_FETCH_PRIVATE", "").lower().split(",")
    return bool({host.lower(), f"{host.lower()}:{port}"} & {name.strip() for name in named if name.strip()})


def public(address: str) -> bool:
    """Whether an address is anybody's to ask: of no private network, no loopback, no way around to one.

    >>> public("93.184.216.34"), public("10.0.0.1"), public("169.254.169.254"), public("::ffff:127.0.0.1")
    (True, False, False, False)
    """
    try:
        place = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(place, ipaddress.IPv6Address):
        inner = place.ipv4_mapped or place.sixtofour or (place.teredo[1] if place.teredo else None)
        if inner is not None:
            return public(str(inner))
        if any(place in network for network in _HIDING):
            return False
    return place.is_global and not place.is_multicast and not place.is_reserved
