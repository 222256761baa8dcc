"""Models of any provider that litellm supports: slower than `ChatModel`, for servers with none of its dialects."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any

import orjson

from fullbench.core.item import Turn
from fullbench.core.model import Prompt, Reply
from fullbench.errors import InputError, ModelError, require_extra
from fullbench.models import dotenv
from fullbench.models.dialects import OpenAI
from fullbench.models.dialects.anthropic import REPLY_TOKENS, thinking_room
from fullbench.models.dialects.base import join_text_parts
from fullbench.models.media_as_sent import expand_media, hears_with_frames, refused_media_option
from fullbench.models.model_prices import Price, Shares, audio_share, cache_shares, price_of, shares_at
from fullbench.models.model_settings import Key, Limits, Sampling
from fullbench.models.net import error_meanings
from fullbench.models.net.budget_reservations import CallBudget, current_budget, expected_price
from fullbench.models.net.cancellation import HALT_SECONDS, current_stop_check
from fullbench.models.net.rate_limits import current_call_limit
from fullbench.models.net.retries import GARBLED_TRIES, RATE_LIMITED, Tries, prompt_failure_kind, retry_delay
from fullbench.models.net.server_rates_and_circuit_breakers import Gate, Provider, get_provider
from fullbench.models.wire.reply_parsing import Trouble, UsageCounter, read_payload
from fullbench.models.wire.token_estimates import estimate_tokens
from fullbench.secret_masking_and_text_escapes import mask_secrets

_LISTS = {
    "azure": "azure", "azure_ai": "azure", "bedrock": "aws", "vertex_ai": "google", "gemini": "google",
    "together_ai": "together", "fireworks_ai": "fireworks", "xai": "x-ai",
    **{name: name for name in ("anthropic", "cohere", "deepseek", "groq", "mistral", "openai", "openrouter")},
}  # fmt: skip
"""Provider names of litellm, mapped to those of the price list."""
_WHOLE = ("openrouter", "together_ai", "fireworks_ai", "groq")
"""Providers whose model names include the maker's name."""
_KEYS = {
    "azure": "AZURE_API_KEY, AZURE_API_BASE and AZURE_API_VERSION",
    "bedrock": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION_NAME",
}
_ADDRESSES = {"azure": "AZURE_API_BASE", "bedrock": "AWS_REGION_NAME or AWS_BEDROCK_RUNTIME_ENDPOINT"}
_SECRETS = ("_KEY", "_KEY_ID", "_TOKEN", "_SECRET")
_PLACES = ("_API_BASE", "_BASE_URL", "_ENDPOINT", "_ENDPOINT_URL")
_CLOUDS = ("AWS", "AZURE")
_PERMANENT_ERRORS = re.compile(
    r"(missing|unable to locate|no) credentials|must provide one of|LLM provider not provided|UnsupportedParamsError"
    r"|model identifier is invalid|on-demand throughput|access to the model",
    re.IGNORECASE,
)
"""Errors that no retry or other prompt fixes, whatever the status."""
_KEYLESS = re.compile(r"credentials|security token|AuthenticationError|PermissionDenied|api.?key", re.IGNORECASE)
_PREFIX = re.compile(
    r"^(?:litellm\.)?(?:\w+(?:Error|Exception)\b(?: \w+(?:Error|Exception))?(?: Invalid Authentication)?[: -]+)+"
)


def import_litellm() -> Any:
    """Import litellm without its download of a price list, its telemetry and its advertising."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    for name in _usable_file_variables(dotenv.current_variables()):
        os.environ.setdefault(name, dotenv.read_variable(name))
    with require_extra("asking through litellm", "litellm"):
        import litellm
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    return litellm


def _usable_file_variables(names: Iterable[str]) -> list[str]:
    """Return the variables of `.env` that litellm may use: keys, and the other settings of a cloud.

    An address counts only if its key is in the same file and the environment has none. Otherwise a `.env` file that
    came with somebody's data could send the user's key to another server.
    """
    environment_prefixes = {name.split("_")[0] for name in os.environ if _is_secret(name)}
    file_prefixes = {name.split("_")[0] for name in names if _is_secret(name)}
    trusted_prefixes = file_prefixes - environment_prefixes
    return [
        name
        for name in names
        if (
            name.split("_")[0] in trusted_prefixes
            if name.endswith(_PLACES)
            else _is_secret(name) or name.startswith(_CLOUDS)
        )
    ]


def supported_params(litellm: Any, model: str) -> frozenset[str]:
    """Return the settings that the model's provider accepts, according to litellm."""
    try:
        return frozenset(litellm.get_supported_openai_params(model) or ())
    except Exception:  # noqa: BLE001 (the first call reports an unknown name)
        return frozenset()


def provider_of(model: str) -> str:
    return model.split("/", maxsplit=1)[0].lower() if "/" in model else ""


def price_list_entry(model: str) -> tuple[str, str, str]:
    """Return a model's name, address and provider in the price list.

    >>> (price_list_entry("bedrock/converse/us.anthropic.claude-opus-4-7-v1:0"),
    ...  price_list_entry("openrouter/qwen/qwen3-vl"))
    (('us.anthropic.claude-opus-4-7-v1:0', '', 'aws'), ('qwen/qwen3-vl', '', 'openrouter'))
    """
    provider = provider_of(model)
    bare = model.partition("/")[2] if provider in _WHOLE else model.rsplit("/", 1)[-1]
    return bare, "", _LISTS.get(provider, "-")


def trouble_from_error(error: Exception) -> Trouble:
    """Translate a litellm error into its kind, its status and the wait that the server requested."""
    status = getattr(error, "status_code", None)
    status = status if isinstance(status, int) else 500
    headers = getattr(error, "litellm_response_headers", None) or getattr(
        getattr(error, "response", None), "headers", None
    )
    error_fields = {"kind": type(error).__name__, "code": getattr(error, "code", None), "message": _error_text(error)}
    complaint = error_meanings.read_complaint(error_fields)
    kind = (
        "model" if _PERMANENT_ERRORS.search(complaint.words) else error_meanings.classify_complaint(status, complaint)
    )
    is_unconnected = "connect" in complaint.words.lower() and not headers
    wait = error_meanings.retry_after(dict(headers)) if headers else None
    return Trouble(kind, f"{status}: {complaint.message}", wait, status, complaint, is_unconnected=is_unconnected)


def describe_trouble(model: str, trouble: Trouble) -> str:
    """Return one sentence for the user: what is wrong, which provider, what to do."""
    provider = provider_of(model)
    words = "" if trouble.complaint is None else trouble.complaint.words
    who = f"{provider or 'the provider'} (by way of litellm)"
    keys = _KEYS.get(provider, "the variables that litellm reads for it")
    if trouble.is_unconnected or "must provide" in words.lower():
        place = _ADDRESSES.get(provider, "the variables that litellm reads for it")
        return f"{who} cannot be reached for {model!r} ({trouble.message}); check its address, {place}"
    if (trouble.status in {401, 403} and "access to the model" not in words) or _KEYLESS.search(words):
        return f"{who} has no key for {model!r} that it takes ({trouble.message}); check {keys}"
    if trouble.status == 402 or re.search(r"quota|billing|balance|credit", words, re.IGNORECASE):
        return f"{who} says that the account is used up ({trouble.message}); top it up or use another key"
    if "temperature" in words.lower():
        hint = "say temperature=default to leave it to the server"
        return f"{who} will not serve {model!r} as it is asked ({trouble.message}); {hint}"
    return f"{who} will not serve {model!r} as it is asked ({trouble.message}); check its name and its settings"


def _is_secret(name: str) -> bool:
    return name.endswith(_SECRETS)


def _error_text(error: Exception) -> str:
    """Return an error's message on one line with keys masked: a server may repeat a key that litellm read itself."""
    keys = [value for name, value in os.environ.items() if _is_secret(name)]
    line = _PREFIX.sub("", mask_secrets(" ".join(str(error).split()), keys))
    message_match = re.match(r'\{"[Mm]essage": ?"(.*?)"', line)
    # The rest is advice to users of litellm itself.
    return (
        message_match[1] if message_match else re.split(r" To drop |\. Pass model as|\. Set `| Learn more", line)[0]
    )[:300]


WIDTH = 16
POLL = 0.02
"""Seconds between checks whether earlier calls left money in the budget."""
CONNECT_TRIES = 3
"""Attempts to reach a server that never answered, before the run ends."""
_TAKES_VIDEO_FILES = frozenset({"gemini", "vertex_ai", "vertex_ai_beta", "hosted_vllm"})
"""Providers for which litellm translates a video in a part of type `file`; it drops `video_url` for Gemini's."""
_TAKES_VIDEO = _TAKES_VIDEO_FILES | {"openrouter"}
_ADDRESS_FIELDS = ("api_base", "base_url", "aws_bedrock_runtime_endpoint")


@dataclass(frozen=True, eq=False)
class LiteLLMModel:
    """A model by its litellm name (`bedrock/...`). litellm reads keys and addresses from its own variables.
    Calls are rate-limited, retried and paid for like those of other models, so litellm itself tries only once.
    """

    model: str
    sampling: Sampling = field(default_factory=Sampling)
    limits: Limits = field(default_factory=Limits)
    listed_price: Price | None = None
    cached_price: float | None = None

    def __post_init__(self) -> None:
        kinds = frozenset({"audio", "video"} if provider_of(self.model) in _TAKES_VIDEO else {"audio"})
        if reason := refused_media_option(self.sampling, kinds, chooses_frames=False):
            raise InputError(f"'litellm:{self.model}': {reason}")

    @cached_property
    def name(self) -> str:
        return self.model + self.sampling.tail

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        limits = {name: value for name, value in asdict(self.limits).items() if value is not None}
        return {
            "model": self.model,
            "dialect": "litellm",
            "sampling": self.sampling.explicit_values(),
            "limits": limits,
        }

    def as_judge(self) -> LiteLLMModel:
        """Return this model for judging: temperature 0, unless sampling is set or the model takes none."""
        judge_sampling = self.sampling.as_judge(self.model)
        return self if judge_sampling is self.sampling else replace(self, sampling=judge_sampling)

    media_kinds = frozenset({"image", "video", "audio", "document"})
    """Recordings are sent as they are, documents as pages, videos as frames unless `video` is `native`."""

    @cached_property
    def _sent_kinds(self) -> frozenset[str]:
        return frozenset({"audio", "video"} if self.sampling.video == "native" else {"audio"})

    def prepare(self, prompt: Prompt) -> Prompt:
        """Return the prompt as it is sent: frames and pages in place of videos and documents."""
        sound = self.sampling.sound
        sends_sound = hears_with_frames(self.model) if sound is None else sound
        return expand_media(prompt, self.sampling, self._sent_kinds, sends_sound=sends_sound)

    @cached_property
    def address(self) -> str:
        """Return the address in the spec; empty if litellm finds it itself."""
        return next((str(self.sampling.extra[name]) for name in _ADDRESS_FIELDS if name in self.sampling.extra), "")

    @cached_property
    def price(self) -> Price | None:
        """Return the user's price, else the provider's list price. The price at another address is unknown."""
        if self.listed_price is not None or self.address:
            return self.listed_price
        return price_of(*price_list_entry(self.model))

    @cached_property
    def shares(self) -> Shares:
        """Return the price of a token read from the cache and of one written to it; a fresh token costs 1."""
        if self.cached_price is not None:
            return shares_at(self.price, self.cached_price)
        return cache_shares(*price_list_entry(self.model))

    @cached_property
    def audio_share(self) -> float:
        """Return the price of a token of sound; one of text costs 1. The user's own price holds for both."""
        return 1.0 if self.listed_price is not None else audio_share(*price_list_entry(self.model))

    @cached_property
    def _provider(self) -> Provider:
        shared_provider = get_provider(f"litellm {self.address or provider_of(self.model)}", Key())
        shared_provider.join(self.limits)
        return shared_provider

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """Send prompts from several threads; a prompt is pulled only when a thread is free."""
        caller = _Caller(self, import_litellm(), self._provider, current_budget())
        return self._replies(caller, iter(prompts))

    def _replies(self, caller: _Caller, source: Iterator[Prompt]) -> Iterator[Reply]:
        running: set[Future[Reply]] = set()
        width, call_limit = self.limits.concurrency or WIDTH, current_call_limit()
        with ThreadPoolExecutor(width) as pool:
            try:
                while True:
                    free = 0 if caller.fatal_error else max(0, min(width, call_limit()) - len(running))
                    running.update(pool.submit(caller, prompt) for prompt in islice(source, free))
                    if not running:
                        break
                    finished_calls, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in finished_calls:
                        yield future.result()
            finally:
                caller.closing.set()
                for future in running:
                    future.cancel()
        if caller.fatal_error is not None:
            raise caller.fatal_error

    def body(self, prompt: Prompt, supported_params: frozenset[str]) -> dict[str, Any]:
        """Return the arguments of litellm's `completion`.

        litellm refuses parameters that a provider does not support. The seed of a resampled prompt and the JSON
        format are therefore sent only if they are in `supported_params`. Settings of the user are always sent. Blank
        parts are left out, because litellm would fill them with its own text.
        """
        turns = tuple(
            Turn(turn.role, tuple(join_text_parts(turn.parts)))
            for turn in prompt.turns
            if turn.role != "system" or turn.text.strip()
        )
        fitting = replace(
            prompt, turns=turns, seed=prompt.seed if "seed" in supported_params else None,
            json=prompt.json and "response_format" in supported_params,
        )  # fmt: skip
        sampling = self.sampling
        room = thinking_room(sampling.effort) if "claude" in self.model.lower() else 0
        if room:  # Claude's thinking counts towards max_tokens, and litellm does not raise a limit that is set
            sampling = replace(sampling, max_tokens=(sampling.max_tokens or REPLY_TOKENS) + room)
        as_files = provider_of(self.model) in _TAKES_VIDEO_FILES
        dialect = OpenAI(kinds=self._sent_kinds, videos_as_files=as_files)
        return dict(orjson.loads(dialect.body(self.model, fitting, sampling)))


class _Caller:
    """Sends one prompt through litellm and returns its reply; callable from any thread."""

    def __init__(self, model: LiteLLMModel, litellm: Any, server: Provider, budget: CallBudget | None) -> None:
        self._model, self._litellm, self._budget = model, litellm, budget
        self._requests, self._tokens = server.requests, server.tokens
        self._gate: Gate = server.gate(model.model)
        self._supported_params = supported_params(litellm, model.model)
        self._is_stopped = current_stop_check()
        self._has_answered = False
        self.fatal_error: ModelError | None = None
        self.closing = threading.Event()

    def __call__(self, prompt: Prompt) -> Reply:
        model, counter = self._model, UsageCounter(shares=self._model.shares, audio_share=self._model.audio_share)
        try:
            body = model.body(prompt, self._supported_params)
        except InputError as error:
            return Reply(prompt, error=str(error), failure=prompt_failure_kind(prompt))
        tries = Tries(time.monotonic() + model.limits.patience)
        while True:
            result = self._attempt_within_budget(body, prompt, counter, tries)
            if isinstance(result, str):
                unpaid = not tries.sent_count and self._budget is not None and bool(self._budget.empty)
                return replace(self._failed_reply(prompt, counter, result), failure="unasked" if unpaid else "passing")
            if isinstance(result, Reply):
                self._has_answered = True
                return result.with_usage(counter.usage(model.price))
            tries.count_attempt(result)
            if result.kind == "refused":
                return Reply(prompt, usage=counter.usage(model.price), stop="refused")
            is_unreachable = result.is_unconnected and not self._has_answered and tries.failed_count >= CONNECT_TRIES
            if result.kind == "model" or is_unreachable:
                self._end_run(describe_trouble(model.model, result))
                return self._failed_reply(prompt, counter, result.message)
            if result.kind in {"prompt", "unclear"}:
                return replace(
                    self._failed_reply(prompt, counter, result.message),
                    failure="permanent" if result.kind == "prompt" else "passing",
                )
            pause = retry_delay(result, tries, model.limits)
            over = tries.failed_count >= model.limits.attempts or tries.garbled_count >= GARBLED_TRIES
            if over or time.monotonic() + pause > tries.deadline or self._should_stop:
                return self._failed_reply(prompt, counter, tries.last_error)
            self._pause(pause)

    def _end_run(self, why: str) -> None:
        """End the stream with this error once all running calls have returned: no prompt can succeed."""
        self.fatal_error = self.fatal_error or ModelError(why)
        self.closing.set()

    def _failed_reply(self, prompt: Prompt, counter: UsageCounter, why: str) -> Reply:
        return Reply(prompt, usage=counter.usage(self._model.price), error=why)

    def _attempt_within_budget(
        self, body: dict[str, Any], prompt: Prompt, counter: UsageCounter, tries: Tries
    ) -> Reply | Trouble | str:
        budget, price = self._budget, self._model.price
        if budget is None or price is None:
            return self._attempt(body, prompt, counter)
        while not (why := budget.empty):
            reserved_dollars = budget.admit(
                lambda: expected_price(prompt, self._model.model, self._model.sampling, price)
            )
            if reserved_dollars is not None:
                break
            if self._should_stop:
                return "the run was told to stop"
            self._pause(POLL)
        else:
            return f"{why}; {tries.last_error}" if tries.sent_count else why
        before = counter.dollars(price)
        try:
            return self._attempt(body, prompt, counter)
        finally:
            budget.release(reserved_dollars)
            budget.spend(counter.dollars(price) - before)

    def _attempt(self, body: dict[str, Any], prompt: Prompt, counter: UsageCounter) -> Reply | Trouble:
        self._take_turn(prompt)
        start_time = time.monotonic()
        try:
            result = self._send_request(body, prompt, counter)
        finally:
            self._gate.release_probe()
        counter.seconds += time.monotonic() - start_time
        if isinstance(result, Reply) or result.kind not in {"again", "busy"}:
            self._gate.record_success()
            return result
        if result.wait is not None:
            self._gate.hold(result.wait)
        if result.status != RATE_LIMITED:
            self._gate.record_failure(result.message, self._model.limits)
        return result

    def _send_request(self, body: dict[str, Any], prompt: Prompt, counter: UsageCounter) -> Reply | Trouble:
        from openai import OpenAIError

        try:
            reply = self._litellm.completion(**body, timeout=self._model.limits.timeout, num_retries=0, max_retries=0)
        except OpenAIError as error:
            counter.retries += 1
            return trouble_from_error(error)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            counter.calls += 1  # litellm received an answer that it cannot parse
            return Trouble("garbled", f"litellm cannot read the answer ({type(error).__name__})")
        counter.calls += 1
        return read_payload(OpenAI(), reply.model_dump(), prompt, counter, self._model.model)

    def _take_turn(self, prompt: Prompt) -> None:
        """Wait until the circuit breaker and the limits per minute allow a call."""
        gate, patience = self._gate, self._model.limits.patience
        while gate.is_shut and not self._should_stop and (gate_seconds := gate.wait_seconds()):
            if gate.down_since is not None and time.monotonic() - gate.down_since > patience:
                self._end_run(
                    f"{self._model.model!r} has failed for {patience:g} s (the last: {gate.last_error}); what "
                    "is done is kept "
                    "and the same command goes on when its server is back"
                )
            self._pause(gate_seconds)
        pause = 0.0 if self._requests is None else self._requests.take()
        if self._tokens is not None:
            pause = max(pause, self._tokens.take(estimate_tokens(prompt, self._model.model, self._model.sampling)))
        self._pause(pause)

    @property
    def _should_stop(self) -> bool:
        return self.closing.is_set() or self._is_stopped()

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._should_stop and (left := until - time.monotonic()) > 0:
            self.closing.wait(min(left, HALT_SECONDS))
