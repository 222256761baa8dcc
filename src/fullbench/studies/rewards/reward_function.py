"""`fullbench.reward`: a judge as the reward function of a training loop, for any number of workers.

The first worker that needs the judge takes its lock in the ledger, and serves the others of this machine over HTTP at
a free local port with a secret token. If that worker ends, another one takes its place. With `url`, all workers call a
server that `fullbench serve-judge` started.
"""

from __future__ import annotations

import atexit
import http.client
import json
import os
import secrets
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fullbench.cache_dir import cache_folder
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import Judge
from fullbench.errors import DataWarning, InputError, LedgerInUse, ModelError
from fullbench.judges.scorers.scorer_server import ServerBusyError
from fullbench.studies.notebook_api import DEFAULT_LEDGER, explain_arguments
from fullbench.studies.rewards.reward_server_and_client import CONTESTANT, RewardClient, RewardServer
from fullbench.studies.rewards.reward_service import STUDY, Measure, Reward, RewardService, read_reward_study
from fullbench.studies.rewards.training_prompts_as_items_and_responses import (
    PICTURE_COLUMNS,
    REFERENCE,
    RUBRIC_COLUMNS,
    reward_rows,
)
from fullbench.studies.study_file import Study
from fullbench.studies.study_file_trust import refuse_risks

_WAIT_SECONDS = 0.1
"""Between two tries to find the worker that holds the judge."""
_Rewards = Callable[[Sequence[Any], Sequence[Any], Mapping[str, Sequence[Any]], float], list[Reward]]


@explain_arguments
def reward(
    judge: str | Judge | None = None,
    *,
    ballot: str | None = None,
    rubric: Any = None,
    ledger: str | Path | None = None,
    url: str | None = None,
    study: str = STUDY,
    budget: float | None = None,
    timeout: float = 600.0,
    unusable: float = 0.0,
    failed: float | None = None,
    contestant: str = CONTESTANT,
    token: str = "",
) -> RewardFunction:
    """Return a reward function for TRL, or with `.for_verl` for verl: `(prompts, completions, **columns) -> floats`.

    A reward is the mark on the ballot, or the total of the rubric. The ledger keeps every verdict, so equal completions
    to a prompt are judged once. Several threads and processes may call the function at once.

    Args:
        judge: A spec such as `openai:gpt-4o`, a judge, or a study file with one rubric, or one judge and one ballot.
        ballot: The ballot for one response, such as `score:1-5`.
        rubric: Used instead of a ballot: a path, a list of criteria, a table with `criteria`, `total` and `cap`, or
            True for the column `rubric` of the data set.
        ledger: Path or URL of the ledger.
        url: Address of a server that `fullbench serve-judge` started; used instead of judge, ballot, rubric and ledger.
        study: Study of the ledger.
        budget: Most dollars that the study may cost, over all workers and earlier runs.
        timeout: Most seconds of one call. A verdict that comes later is stored all the same.
        unusable: Reward if the judge refuses, abstains or is unreadable.
        failed: Reward if there is no verdict; without it, the call raises `ModelError`.
        contestant: Name of the model in training.
        token: Token of the server at `url`.
    """
    if url is None and judge is None:
        raise InputError("No judge given. Add judge='openai:gpt-4o', or url= of a fullbench serve-judge")
    if url is not None and any(given is not None for given in (judge, ballot, rubric, ledger, budget)):
        raise InputError("the server at url has its judge, ballot, rubric, ledger and budget; leave them out here")
    if timeout <= 0:
        raise InputError(f"the time limit is a number of seconds above 0; found {timeout:g}")
    source: _Rewards
    if url is not None:
        client = RewardClient(url, token)

        def source(prompts: Any, completions: Any, columns: Any, limit: float) -> list[Reward]:
            return client.rewards(prompts, completions, columns, contestant, limit)
    else:
        if isinstance(judge, str) and judge.endswith(".toml"):
            if ballot is not None or rubric is not None or ledger is not None:
                raise InputError("the study has its ballot or rubric and its ledger; leave them out here")
            plan = Study.read(Path(judge))
            refuse_risks(plan)
            judge, measure, place = read_reward_study(plan)
        else:
            measure, place = Measure(ballot, rubric), str(ledger or DEFAULT_LEDGER)
        assert judge is not None
        source = _SharedJudge(judge, measure, place, study=study, budget=budget, contestant=contestant).rewards
    return RewardFunction(source, timeout=timeout, unusable=unusable, failed=failed)


class RewardFunction:
    """A reward function with TRL's signature. `last_rewards` has the cases and reasons of this thread's last call."""

    def __init__(self, source: _Rewards, *, timeout: float, unusable: float, failed: float | None) -> None:
        self.__name__ = "fullbench_reward"
        self._source, self._timeout, self._unusable, self._failed = source, timeout, unusable, failed
        self._local = threading.local()

    @property
    def last_rewards(self) -> list[Reward]:
        return getattr(self._local, "rewards", [])

    def close(self) -> None:
        """Let the judge and the ledger go, if this process holds them. A later call takes them again."""
        if isinstance(owner := getattr(self._source, "__self__", None), _SharedJudge):
            owner.close()

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float]:
        """Return a reward for each completion.

        Of the data set's columns, `reference`, `rubric` (or `rubrics`) and `images` (or `image`) are used.
        """
        used = {
            name: list(columns[name])
            for name in (REFERENCE, *RUBRIC_COLUMNS, *PICTURE_COLUMNS)
            if isinstance(columns.get(name), Sequence) and not isinstance(columns[name], str)
        }
        rewards = self._local.rewards = self._source(list(prompts), list(completions), used, self._timeout)
        reasons = Counter(reward.reason or reward.unusable for reward in rewards if reward.unusable == "failed")
        if reasons:
            (reason, _), *_ = reasons.most_common(1)
            sentence = f"{reasons.total():,} of {len(rewards):,} completions have no verdict: {reason}"
            if self._failed is None:
                raise ModelError(f"{sentence}. The others are stored; call again, or pass failed=VALUE to continue")
            warnings.warn(f"{sentence}; their reward is {self._failed:g}", DataWarning, stacklevel=2)
        return [self._number(reward) for reward in rewards]

    def _number(self, reward: Reward) -> float:
        if reward.value is not None:
            return float(reward.value)
        return self._unusable if reward.unusable != "failed" or self._failed is None else self._failed

    def for_verl(
        self,
        data_source: Any = None,
        solution_str: Any = None,
        ground_truth: Any = None,
        extra_info: Any = None,
        **batch: Any,
    ) -> float | list[float]:
        """Return the reward of one solution, or those of a batch (`data_sources`, `solution_strs`, ...), as verl asks.

        verl passes no prompts, so `extra_info` of each row needs `prompt` or `question`.

        Args:
            data_source: Name of the data set; not used.
            solution_str: The completion to judge.
            ground_truth: A text is used as the reference.
            extra_info: Mapping with `prompt` or `question`, and optionally `rubric` and `images`.
            **batch: The same as lists (`solution_strs`, `ground_truths`, `extra_infos`).
        """
        solutions = batch.get("solution_strs", [solution_str])
        truths = batch.get("ground_truths", [ground_truth] * len(solutions))
        infos = [info or {} for info in batch.get("extra_infos", [extra_info] * len(solutions))]
        prompts = [info.get("prompt", info.get("question")) for info in infos]
        if missing := sum(prompt is None for prompt in prompts):
            raise InputError(
                f"{missing:,} of {len(prompts):,} rows have no prompt: verl passes none, so put it into the data set's "
                "extra_info, as 'prompt' or 'question'"
            )
        columns: dict[str, list[Any]] = {REFERENCE: [truth if isinstance(truth, str) else None for truth in truths]}
        for name in (*RUBRIC_COLUMNS, *PICTURE_COLUMNS):
            if any(name in info for info in infos):
                columns[name] = [info.get(name) for info in infos]
        rewards = self(prompts, list(solutions), **columns)
        return rewards if "solution_strs" in batch else rewards[0]


class _SharedJudge:
    """A judge in a ledger, held by one process and used by all others of this machine."""

    def __init__(
        self, judge: str | Judge, measure: Measure, ledger: str, *, study: str, budget: float | None, contestant: str
    ) -> None:
        self._judge, self._measure, self._ledger = judge, measure, ledger
        self._study, self._budget, self._contestant = study, budget, contestant
        self._service: RewardService | None = None
        self._server: RewardServer | None = None
        self._client: RewardClient | None = None
        self._process = 0
        self._lock = threading.Lock()
        _ = measure.digest  # reads the rubric's file, so that a mistake is found before the training starts

    def rewards(
        self, prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Sequence[Any]], limit: float
    ) -> list[Reward]:
        deadline = time.monotonic() + limit
        rows = reward_rows(prompts, completions, columns, self._contestant)
        while True:
            service, client = self._join(deadline)
            left = max(0.001, deadline - time.monotonic())
            if service is not None:
                try:
                    return service.rewards(rows, left)
                except ServerBusyError:  # another thread closed it just now
                    if time.monotonic() >= deadline:
                        raise
                    time.sleep(_WAIT_SECONDS)
                    continue
            assert client is not None
            try:
                return client.rewards(prompts, completions, columns, self._contestant, left, is_patient=False)
            except (OSError, http.client.HTTPException, ValueError) as error:  # the worker that held the judge ended
                with self._lock:
                    self._client = None if self._client is client else self._client
                if time.monotonic() >= deadline:
                    raise ModelError(f"no reward within the time limit: {error}") from error

    def close(self) -> None:
        """Stop the server and close the service of this process."""
        with self._lock:
            service, server, self._service, self._server, self._client = self._service, self._server, None, None, None
        if server is not None and self._process == os.getpid():
            server.shutdown()
            server.server_close()
        if service is not None and self._process == os.getpid():
            service.close()

    def _join(self, deadline: float) -> tuple[RewardService | None, RewardClient | None]:
        """Return the service of this process, or a client of the one that holds the judge."""
        with self._lock:
            if self._process != os.getpid():  # after a fork, the parent's threads and locks are not here
                self._process, self._service, self._client = os.getpid(), None, None
            while self._service is None and self._client is None:
                self._client = self._find_holder()
                if self._client is not None:
                    break
                try:
                    self._service = self._start_service()
                except LedgerInUse as error:  # somebody holds the judge, and may not have told its address yet
                    if time.monotonic() >= deadline:
                        raise ModelError(f"no reward within the time limit: {error}") from error
                    time.sleep(_WAIT_SECONDS)
            return self._service, self._client

    def _start_service(self) -> RewardService:
        service = RewardService(self._judge, self._measure, self._ledger, study=self._study, budget=self._budget)
        token = secrets.token_hex(16)
        server = self._server = RewardServer(service, "127.0.0.1", 0, token=token)
        atexit.register(self.close)
        threading.Thread(target=server.serve_forever, name="fullbench-reward-server", daemon=True).start()
        place = self._address_file
        part = place.with_suffix(f".{os.getpid()}")
        part.touch(mode=0o600)
        part.write_text(json.dumps({"url": server.url, "token": token}), encoding="utf-8")
        part.replace(place)
        return service

    def _find_holder(self) -> RewardClient | None:
        with suppress(OSError, ValueError, KeyError, ModelError):
            address = json.loads(self._address_file.read_text(encoding="utf-8"))
            client = RewardClient(address["url"], address["token"])
            about = client.about(10)
            if about["rewards"] != self._measure.digest:
                raise InputError(
                    f"the judge {about['name']} is being used in this ledger with another ballot or rubric; give each "
                    f"reward function its own judge or ledger"
                )
            return client
        return None

    @property
    def _address_file(self) -> Path:
        """Return the file with the address of the process that holds the judge; only this user can read it."""
        name = self._judge if isinstance(self._judge, str) else self._judge.name
        is_file = "://" not in self._ledger
        folder = Path(f"{self._ledger}.locks") if is_file else cache_folder() / "rewards"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"rewards-{digest([name, '' if is_file else self._ledger])[:16]}.json"
