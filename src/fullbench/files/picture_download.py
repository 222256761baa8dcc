"""Safe download of pictures from URLs in data files, if the user agreed.

The author of the file chose the URL, and this machine can reach more hosts than they can. So the address of every
connection is checked, also after redirects, and private networks are refused. No proxy is used, since a proxy would
connect to addresses that we cannot check. Downloads are stored in the user's cache with their digest. A second run
reads them from there, so it uses the same picture even if the server has changed it.
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
from fullbench.files.row_writers import replace_atomically

SCHEMES = {"http": 80, "https": 443}
# Image hosts use one or two; a loop has no end.
REDIRECTS = 5
TRIES = 3
PAUSE = 0.5
CONNECT_SECONDS = 10.0
WHOLE_SECONDS = 120.0
"""Maximum seconds per picture; a server that sends a byte now and then would block us forever."""
CHUNK = 65_536
ACCEPTED = "image/*, video/*, audio/*, application/pdf"
PLAIN = "/%?&=+,;:@!$'()*~-._[]"
"""Characters of a path that are sent unchanged; other letters are percent-encoded."""
REDIRECT_CODES = frozenset({301, 302, 303, 307, 308})
RETRY_CODES = frozenset({429, 500, 502, 503, 504})
_HIDING = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
"""IPv6 prefixes of translators (NAT64), which lead to any IPv4 address, including private ones."""


class FetchError(Exception):
    """Reason why a URL gave no picture, worded to follow a colon."""


class _TransientFetchError(FetchError):
    """A reason that may be gone at the next attempt."""


def fetch_picture(address: str, folder: Path) -> Path:
    """Return the cached file of a URL in `folder`; download it if necessary."""
    note = folder / f"{hashlib.sha256(address.encode()).hexdigest()}.json"
    cached_file = _find_cached_file(note, address)
    if cached_file is not None:
        return cached_file
    data = _fetch_with_retries(address)
    digest = hashlib.sha256(data).hexdigest()
    file = folder / digest
    with replace_atomically(file) as part:
        part.write_bytes(data)
    note_content = {"address": address, "digest": digest, "bytes": len(data), "at": time.time()}
    with replace_atomically(note) as part:
        part.write_text(json.dumps(note_content, ensure_ascii=False), encoding="utf-8")
    return file


def _find_cached_file(note: Path, address: str) -> Path | None:
    try:
        note_content = json.loads(note.read_text(encoding="utf-8"))
        file = note.with_name(note_content["digest"])
        same = (
            note_content["address"] == address
            and hashlib.sha256(file.read_bytes()).hexdigest() == note_content["digest"]
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return file if same else None


def _fetch_with_retries(address: str) -> bytes:
    for again in range(TRIES):
        try:
            return _follow_redirects(address)
        except _TransientFetchError:
            if again == TRIES - 1:
                raise
            time.sleep(PAUSE * 2**again)
    raise AssertionError


def _follow_redirects(address: str) -> bytes:
    """Return the content of a URL; every redirect is checked like the first URL."""
    deadline = time.monotonic() + WHOLE_SECONDS
    for _ in range(REDIRECTS + 1):
        parts = _split_address(address)
        try:
            answer = _request_picture(parts, deadline)
        except (OSError, http.client.HTTPException) as error:
            raise _TransientFetchError(f"no answer from {parts.hostname} ({error or type(error).__name__})") from error
        if isinstance(answer, bytes):
            return answer
        target = urljoin(address, answer)
        if parts.scheme == "https" and urlsplit(target).scheme == "http":
            raise FetchError(f"it redirects to {target!r}, which is not encrypted")
        address = target
    raise FetchError(f"it redirects more than {REDIRECTS} times")


def _split_address(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError as error:
        raise FetchError(f"{address!r} is not a valid address ({error})") from error
    if parts.scheme not in SCHEMES:
        raise FetchError(f"{parts.scheme}:// is not supported; use http or https")
    if not parts.hostname or parts.username is not None or parts.password is not None:
        raise FetchError(f"{parts.hostname or 'it'} has a user name, or no host")
    return parts


def _request_picture(parts: SplitResult, deadline: float) -> bytes | str:
    """Return the whole body, or the URL of a redirect."""
    host, port = parts.hostname or "", parts.port or SCHEMES[parts.scheme]
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    host_text = f"[{host}]" if ":" in host else host
    host_header = host_text if parts.port is None else f"{host_text}:{parts.port}"
    headers = {"Host": host_header, "Accept": ACCEPTED, "Accept-Encoding": "identity", "User-Agent": "fullbench"}
    connection = http.client.HTTPConnection(host, port)
    with _connect_public(host, port) as plain, _wrap_tls(plain, parts.scheme, host) as line, closing(connection):
        # Our own socket: http.client would resolve the host again, perhaps to a private address.
        connection.sock = line
        connection.request("GET", quote(path, safe=PLAIN), headers=headers)
        with closing(connection.getresponse()) as response:
            if response.status in REDIRECT_CODES:
                return response.headers.get("Location") or ""
            if response.status != 200:
                kind = _TransientFetchError if response.status in RETRY_CODES else FetchError
                raise kind(f"{host} answered {response.status}")
            if (response.headers.get("Content-Encoding") or "identity") != "identity":
                raise FetchError(f"{host} sent it compressed, although this was not requested")
            return b"".join(_body_chunks(response, line, deadline))


def _wrap_tls(line: socket.socket, scheme: str, host: str) -> socket.socket:
    return ssl.create_default_context().wrap_socket(line, server_hostname=host) if scheme == "https" else line


def _body_chunks(response: http.client.HTTPResponse, line: socket.socket, deadline: float) -> Iterator[bytes]:
    most = f"it has more than {LARGEST // 2**20} MiB, the most that a picture may have"
    if (response.length or 0) > LARGEST:
        raise FetchError(most)
    byte_count = 0
    while chunk := response.read1(CHUNK):
        byte_count += len(chunk)
        if byte_count > LARGEST:
            raise FetchError(most)
        if (left := deadline - time.monotonic()) <= 0:
            raise FetchError(f"it did not arrive within {WHOLE_SECONDS:g} s")
        line.settimeout(min(left, CONNECT_SECONDS))
        yield chunk
    if response.length:
        raise _TransientFetchError("it broke off")


def _connect_public(host: str, port: int) -> socket.socket:
    """Connect to the first address of the host that responds; all of its addresses must be public."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    if not _is_trusted(host, port):
        for *_, place in addresses:
            if not is_public_address(str(place[0])):
                raise FetchError(
                    f"{host} is {place[0]}, an address of a private network, which is not contacted; if it is yours, "
                    f"set FULLBENCH_FETCH_PRIVATE={host}:{port}"
                )
    trouble: OSError | None = None
    for family, kind, protocol, _, place in addresses:
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


def _is_trusted(host: str, port: int) -> bool:
    """True if the user listed this host, as HOST or HOST:PORT, separated by commas."""
    trusted_hosts = os.environ.get("FULLBENCH_FETCH_PRIVATE", "").lower().split(",")
    return bool({host.lower(), f"{host.lower()}:{port}"} & {name.strip() for name in trusted_hosts if name.strip()})


def is_public_address(address: str) -> bool:
    """True for a public address: no private network, no loopback, no IPv6 form of one.

    >>> (is_public_address("93.184.216.34"), is_public_address("10.0.0.1"), is_public_address("169.254.169.254"),
    ...  is_public_address("::ffff:127.0.0.1"))
    (True, False, False, False)
    """
    try:
        place = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(place, ipaddress.IPv6Address):
        inner = place.ipv4_mapped or place.sixtofour or (place.teredo[1] if place.teredo else None)
        if inner is not None:
            return is_public_address(str(inner))
        if any(place in network for network in _HIDING):
            return False
    return place.is_global and not place.is_multicast and not place.is_reserved
