"""HTTP server of a reward service, and its client.

    GET /          {"protocol": 1, "name": "...", "settings": {...}, "span": null, "rewards": "DIGEST OF THE MEASURE"}
    GET /metrics   counters in the text format of Prometheus
    POST /rewards  {"prompts": [...], "completions": [...], "columns": {"reference": [...]}, "timeout": 60}
               ->  {"rewards": [{"value": 0.5, "cases": ["..."], "unusable": "", "reason": ""}, ...]}

A refused request gets a status above 399 and {"error": "a sentence"}; 503 means: too many cases are on their way, try
again. With a token, every request needs the header `Authorization: Bearer TOKEN`.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from fullbench.errors import InputError, ModelError
from fullbench.judges.scorers.remote_scorer import PROTOCOL
from fullbench.judges.scorers.scorer_server import MOST_IN_FLIGHT, ScoreHandler, ScoreServer
from fullbench.studies.rewards.reward_service import Reward, RewardService
from fullbench.studies.rewards.training_prompts_as_items_and_responses import json_value, reward_rows

MOST_ROWS = 4_096
"""Most completions in one request."""
CONTESTANT = "policy"
_RETRY_SECONDS = 0.2


class RewardServer(ScoreServer):
    """Listens at `host:port` and answers with the rewards of a service."""

    def __init__(
        self, service: RewardService, host: str, port: int, *, token: str = "", most_in_flight: int = MOST_IN_FLIGHT
    ) -> None:
        self.service = service
        super().__init__(service.judge, host, port, token=token, most_in_flight=most_in_flight)

    def about(self) -> dict[str, Any]:
        """Return the judge's description, for `GET /`."""
        return {**super().about(), "protocol": PROTOCOL, "rewards": self.service.measure.digest}

    @property
    def in_flight(self) -> int:
        return self.service.cases_in_flight

    def metrics_text(self) -> str:
        return self.service.metrics_text()


class _RewardHandler(ScoreHandler):
    server: RewardServer
    # No /scores here: it would call the judge without the ledger and the budget.
    paths = ("/rewards",)

    def reply(self, request: Any) -> Mapping[str, Any]:
        if not isinstance(request, Mapping) or not all(
            isinstance(request.get(name), list) for name in ("prompts", "completions")
        ):
            raise InputError("a request is an object with the lists 'prompts' and 'completions'")
        if len(request["prompts"]) > MOST_ROWS:
            raise InputError(f"a request has at most {MOST_ROWS:,} completions; found {len(request['prompts']):,}")
        columns, timeout = request.get("columns", {}), request.get("timeout", 600)
        if not isinstance(columns, Mapping) or not all(isinstance(values, list) for values in columns.values()):
            raise InputError("'columns' is an object of lists")
        if not isinstance(timeout, int | float) or isinstance(timeout, bool) or timeout <= 0:
            raise InputError(f"'timeout' is a number of seconds above 0; found {timeout!r}")
        contestant = str(request.get("contestant") or CONTESTANT)
        rows = reward_rows(request["prompts"], request["completions"], columns, contestant)
        return {"rewards": [asdict(reward) for reward in self.server.service.rewards(rows, timeout)]}


RewardServer.handler_class = _RewardHandler


class RewardClient:
    """Client of a reward server, for any number of threads."""

    def __init__(self, url: str, token: str = "") -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise InputError(f"a reward server is given by its address, http://HOST:PORT; found {url!r}")
        self.url, self._host, self._port = url.rstrip("/"), parts.hostname, parts.port or 80
        self._headers = {"Content-Type": "application/json", "Connection": "close"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def about(self, timeout: float) -> dict[str, Any]:
        """Return the server's description of itself."""
        status, payload = self._request("GET", "/", b"", timeout)
        if status != 200 or "rewards" not in payload:
            raise ModelError(f"{self.url} is not a reward server: {payload.get('error', payload)}")
        return payload

    def rewards(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        columns: Mapping[str, Sequence[Any]],
        contestant: str,
        timeout: float,
        *,
        is_patient: bool = True,
    ) -> list[Reward]:
        """Return the reward of each row; a server that is down is tried again until the time is over.

        Without `is_patient`, a server that is down raises `OSError` or `HTTPException` at once.
        """
        deadline = time.monotonic() + timeout
        problem = "no time"
        if len(prompts) > MOST_ROWS and len(prompts) == len(completions):
            rewards: list[Reward] = []
            for start in range(0, len(prompts), MOST_ROWS):
                rows = slice(start, start + MOST_ROWS)
                own_columns = {name: values[rows] for name, values in columns.items()}
                left = max(0.001, deadline - time.monotonic())
                rewards += self.rewards(
                    prompts[rows], completions[rows], own_columns, contestant, left, is_patient=is_patient
                )
            return rewards
        while (left := deadline - time.monotonic()) > 0:
            body = json.dumps({
                "prompts": list(prompts), "completions": list(completions), "columns": dict(columns),
                "contestant": contestant, "timeout": left,
            }, default=json_value).encode()  # fmt: skip
            try:
                # A little more than the server's own limit, so that its answer about late calls arrives.
                status, payload = self._request("POST", "/rewards", body, left + 5)
            except (OSError, http.client.HTTPException, ValueError) as error:
                if not is_patient:
                    raise
                status, problem = 503, f"it does not answer ({error})"
            else:
                problem = str(payload.get("error", payload))[:300]
            if status == 200:
                return [Reward(**{**entry, "cases": tuple(entry["cases"])}) for entry in payload["rewards"]]
            if status < 500:
                raise InputError(f"the reward server {self.url} refused: {problem}")
            time.sleep(min(_RETRY_SECONDS, max(0.0, deadline - time.monotonic())))
        raise ModelError(f"the reward server {self.url} gave no rewards within {timeout:g} s: {problem}")

    def _request(self, method: str, path: str, body: bytes, timeout: float) -> tuple[int, dict[str, Any]]:
        with closing(http.client.HTTPConnection(self._host, self._port, timeout=timeout)) as connection:
            connection.request(method, path, body, self._headers)
            answer = connection.getresponse()
            payload = json.loads(answer.read())
        return answer.status, payload if isinstance(payload, dict) else {"error": str(payload)[:200]}
