"""Any provider that litellm knows: slower than `ChatModel`, for servers that speak none of its dialects."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any

from fullbench.errors import InputError, MissingExtra, ModelError
from fullbench.hygiene import masked
from fullbench.models import dotenv
from fullbench.models.dialects import OpenAI
from fullbench.models.net import complaints
from fullbench.models.prices import shares_at
from fullbench.models.replies import Tally
from fullbench.models.settings import Limits, Sampling
from fullbench.models.tokens import estimate, words
from fullbench.nouns.call import Usage
from fullbench.nouns.model import Prompt, Reply

WIDTH = 16


@dataclass(frozen=True, eq=False)
class LiteLLMModel:
    """A model by its litellm name (`bedrock/...`). Keys are found by litellm itself, in its own variables."""

    model: str
    sampling: Sampling = field(default_factory=Sampling)
    limits: Limits = field(default_factory=Limits)
    listed: tuple[float, float] | None = None
    assumed: bool = False
    cached_price: float | None = None

    @cached_property
    def name(self) -> str:
        return self.model + self.sampling.tail

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        limits = {name: value for name, value in asdict(self.limits).items() if value is not None}
        return {"model": self.model, "dialect": "litellm", "sampling": self.sampling.set(), "limits": limits}

    def as_judge(self) -> LiteLLMModel:
        """The same model as judges ask it: at temperature 0, unless something is said or the model takes none."""
        settled = self.sampling.as_judge(self.model)
        return self if settled is self.sampling else replace(self, sampling=settled, assumed=True)

    @property
    def former_names(self) -> tuple[str, ...]:
        """The name of the first release, which judges asked without a temperature."""
        return (self.model + replace(self.sampling, temperature=None).tail,) if self.assumed else ()

    @cached_property
    def price(self) -> tuple[float, float] | None:
        return self.listed

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """Ask in a few threads; a prompt is pulled only when one of them is free."""
        return self._replies(_quiet_litellm(), iter(prompts))

    def _replies(self, litellm: Any, source: Iterator[Prompt]) -> Iterator[Reply]:
        running: set[Future[Reply]] = set()
        width = self.limits.concurrency or WIDTH
        with ThreadPoolExecutor(width) as pool:
            try:
                while True:
                    for prompt in islice(source, width - len(running)):
                        running.add(pool.submit(self._ask, litellm, prompt))
                    if not running:
                        return
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield future.result()
            finally:
                for future in running:
                    future.cancel()

    def _ask(self, litellm: Any, prompt: Prompt) -> Reply:
        import orjson
        from openai import OpenAIError

        started = time.monotonic()
        try:
            body = orjson.loads(OpenAI().body(self.model, prompt, self.sampling))
            options = {"timeout": self.limits.timeout, "num_retries": self.limits.attempts - 1}
            payload = litellm.completion(**body, **options).model_dump()
            answer = OpenAI().parse(payload)
        except InputError as error:
            return Reply(prompt, error=str(error))
        except OpenAIError as error:
            return self._trouble(prompt, error)
        except (LookupError, TypeError, AttributeError):
            answer = None
        if answer is None:
            return Reply(prompt, usage=Usage(calls=1, dollars=None), error="an answer without a choice in it")
        tokens_in = estimate(prompt, self.model) if answer.tokens_in is None else answer.tokens_in
        tokens_out = words(answer.reasoning + answer.text) if answer.tokens_out is None else answer.tokens_out
        tally = Tally(
            1, 0, tokens_in, tokens_out, time.monotonic() - started, shares=shares_at(self.listed, self.cached_price)
        )
        tally.count_cached(tokens_in, *OpenAI().cached(payload))
        return answer.reply(prompt, tally.usage(self.listed))

    def _trouble(self, prompt: Prompt, error: Exception) -> Reply:
        complaint = complaints.read({"message": str(error), "kind": type(error).__name__})
        kind = complaints.sort(getattr(error, "status_code", 500), complaint)
        if kind == "model":
            raise ModelError(f"litellm cannot use {self.model!r} ({_short(error)}); check its name and key") from None
        if kind == "refused":
            return Reply(prompt, stop="refused")
        return Reply(prompt, error=_short(error))


def _quiet_litellm() -> Any:
    """litellm, told not to fetch its price list from the network and not to advertise itself."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    for name in filter(_is_secret, dotenv.names()):
        os.environ.setdefault(name, dotenv.variable(name))
    try:
        import litellm
    except ImportError as error:
        raise MissingExtra("asking through litellm", "litellm") from error
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    return litellm


def _is_secret(name: str) -> bool:
    return name.endswith(("_KEY", "_TOKEN", "_SECRET"))


def _short(error: Exception) -> str:
    """The error without keys: litellm reads them from variables, and a server may repeat them."""
    keys = [value for name, value in os.environ.items() if _is_secret(name)]
    return f"{type(error).__name__}: {masked(' '.join(str(error).split()), keys)[:300]}"
