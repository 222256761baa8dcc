"""Ed25519 signatures of ledger digests, which reveal a chain that was rewritten completely.

A signature covers the ledger's identity, its ledger digest and the time. It is stored in the ledger and as a line of a
file next to it (`LEDGER.signatures`). Anyone who removes the end of a ledger removes the signature there too. A copy of
the file kept elsewhere reveals that.
"""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fullbench.errors import InputError, require_extra
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.integrity import row_chain
from fullbench.ledger.integrity.row_chain import LedgerDigest

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


KIND = "ed25519:"


@dataclass(frozen=True)
class Signature:
    """Signed statement that a ledger had a certain digest at a certain time."""

    ledger: str
    digest: str
    key: str
    signature: str
    at: float

    @property
    def message(self) -> bytes:
        """Bytes that are signed."""
        return f"fullbench ledger digest\n{self.ledger}\n{self.digest}\n{self.at:.3f}\n".encode()

    @property
    def when(self) -> str:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.at))


def make_key(path: Path) -> Path:
    """Create a key at `path`, readable only by its owner, and its public half next to it; never replace one."""
    with require_extra("signing a ledger", "sign"):
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
        raise InputError(f"{path}: no key can be written here ({error.strerror}); choose another file") from error
    return half


def private_key(path: Path) -> Ed25519PrivateKey:
    """Read a private key: PEM or OpenSSH format, without a passphrase."""
    with require_extra("signing a ledger", "sign"):
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    data = _read_bytes(path)
    load = serialization.load_ssh_private_key if b"OPENSSH" in data else serialization.load_pem_private_key
    try:
        key = load(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _key_error(path, "private", error) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _key_error(path, "private", "it is of another kind")
    return key


def public_key(path: Path) -> Ed25519PublicKey:
    """Read a public key: PEM or an OpenSSH line."""
    with require_extra("signing a ledger", "sign"):
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    data = _read_bytes(path)
    if b"PRIVATE KEY" in data:
        return private_key(path).public_key()
    load = serialization.load_ssh_public_key if data.startswith(b"ssh-") else serialization.load_pem_public_key
    try:
        key = load(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _key_error(path, "public", error) from error
    if not isinstance(key, Ed25519PublicKey):
        raise _key_error(path, "public", "it is of another kind")
    return key


def name_of(key: Ed25519PublicKey) -> str:
    """Return the text of a key as stored in a ledger."""
    return KIND + base64.b64encode(key.public_bytes_raw()).decode()


def sign_digest(identity: str, digest: LedgerDigest, key: Ed25519PrivateKey) -> Signature:
    """Sign the digest of the ledger with this identity."""
    draft = Signature(identity, str(digest), name_of(key.public_key()), "", round(time.time(), 3))
    return Signature(**{**asdict(draft), "signature": base64.b64encode(key.sign(draft.message)).decode()})


def signature_file_path(ledger: Path) -> Path:
    """Return the signature file next to a ledger."""
    return ledger.with_name(ledger.name + ".signatures")


def append_signature(signature: Signature, path: Path) -> None:
    """Append a signature to a file."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(signature)) + "\n")
    except OSError as error:
        raise InputError(
            f"{path}: the signature cannot be written here ({error.strerror}); choose another file"
        ) from error


def read_signatures(path: Path) -> list[Signature]:
    """Read the signatures of a file."""
    signatures = []
    for number, line in enumerate(_read_bytes(path).decode("utf-8", "replace").splitlines(), 1):
        try:
            signatures.append(Signature(**json.loads(line)))
        except (ValueError, TypeError) as error:
            raise InputError(f"this is not a signature of a ledger ({error})", path=path, line=number) from error
    return signatures


def stored_signatures(reader: Connection, identity: str) -> list[Signature]:
    """Return the signatures stored in a ledger."""
    rows = reader.execute("SELECT digest, key, signature, at FROM signatures ORDER BY rowid")
    return [Signature(identity, *row) for row in rows]


def find_signature_problems(
    reader: Connection, identity: str, key: Ed25519PublicKey, file_signatures: Iterable[Signature]
) -> Iterator[str]:
    """Yield the problems of a key's signatures; also if there is none, since then nothing is proven."""
    by_key = [
        signature
        for signature in dict.fromkeys((*stored_signatures(reader, identity), *file_signatures))
        if signature.key == name_of(key)
    ]
    if not by_key:
        yield f"no digest is signed by the key {name_of(key)}: nothing is proven"
    digests = dict(
        row_chain.ledger_digests(reader, {LedgerDigest.from_text(signature.digest).commits for signature in by_key})
    )
    commits = max(digests, default=0)
    for signature in by_key:
        signed_digest = LedgerDigest.from_text(signature.digest)
        if not is_valid_signature(signature, key):
            yield f"the signature of {signature.when} on digest {signed_digest} does not fit the key: it was made up"
        elif signature.ledger != identity:
            yield f"the digest {signed_digest} was signed for another ledger ({signature.ledger}, this is {identity})"
        elif signed_digest.commits not in digests:
            yield (
                f"the digest {signed_digest} was signed at {signature.when}, and the ledger has {commits} "
                "commits, fewer than its "
                f"{signed_digest.commits}: the end of the ledger, or a whole writer, is missing"
            )
        elif digests[signed_digest.commits] != signed_digest:
            yield (
                f"the digest {signed_digest} was signed at {signature.when}, and after as many commits the ledger's is "
                f"{digests[signed_digest.commits]}: something was rewritten, put in or taken out since"
            )


def is_valid_signature(signature: Signature, key: Ed25519PublicKey) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(base64.b64decode(signature.signature), signature.message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror})", path=path) from error


def _key_error(path: Path, half: str, why: object) -> InputError:
    reason = str(why).partition(". See ")[0]  # the rest is advice for programmers
    return InputError(
        f"this is not a {half} Ed25519 key without a passphrase ({reason}); `fullbench ledger sign --new` creates one",
        path=path,
    )
