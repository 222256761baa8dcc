"""Ports for servers that cannot choose one themselves."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

PORTS = range(20_000, 32_000)
"""Below those that the system gives to connections and to servers that ask for any, and above those of Ray's workers:
between the moment a port is found free and the moment its server takes it, nobody else is given it."""


def free_port() -> int:
    """A port of this machine that nobody listens to."""
    draw = random.SystemRandom()  # tests may have seeded the other one, and several processes look for ports at once
    while True:
        port = draw.choice(PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
