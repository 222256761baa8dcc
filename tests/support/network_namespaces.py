"""Machines that can lose their power: each has processes and a network of its own, joined to this one by a cable.

They are namespaces of the kernel on this very machine; nothing goes over any other network. Making them takes the
rights of root.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Self

ADDRESS = f"10.203.{os.getpid() % 254 + 1}"
"""Of the network between them; tests that run side by side have networks of their own."""


def possible() -> bool:
    """Whether machines can be made here."""
    if os.geteuid() or not all(map(shutil.which, ("ip", "unshare", "nsenter"))):
        return False
    probe = ["unshare", "--pid", "--net", "ip", "link", "add", "fb0", "type", "bridge"]
    return not subprocess.run(probe, capture_output=True, check=False).returncode


class Network:
    """A switch on this machine, which has the address `host` on it; ends with the `with`."""

    host = f"{ADDRESS}.1"

    def __enter__(self) -> Self:
        self.name = f"fb{os.getpid()}"
        self.machines: list[Machine] = []
        _ip("link", "add", self.name, "type", "bridge")
        _ip("addr", "add", f"{self.host}/24", "dev", self.name)
        _ip("link", "set", self.name, "up")
        return self

    def __exit__(self, *rest: object) -> None:
        for machine in self.machines:
            machine.lose_power()
        _ip("link", "del", self.name)

    def machine(self) -> Machine:
        """One machine more."""
        self.machines.append(Machine(self.name, len(self.machines) + 2))
        return self.machines[-1]


class Machine:
    """One machine on a network: what is started by `command(...)` runs there."""

    def __init__(self, network: str, number: int) -> None:
        self.address = f"{ADDRESS}.{number}"
        self._cable = f"{network}v{number}"
        self._keeper = subprocess.Popen(
            ["unshare", "--pid", "--net", "--fork", "--kill-child", "--mount-proc", "sleep", "infinity"],
            stderr=subprocess.DEVNULL,
        )
        self._first = self._first_process()
        _ip("link", "add", self._cable, "type", "veth", "peer", "name", "eth0", "netns", self._first)
        _ip("link", "set", self._cable, "master", network, "up")
        for words in (
            ("ip", "addr", "add", f"{self.address}/24", "dev", "eth0"), ("ip", "link", "set", "eth0", "up"),
            ("ip", "link", "set", "lo", "up"), ("ip", "route", "add", "default", "via", Network.host),
        ):  # fmt: skip
            subprocess.run(self.command(*words), check=True)

    def _first_process(self) -> str:
        children = Path(f"/proc/{self._keeper.pid}/task/{self._keeper.pid}/children")
        while not (found := children.read_text().split()) or "sleep" not in Path(f"/proc/{found[0]}/comm").read_text():
            assert self._keeper.poll() is None, "a machine could not be made"
            time.sleep(0.01)
        return found[0]

    def command(self, *words: str) -> list[str]:
        """The words of a command that runs there."""
        return ["nsenter", "--target", self._first, "--pid", "--net", "--mount", "--wd=.", "--", *words]

    def received(self) -> int:
        """The bytes that came to it over its cable so far."""
        return int(Path(f"/sys/class/net/{self._cable}/statistics/tx_bytes").read_text())

    def lose_power(self) -> None:
        """Its cable first, so that nobody hears a goodbye; then all of its processes at once."""
        if self._keeper.poll() is None:
            _ip("link", "del", self._cable)
            os.kill(int(self._first), signal.SIGKILL)
            self._keeper.wait()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)
