"""A reverse proxy that speaks https, as stands before a real site: in a few lines of Python, and as nginx.

Both are given the address of what they stand before and a certificate for `localhost`; both pass on the host, the
client's address and the scheme, as docs/how-to/web.md says.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import ipaddress
import ssl
import subprocess
import sys
from functools import partial
from pathlib import Path

SITE = """
pid {folder}/nginx.pid;
error_log {folder}/error.log;
daemon off;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {folder}/cert.pem;
        ssl_certificate_key {folder}/key.pem;
{told}
    }}
}}
"""


def certificate(folder: Path) -> ssl.SSLContext:
    """A certificate for this machine, signed by itself; its two files lie in the folder. The context trusts it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    own = x509.SubjectAlternativeName(
        [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    )  # fmt: skip
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(own, critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, *plain))
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return ssl.create_default_context(cafile=folder / "cert.pem")


async def _one(behind: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection, with one request: enough for a test, and nothing is held back."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
        head = await reader.readuntil(b"\r\n\r\n")
        there, onward = await asyncio.open_connection("127.0.0.1", behind)
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        kept = [line for line in lines if not line.lower().startswith(("x-forwarded-", "connection:"))]
        told = [f"X-Forwarded-For: {writer.get_extra_info('peername')[0]}", "X-Forwarded-Proto: https"]
        onward.write("\r\n".join([first, *kept, *told, "Connection: close", "", ""]).encode("latin-1"))
        sending = asyncio.create_task(_pipe(reader, onward))
        await _pipe(there, writer)
        sending.cancel()
        onward.close()
    writer.close()


async def _pipe(source: asyncio.StreamReader, into: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        into.write(data)
        await into.drain()


async def _serve(folder: Path, port: int, behind: int) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    server = await asyncio.start_server(partial(_one, behind), "127.0.0.1", port, ssl=context)
    await server.serve_forever()


def python(folder: Path, port: int, behind: int) -> subprocess.Popen[bytes]:
    """The proxy in Python, in a process of its own."""
    command = [sys.executable, "-m", "tests.support.tls_proxy", str(folder), str(port), str(behind)]
    return subprocess.Popen(command, cwd=Path(__file__).parents[2])


def nginx(program: str, folder: Path, port: int, behind: int) -> subprocess.Popen[bytes]:
    """The real thing, with the lines that docs/how-to/web.md tells people to write."""
    docs = (Path(__file__).parents[2] / "docs" / "how-to" / "web.md").read_text(encoding="utf-8")
    told = docs.split("```text\n")[1].split("```")[0].replace("127.0.0.1:8000", f"127.0.0.1:{behind}")
    assert "proxy_pass" in told
    (folder / "nginx.conf").write_text(SITE.format(folder=folder, port=port, told=told))
    return subprocess.Popen([program, "-p", str(folder), "-c", str(folder / "nginx.conf")])


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
