"""Ray engine: connects to a cluster, starts workers there and sends tasks to them.

The run itself stays in the process that was started: it finds the tasks that are due, counts the money and writes the
ledger. Each worker has a short queue. Its verdicts come back at once and are stored before anything else. If a worker
or its machine dies, only its unfinished tasks go to other workers.
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

from fullbench.errors import EngineError, require_extra
from fullbench.studies.engines.cluster_rate_limits import BEAT, RateLimitCoordinator
from fullbench.studies.engines.interrupt_handling import Stop
from fullbench.studies.engines.job_runner_with_ledger_storage import JobCounts
from fullbench.studies.engines.judge_or_contestant_job_and_recipe import Job
from fullbench.studies.engines.ray_worker_pool import (
    HEAD_LOST_MESSAGE,
    LOOK_AROUND,
    ClusterRun,
    WorkerPool,
    build_worker_setup,
)
from fullbench.studies.engines.task_serialisation_for_ray import PictureStore

NAMESPACE = "fullbench"
# A head node that does not accept a connection by then is gone, not slow.
KNOCK_SECONDS = 5
MAX_MISSED_BEATS = 2
"""The head counts as lost after this many failed connections in a row."""
JOINS = 4
"""Number of attempts to join a cluster from outside. Ray starts a process on the head for each, by a fork that gRPC
does not always survive (https://github.com/ray-project/ray/issues/63202). A new attempt starts a new process."""
_TRIES = 20
_log = logging.getLogger("fullbench")


@dataclass(frozen=True)
class Cluster:
    """Address of a cluster, and the number of workers per judge or contestant.

    Without an address, Ray is started on this machine and ends with the run. Each machine (each GPU for score models)
    gets one worker; the total is at least `least` and at most `most`.
    """

    address: str = ""
    least: int = 1
    most: int = 1_000

    @contextmanager
    def connect(self) -> Iterator[RayEngine]:
        """Join or start the cluster for the duration of the run."""
        with nullcontext() if self.address else _token_of_its_own():
            ray = _import_ray()
            run = uuid.uuid4().hex
            with _signals_kept():
                coordinator = _join_with_retries(ray, self.address, run)
            cluster_run = ClusterRun(coordinator, run, PictureStore(ray.put))
            try:
                try:
                    with _send_heartbeats(ray, cluster_run):
                        yield RayEngine(ray, cluster_run, self.least, self.most)
                finally:
                    with suppress(*_connection_errors()):
                        if (
                            not cluster_run.head_lost
                            and ray.is_initialized()
                            and ray.get(coordinator.close.remote(run))
                        ):
                            ray.kill(coordinator)
            finally:
                with _signals_kept():
                    if not cluster_run.head_lost:  # shutdown would block until the head answers
                        ray.shutdown()


class RayEngine:
    """Engine that makes calls through workers on a cluster."""

    def __init__(self, ray: ModuleType, cluster_run: ClusterRun, least: int, most: int) -> None:
        self._ray, self._cluster_run = ray, cluster_run
        self._least, self._most = least, most

    def ask(self, job: Job, tasks: Iterable[Any], counts: JobCounts, stop: Stop) -> Iterator[Any]:
        """Yield one outcome per task, in order of arrival."""
        size = self._least, self._most
        try:
            with WorkerPool(
                self._ray, build_worker_setup(self._ray, self._cluster_run, job), job, counts, size
            ) as crew:
                yield from crew.ask(iter(tasks), stop)
        except _connection_errors() as error:
            raise EngineError(
                "the connection to the Ray cluster was lost. Results are stored; run the same command again to continue"
            ) from error


def _import_ray() -> ModuleType:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with require_extra("the engine 'ray'", "ray"):
        import ray
    module: ModuleType = ray
    return module


def _connection_errors() -> tuple[type[Exception], ...]:
    remote: type[Exception] = import_module("grpc").RpcError
    return ConnectionError, remote


def _join_with_retries(ray: ModuleType, address: str, run: str) -> Any:
    """Join the cluster, register the run and return the rate-limit coordinator; retry if `ray://` drops us."""
    if ray.is_initialized():
        raise EngineError("this process is connected to a Ray cluster already; end that with ray.shutdown() first")
    tries = 1
    while True:
        try:
            _join_cluster(ray, address)
            return _get_coordinator(ray, run)
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            ray.shutdown()
            if not address:
                raise
            outside = address.startswith("ray://") and isinstance(error, ConnectionError)
            if tries >= JOINS or not outside or isinstance(error, ConnectionRefusedError):
                raise EngineError(
                    f"the Ray cluster at {address!r} cannot be joined ({_error_reason(error)}); {_join_advice(error)}"
                ) from error
            _log.warning("the Ray cluster at %s did not let us in, trying again (%s)", address, _error_reason(error))
            tries += 1


def _join_advice(error: Exception) -> str:
    if "auth" in str(error).lower() and "token" in str(error).lower():
        return (
            "it asks for a token: copy ~/.ray/auth_token of its head to every machine, and set RAY_AUTH_MODE=token "
            "there and here before 'ray start' and this command; or set RAY_AUTH_MODE=disabled everywhere"
        )
    return (
        "start it with 'ray start --head', and give ray:auto on one of its machines, ray:HOST:6379 or ray://HOST:10001"
    )


def _join_cluster(ray: ModuleType, address: str) -> None:
    _silence_ray()
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "namespace": NAMESPACE}
    if not address:
        try:
            ray.init(address="local", include_dashboard=False, **quiet)
        except Exception as error:
            ray.shutdown()
            raise EngineError(
                f"Ray could not be started on this machine ({_error_reason(error)}); results in the ledger are kept. "
                f"Try again when the machine has more free time and memory, or without Ray (--engine here)"
            ) from error
        return
    _check_reachable(address)
    ray.init(address=address, **quiet)


def _error_reason(error: Exception) -> str:
    """Return the last line of a traceback, else the first line."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return (lines[-1] if "Error" in lines[-1] else lines[0]).rstrip(".")


def _silence_ray() -> None:
    """Stop Ray from printing to standard output between our tables; it has no setting for that.

    If a version of Ray renames the patched function, its messages are printed, but nothing breaks.
    """
    inside: Any = import_module("ray._private.worker")
    if hasattr(inside, "print_to_stdstream"):
        inside.print_to_stdstream = lambda *_, **__: None


def _check_reachable(address: str) -> None:
    """Test the port first, because Ray itself would wait for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    if not port.isdecimal():
        raise ValueError(f"{port!r} is no port")
    with socket.create_connection((host, int(port)), timeout=KNOCK_SECONDS):
        return


def _get_coordinator(ray: ModuleType, run: str) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    near = NodeAffinitySchedulingStrategy(node_id=ray.get_runtime_context().get_node_id(), soft=True)
    actor = ray.remote(RateLimitCoordinator).options(
        name="limits", lifetime="detached", get_if_exists=True, num_cpus=0, max_restarts=-1, max_task_retries=-1,
        scheduling_strategy=near,
    )  # fmt: skip
    for _ in range(_TRIES):
        try:
            coordinator = actor.remote()
            if ray.get(coordinator.beat.remote(run)):
                return coordinator
        except ray.exceptions.RayActorError:
            pass
        time.sleep(0.1)
    raise EngineError("the actor 'limits' of the Ray cluster does not answer; start the run again")


@contextmanager
def _token_of_its_own() -> Iterator[None]:
    """Otherwise Ray writes a token into the home folder, and every later `ray start` requires it."""
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
def _send_heartbeats(ray: ModuleType, cluster_run: ClusterRun) -> Iterator[None]:
    """Also check that the head is alive; if not, Ray is silent for a minute and then ends this process without a
    message.
    """
    over = threading.Event()
    outside = ray.util.client.ray.is_connected()
    head = "" if outside else str(ray.get_runtime_context().gcs_address)
    cluster_run.nodes = tuple(ray.nodes())

    def look() -> None:
        with suppress(*_connection_errors(), ray.exceptions.RayError, RuntimeError):
            while not over.wait(LOOK_AROUND) and ray.is_initialized():
                cluster_run.nodes = tuple(ray.nodes())

    def beat() -> None:
        missed_beats = 0
        with suppress(*_connection_errors()):
            while not over.wait(BEAT) and ray.is_initialized():
                try:
                    _check_reachable(head)
                    missed_beats = 0
                except OSError:
                    missed_beats += 1
                if missed_beats >= MAX_MISSED_BEATS:
                    cluster_run.head_lost = time.monotonic()
                    _log.error("%s", HEAD_LOST_MESSAGE)
                    return
                cluster_run.coordinator.beat.remote(cluster_run.run)

    threads = [threading.Thread(target=work, name="beating", daemon=True) for work in (beat, look)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(None if not cluster_run.head_lost else 0.1)


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Restore the signal handlers that Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
