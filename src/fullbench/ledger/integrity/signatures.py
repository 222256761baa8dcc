"""Heads signed by somebody's key (Ed25519), so that a chain that was rewritten as a whole does not verify.

What is signed is the ledger's identity, its head and the time. The signature stands in the ledger, and as a line of a
file beside it (`LEDGER.signatures`): whoever cuts off the end of a ledger cuts off the signature there too, and the
file, kept elsewhere, shows it.
"""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fullbench.errors import InputError, MissingExtra
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.integrity import row_chain
from fullbench.ledger.integrity.row_chain import Head

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


KIND = "ed25519:"


@dataclass(frozen=True)
class Signature:
    """Who said when that a ledger had which head."""

    ledger: str
    head: str
    key: str
    signature: str
    at: float

    @property
    def message(self) -> bytes:
        """What is signed."""
        return f"fullbench ledger head\n{self.ledger}\n{self.head}\n{self.at:.3f}\n".encode()

    @property
    def when(self) -> str:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.at))


def make_key(path: Path) -> Path:
    """Make a key at `path`, readable by its owner alone, and its public half beside it; never replaces one."""
    with _library():
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    half = path.with_name(path.name + ".pub")
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(private)
        half.write_bytes(public)
    except OSError as error:
        raise InputError(f"{path}: no key can be made here ({error.strerror}); name another file") from error
    return half


def private_key(path: Path) -> Ed25519PrivateKey:
    """A private key in a file: PEM, or OpenSSH's form, without a passphrase."""
    with _library():
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    data = _bytes(path)
    load = serialization.load_ssh_private_key if b"OPENSSH" in data else serialization.load_pem_private_key
    try:
        key = load(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _no_key(path, "private", error) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _no_key(path, "private", "it is of another kind")
    return key


def public_key(path: Path) -> Ed25519PublicKey:
    """A public key in a file: PEM, or a line as OpenSSH writes it."""
    with _library():
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    data = _bytes(path)
    if b"PRIVATE KEY" in data:
        return private_key(path).public_key()
    load = serialization.load_ssh_public_key if data.startswith(b"ssh-") else serialization.load_pem_public_key
    try:
        key = load(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _no_key(path, "public", error) from error
    if not isinstance(key, Ed25519PublicKey):
        raise _no_key(path, "public", "it is of another kind")
    return key


def name_of(key: Ed25519PublicKey) -> str:
    """A key as it stands in a ledger."""
    return KIND + base64.b64encode(key.public_bytes_raw()).decode()


def sign(identity: str, head: Head, key: Ed25519PrivateKey) -> Signature:
    """Sign the head of the ledger that has this identity."""
    unsigned = Signature(identity, str(head), name_of(key.public_key()), "", round(time.time(), 3))
    return Signature(**{**asdict(unsigned), "signature": base64.b64encode(key.sign(unsigned.message)).decode()})


def beside(ledger: Path) -> Path:
    """The file of signatures that lies beside a ledger."""
    return ledger.with_name(ledger.name + ".signatures")


def note(signature: Signature, path: Path) -> None:
    """Add a signature to a file."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(signature)) + "\n")
    except OSError as error:
        raise InputError(f"{path}: the signature cannot be written here ({error.strerror}); name another") from error


def noted(path: Path) -> list[Signature]:
    """The signatures of a file."""
    found = []
    for number, line in enumerate(_bytes(path).decode("utf-8", "replace").splitlines(), 1):
        try:
            found.append(Signature(**json.loads(line)))
        except (ValueError, TypeError) as error:
            raise InputError(f"this is no signature of a ledger ({error})", path=path, line=number) from error
    return found


def kept(reader: Connection, identity: str) -> list[Signature]:
    """The signatures that stand in a ledger."""
    rows = reader.execute("SELECT head, key, signature, at FROM signatures ORDER BY rowid")
    return [Signature(identity, *row) for row in rows]


def problems(reader: Connection, identity: str, key: Ed25519PublicKey, elsewhere: Iterable[Signature]) -> Iterator[str]:
    """What the signatures of a key show; where there is none, nothing is proven."""
    by_key = [
        signature for signature in dict.fromkeys((*kept(reader, identity), *elsewhere)) if signature.key == name_of(key)
    ]
    if not by_key:
        yield f"no head is signed by the key {name_of(key)}: nothing is proven"
    heads = dict(row_chain.heads(reader, {Head.read(signature.head).commits for signature in by_key}))
    commits = max(heads, default=0)
    for signature in by_key:
        head = Head.read(signature.head)
        if not valid(signature, key):
            yield f"the signature of {signature.when} on the head {head} does not fit the key: it was made up"
        elif signature.ledger != identity:
            yield f"the head {head} was signed for another ledger ({signature.ledger}, this is {identity})"
        elif head.commits not in heads:
            yield (
                f"the head {head} was signed at {signature.when}, and the ledger has {commits} commits, fewer than its "
                f"{head.commits}: the end of the ledger, or a whole writer, is missing"
            )
        elif heads[head.commits] != head:
            yield (
                f"the head {head} was signed at {signature.when}, and after as many commits the ledger's is "
                f"{heads[head.commits]}: something was rewritten, put in or taken out since"
            )


def valid(signature: Signature, key: Ed25519PublicKey) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(base64.b64decode(signature.signature), signature.message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror})", path=path) from error


def _no_key(path: Path, half: str, why: object) -> InputError:
    reason = str(why).partition(". See ")[0]  # the library's own advice is for those who wrote the key's reader
    return InputError(
        f"this is no {half} Ed25519 key without a passphrase ({reason}); `fullbench ledger sign --new` makes one",
        path=path,
    )


@contextmanager
def _library() -> Iterator[None]:
    """Say which optional part is missing."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra("signing a ledger", "sign") from error
