"""The engine of a cluster: Ray starts workers where there is room, and the run hands them their tasks.

The run itself stays where it was started: it looks up what is due, counts the money and writes the ledger. Each worker
holds a short queue; what it has ruled comes back within a moment and is kept before anything else. When a worker or its
machine dies, what it had not given back is handed to another one: that alone is asked again.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from fullbench.errors import EngineError, MissingExtra
from fullbench.studies.engines.cluster_rate_limits import BEAT, Office
from fullbench.studies.engines.interrupt_handling import Stop
from fullbench.studies.engines.run_jobs import Job, Tally
from fullbench.studies.engines.task_transfer import Shelf
from fullbench.studies.engines.worker_pool import LOOK_AROUND, LOST, Crew, Desk, contract

NAMESPACE = "fullbench"
KNOCK_SECONDS = 5
MISSED = 2
"""A head that cannot be reached so many times in a row is gone."""
JOINS = 4
"""How often a cluster is asked to let a laptop in. Ray starts a process on the head for each, by a fork that gRPC does
not always survive (https://github.com/ray-project/ray/issues/63202): another try is another process."""
_TRIES = 20
_log = logging.getLogger("fullbench")


@dataclass(frozen=True)
class Cluster:
    """Where a cluster is, and how many workers each judge or contestant gets there.

    Without an address Ray is started on this machine and ends with the run. There is one worker on every machine (on
    every GPU for score models), at least `least` in all and `most` at most.
    """

    address: str = ""
    least: int = 1
    most: int = 1_000

    @contextmanager
    def opened(self) -> Iterator[RayEngine]:
        """Join the cluster, or start one, for as long as the run takes."""
        with nullcontext() if self.address else _token_of_its_own():
            ray = _ray()
            run = uuid.uuid4().hex
            with _signals_kept():
                office = _entered(ray, self.address, run)
            desk = Desk(office, run, Shelf(ray.put))
            try:
                try:
                    with _beating(ray, desk):
                        yield RayEngine(ray, desk, self.least, self.most)
                finally:
                    with suppress(*_losses()):
                        if not desk.head_lost and ray.is_initialized() and ray.get(office.close.remote(run)):
                            ray.kill(office)
            finally:
                with _signals_kept():
                    if not desk.head_lost:  # without its head it would wait for that
                        ray.shutdown()


class RayEngine:
    """Asks by way of workers on a cluster."""

    def __init__(self, ray: ModuleType, office: Desk, least: int, most: int) -> None:
        self._ray, self._office = ray, office
        self._least, self._most = least, most

    def sized(self, least: int, most: int) -> RayEngine:
        """The same cluster with another number of workers for each judge or contestant."""
        return RayEngine(self._ray, self._office, least, most)

    def ask(self, job: Job[Any], tasks: Iterable[Any], tally: Tally, stop: Stop) -> Iterator[Any]:
        """One outcome for each task, as they come."""
        size = self._least, self._most
        try:
            with Crew(self._ray, contract(self._ray, self._office, job), job, tally, size) as crew:
                yield from crew.ask(iter(tasks), stop)
        except _losses() as error:
            raise EngineError(
                "the connection to the Ray cluster broke off; what was ruled is kept, and the same command goes on"
            ) from error


def _ray() -> ModuleType:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("the engine 'ray'", "ray") from error
    module: ModuleType = ray
    return module


def _losses() -> tuple[type[Exception], ...]:
    """What Ray raises when the way to the cluster is lost."""
    remote: type[Exception] = import_module("grpc").RpcError
    return ConnectionError, remote


def _entered(ray: ModuleType, address: str, run: str) -> Any:
    """Join the cluster and say who we are; the office there. Whoever is thrown out at the door knocks again."""
    if ray.is_initialized():
        raise EngineError("this process is connected to a Ray cluster already; end that with ray.shutdown() first")
    tries = 1
    while True:
        try:
            _join(ray, address)
            return _office(ray, run)
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            ray.shutdown()
            if not address:
                raise
            outside = address.startswith("ray://") and isinstance(error, ConnectionError)
            if tries >= JOINS or not outside or isinstance(error, ConnectionRefusedError):
                raise EngineError(
                    f"the Ray cluster at {address!r} cannot be joined ({_reason(error)}); {_advice(error)}"
                ) from error
            _log.warning("the Ray cluster at %s did not let us in, trying again (%s)", address, _reason(error))
            tries += 1


def _advice(error: Exception) -> str:
    if "auth" in str(error).lower() and "token" in str(error).lower():
        return (
            "it asks for a token: copy ~/.ray/auth_token of its head to every machine, and set RAY_AUTH_MODE=token "
            "there and here before 'ray start' and this command; or set RAY_AUTH_MODE=disabled everywhere"
        )
    return (
        "start it with 'ray start --head', and give ray:auto on one of its machines, ray:HOST:6379 or ray://HOST:10001"
    )


def _join(ray: ModuleType, address: str) -> None:
    _hush()
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "namespace": NAMESPACE}
    if not address:
        try:
            ray.init(address="local", include_dashboard=False, **quiet)
        except Exception as error:
            ray.shutdown()
            raise EngineError(
                f"Ray could not be started on this machine ({_reason(error)}); what is in the ledger is kept: try "
                "again when the machine has more time and memory to spare, or without Ray (--engine here)"
            ) from error
        return
    _knock(address)
    ray.init(address=address, **quiet)


def _reason(error: Exception) -> str:
    """Why it failed, in one line: the last one where that is a traceback's, else the first."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return (lines[-1] if "Error" in lines[-1] else lines[0]).rstrip(".")


def _hush() -> None:
    """Keep Ray from writing its news to standard output, between our tables; it has no setting for that.

    A version of Ray that does it by another name is merely loud.
    """
    inside: Any = import_module("ray._private.worker")
    if hasattr(inside, "print_to_stdstream"):
        inside.print_to_stdstream = lambda *_, **__: None


def _knock(address: str) -> None:
    """See whether anybody is there at all: Ray itself would wait for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    if not port.isdecimal():
        raise ValueError(f"{port!r} is no port")
    with socket.create_connection((host, int(port)), timeout=KNOCK_SECONDS):
        return


def _office(ray: ModuleType, run: str) -> Any:
    """The office that keeps the limits of all runs on this cluster; made where there is none."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    near = NodeAffinitySchedulingStrategy(node_id=ray.get_runtime_context().get_node_id(), soft=True)
    actor = ray.remote(Office).options(
        name="limits", lifetime="detached", get_if_exists=True, num_cpus=0, max_restarts=-1, max_task_retries=-1,
        scheduling_strategy=near,
    )  # fmt: skip
    for _ in range(_TRIES):
        try:
            office = actor.remote()
            if ray.get(office.beat.remote(run)):
                return office
        except ray.exceptions.RayActorError:
            pass
        time.sleep(0.1)
    raise EngineError("the actor 'limits' of the Ray cluster does not answer; start the run again")


@contextmanager
def _token_of_its_own() -> Iterator[None]:
    """A token for a Ray that lives as long as the run. Ray would write one into the home folder, and every `ray start`
    after that would ask for it."""
    names = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
    if any(name in os.environ for name in names):
        yield
        return
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(16))
    try:
        yield
    finally:
        for name in names:
            os.environ.pop(name, None)


@contextmanager
def _beating(ray: ModuleType, desk: Desk) -> Iterator[None]:
    """Tell the office now and then that this run is there, and see whether the head still is: Ray itself says nothing
    for a minute, and then ends this process without a sentence."""
    over = threading.Event()
    outside = ray.util.client.ray.is_connected()
    head = "" if outside else str(ray.get_runtime_context().gcs_address)
    desk.nodes = tuple(ray.nodes())

    def look() -> None:
        with suppress(*_losses(), ray.exceptions.RayError, RuntimeError):
            while not over.wait(LOOK_AROUND) and ray.is_initialized():
                desk.nodes = tuple(ray.nodes())

    def beat() -> None:
        missed = 0
        with suppress(*_losses()):
            while not over.wait(BEAT) and ray.is_initialized():
                try:
                    _knock(head)
                    missed = 0
                except OSError:
                    missed += 1
                if missed >= MISSED:
                    desk.head_lost = time.monotonic()
                    _log.error("%s", LOST)
                    return
                desk.office.beat.remote(desk.run)

    threads = [threading.Thread(target=work, name="beating", daemon=True) for work in (beat, look)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(None if not desk.head_lost else 0.1)


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Ray takes over the signals of the process; they stay as they were."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
