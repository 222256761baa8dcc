"""A real Ray cluster on this machine: every node is a process group of its own, so that it can be ended alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from tests.support.network_namespaces import Machine
from tests.support.ports import free_port

HERE = "127.0.0.1"
MEMORY = 80_000_000
PATIENCE = 240.0
QUICK = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 500, "health_check_failure_threshold": 4}
"""A dead machine is noticed after two seconds instead of fifteen."""


def installed() -> bool:
    return find_spec("ray") is not None


SETTINGS = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "5" * 32, "RAY_USAGE_STATS_ENABLED": "0"}
"""A token of the tests' own, and no telemetry."""
os.environ.update(SETTINGS)  # Ray reads them when it is first imported, by whichever test


def environment() -> dict[str, str]:
    """What the processes of a cluster and its drivers need: these settings, and this environment's programs."""
    return {**SETTINGS, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


class RayNode:
    """One node: the processes that `ray start` made, and the workers they made."""

    def __init__(self, folder: Path, *options: str, address: str = HERE, machine: Machine | None = None) -> None:
        self._log = folder / f"node-{time.monotonic_ns()}.log"
        command = [
            str(Path(sys.executable).parent / "ray"),
            "start",
            "--block",
            "--disable-usage-stats",
            "--num-cpus=2",
        ]
        address = address if machine is None else machine.address
        command += [f"--node-ip-address={address}", f"--object-store-memory={MEMORY}", *options]
        if machine is not None:
            command = machine.command(*command)
        self._command, self._folder = command, folder
        self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        with self._log.open("w") as log:
            return subprocess.Popen(
                self._command, cwd=self._folder, env={**os.environ, **environment()}, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def wait(self) -> None:
        """Wait until it has joined. Ray gives a node thirty seconds to start, too few on a busy machine: then again."""
        until = time.monotonic() + PATIENCE
        while "Ray runtime started" not in self._log.read_text():
            if time.monotonic() > until:
                raise AssertionError(f"a Ray node did not start:\n{self._log.read_text()}")
            if self._process.poll() is not None:
                self.kill()
                self._process = self._started()
            time.sleep(0.1)

    def processes(self) -> dict[int, bytes]:
        """All processes of this node, with their titles. Workers have groups of their own, but share the session."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if os.getsid(int(folder.name)) == self._process.pid:
                    found[int(folder.name)] = (folder / "cmdline").read_bytes()
            except OSError:
                continue
        return found

    def workers(self) -> list[int]:
        """The processes in which our workers run."""
        return [pid for pid, title in self.processes().items() if title.startswith(b"ray::Remote")]

    def kill(self) -> None:
        """kill -9, the node and all of its workers at once."""
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()


class RayCluster:
    """A head and some more nodes; ends with the `with`."""

    def __init__(self, nodes: int = 2, *options: str, host: str = HERE) -> None:
        self._count, self._options, self._host = nodes, options, host
        self.folder = Path(tempfile.mkdtemp(prefix="fb", dir="/tmp"))
        self.address = f"{host}:{free_port()}"
        self.client = f"{host}:{free_port()}"
        self.nodes: list[RayNode] = []

    def __enter__(self) -> RayCluster:
        port, client = self.address.rpartition(":")[2], self.client.rpartition(":")[2]
        head = ["--head", f"--port={port}", f"--ray-client-server-port={client}", "--include-dashboard=false"]
        head.append(f"--system-config={json.dumps(QUICK)}")
        try:
            head.append(f"--temp-dir={self.folder}")
            self.nodes = [RayNode(self.folder, *head, *self._options, address=self._host)]
            for _ in range(1, self._count):
                self.add()
            for node in self.nodes:
                node.wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def add(self, machine: Machine | None = None) -> RayNode:
        """One more node, on a machine of its own where there is one; it joins in a while."""
        self.nodes.append(RayNode(self.folder, f"--address={self.address}", address=self._host, machine=machine))
        return self.nodes[-1]

    def __exit__(self, *rest: object) -> None:
        for node in reversed(self.nodes):
            node.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
