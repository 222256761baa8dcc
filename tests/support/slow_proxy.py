"""A line to a server that takes its time: a proxy on this machine that holds back every byte for a while, each way.

It is a process of its own, so that it takes nothing from the time of the one whose line it is.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def slow_line(port: int, seconds: float) -> Iterator[int]:
    """The port of a proxy to a port of this machine; what goes either way arrives so much later."""
    command = [sys.executable, "-m", "tests.support.slow_proxy", str(port), str(seconds)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


async def serve(port: int, seconds: float) -> None:
    loop = asyncio.get_running_loop()

    async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def arrive(data: bytes) -> None:
            if not writer.is_closing():
                writer.write(data)

        with suppress(OSError):
            while data := await reader.read(1 << 16):
                loop.call_later(seconds, arrive, data)  # in order: each waits as long as the one before
        loop.call_later(seconds, writer.close)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(passed_on(reader, far_writer), passed_on(far_reader, writer))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2])))
