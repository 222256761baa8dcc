"""`Caller`: sends one prompt over HTTP and returns its reply, with rate limits, retries and cost counting."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import TracebackType

from fullbench.core.model import Prompt, Reply
from fullbench.core.model_call import FailureKind
from fullbench.errors import InputError, ModelError
from fullbench.models.dialects import Dialect
from fullbench.models.model_prices import FRESH, Shares
from fullbench.models.model_settings import Key, Limits, Sampling
from fullbench.models.net import error_meanings
from fullbench.models.net.budget_reservations import REPLY_TOKENS, CallBudget, current_budget, expected_price
from fullbench.models.net.cancellation import HALT_SECONDS, current_stop_check
from fullbench.models.net.concurrent_calls import unread_seconds
from fullbench.models.net.hedged_requests import Hedge, race_requests
from fullbench.models.net.http_client import (
    Connections,
    NoConnection,
    ProxyRefusal,
    connection_timeout_reason,
    speaks_tls,
)
from fullbench.models.net.http_response_parser import BrokenOff, Exchange, NoHttp
from fullbench.models.net.large_requests import RequestSender
from fullbench.models.net.proxies import proxy_for
from fullbench.models.net.rate_limits import Throttle
from fullbench.models.net.retries import GARBLED_TRIES, RATE_LIMITED, Tries, prompt_failure_kind, retry_delay
from fullbench.models.net.server_rates_and_circuit_breakers import Provider
from fullbench.models.net.uploaded_files import FileUploader
from fullbench.models.wire.reply_parsing import Trouble, UsageCounter, read_body, trouble_from_response
from fullbench.models.wire.token_estimates import estimate_tokens
from fullbench.models.wire.untrusted_json import ENCODINGS, Misshapen, TooLarge, decompress_body
from fullbench.secret_masking_and_text_escapes import mask_secret_in_bytes


class Deadlines:
    """The same time limit for each call. As all limits are equal, the call that began first is due first."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._due: dict[asyncio.Task[object], float] = {}
        self._late: set[asyncio.Task[object]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> asyncio.Task[object]:
        """Start the limit of the running task. The task must call `end` when it is done, however it ended."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a deadline is a task's")
        loop = task.get_loop()
        due = self._due[task] = loop.time() + self._seconds
        if self._timer is None:
            self._timer = loop.call_at(due, self._cancel_late_tasks, loop)
        return task

    def end(self, task: asyncio.Task[object]) -> None:
        self._due.pop(task, None)
        self._late.discard(task)

    def is_timeout(self, task: asyncio.Task[object]) -> bool:
        """Return True if a cancelled task may continue: only its deadline cancelled it."""
        return task in self._late and task.uncancel() == 0

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _cancel_late_tasks(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        self._timer = None
        for task, due in self._due.items():
            if due > now:
                self._timer = loop.call_at(due, self._cancel_late_tasks, loop)
                return
            if task not in self._late:
                self._late.add(task)
                task.cancel()


_log = logging.getLogger("fullbench")
CONNECT_TRIES = 3
UNCLEAR_TRIES = 5
REDIRECT_TRIES = 5
"""Redirects without any proper reply before the run ends. A single one may come from a maintenance page."""
ALIEN_TRIES = 5
"""Replies that no such API would send, without any proper one, before the run ends."""
WARN_AFTER_SECONDS = 5.0
"""A warning appears if the server lets no call through for this many seconds."""
MONEY_SECONDS = 0.02
"""Seconds between checks whether earlier calls left money in the budget."""


@dataclass(frozen=True)
class CallTarget:
    """Server, model and settings: everything that stays the same from call to call."""

    dialect: Dialect
    base: str
    model: str
    sampling: Sampling
    limits: Limits
    price: tuple[float, float] | None
    key: Key
    secret: str | None = field(repr=False)
    shares: Shares = FRESH
    audio_share: float = 1.0

    @property
    def server(self) -> str:
        return f"the server at {self.base}"

    def hide(self, raw: bytes) -> bytes:
        """Mask the key in a body, in case the server repeated it, before any of it is cut, stored or shown."""
        return mask_secret_in_bytes(raw, self.secret)


class Caller:
    """Sends prompts to one server, as many at a time as its throttle allows."""

    def __init__(self, target: CallTarget, throttle: Throttle, provider: Provider) -> None:
        self._target = target
        self._throttle = throttle
        self._requests = provider.requests
        self._tokens = provider.tokens
        self._uploads = provider.uploads
        self._deadlines = Deadlines(target.limits.timeout)
        self._gate = provider.gate(target.model)
        self._hedge = None if target.limits.hedge is None else Hedge(target.limits.hedge)
        self._url = target.dialect.url(target.base, target.model)
        self._proxy = proxy_for(self._url)
        self._budget = current_budget()
        self._is_stopped = current_stop_check()
        self._has_answered = self._has_checked_tls = self._has_warned_of_wait = False
        self._unclear_count = self._alien_count = self._redirect_count = 0
        self._last_answer = 0.0
        self.fatal_error: ModelError | None = None
        self._clock: Callable[[], float]
        self._closing: asyncio.Event
        self._connections: Connections

    async def __aenter__(self) -> Caller:
        self._clock = asyncio.get_running_loop().time
        self._last_answer = self._clock()
        self._closing = asyncio.Event()
        headers = {
            **self._target.dialect.headers(self._target.secret),
            "Accept": "application/json",
            "Accept-Encoding": ENCODINGS,
            "Content-Type": self._target.dialect.media,
        }
        self._connections = Connections(self._url, headers, self._proxy)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._throttle.close()
        self._deadlines.close()
        self._connections.close()

    @property
    def width(self) -> int:
        return self._throttle.width

    def stop_waiting(self) -> None:
        self._closing.set()

    async def __call__(self, prompt: Prompt) -> Reply:
        """An error that dooms every further prompt also sets `fatal_error`; it is still returned with its usage."""
        target, counter = self._target, UsageCounter(shares=self._target.shares, audio_share=self._target.audio_share)
        try:
            body = self._body_without_uploads(prompt)
        except InputError as error:
            return Reply(prompt, error=str(error), failure=prompt_failure_kind(prompt))
        guess = 0
        if self._tokens is not None:
            guess = estimate_tokens(prompt, target.model, target.sampling) + (
                target.sampling.max_tokens or REPLY_TOKENS
            )
        tries = Tries(self._clock() + target.limits.patience)
        while True:
            if self._budget is None:
                result = await self._attempt(body, prompt, guess, counter)
            else:
                reserved_dollars = await self._reserve_money(self._budget, prompt)
                if isinstance(reserved_dollars, str):
                    if not tries.sent_count:
                        return self._failed_reply(prompt, counter, reserved_dollars, "unasked")
                    return self._failed_reply(prompt, counter, f"{reserved_dollars}; {tries.last_error}")
                before = counter.dollars(target.price)
                try:
                    result = await self._attempt(body, prompt, guess, counter)
                finally:
                    self._budget.release(reserved_dollars)
                self._budget.spend(counter.dollars(target.price) - before)
            if isinstance(result, Reply):
                tags = target.dialect.reply_tags(prompt, target.sampling)
                return result.with_usage(counter.usage(target.price), tags)
            tries.count_attempt(result)
            if result.kind == "refused":
                return Reply(prompt, usage=counter.usage(target.price), stop="refused")
            if (final_error := self._final_error(result, tries)) is not None:
                return self._failed_reply(prompt, counter, *final_error)
            wait = retry_delay(result, tries, target.limits)
            late = self._clock() + wait > tries.deadline
            if result.status == RATE_LIMITED:
                self._report_rate_limit(result, wait, late=late)
            if tries.failed_count < target.limits.attempts and not (late or self._should_stop):
                await self._pause(wait)
            if tries.failed_count >= target.limits.attempts or late or self._should_stop:
                return self._failed_reply(prompt, counter, tries.last_error)

    async def _reserve_money(self, budget: CallBudget, prompt: Prompt) -> float | str:
        target = self._target
        while not (why := budget.empty):
            reserved_dollars = budget.admit(
                lambda: expected_price(
                    prompt, target.model, target.sampling, target.price or (0.0, 0.0), target.audio_share
                )
            )
            if reserved_dollars is not None:
                return reserved_dollars
            await asyncio.sleep(MONEY_SECONDS)
        return why

    def _failed_reply(self, prompt: Prompt, counter: UsageCounter, why: str, kind: FailureKind = "passing") -> Reply:
        return Reply(prompt, usage=counter.usage(self._target.price), error=why, failure=kind)

    async def _attempt(self, body: bytes | None, prompt: Prompt, guess: int, counter: UsageCounter) -> Reply | Trouble:
        await self._throttle.enter()
        try:
            if self._gate.is_shut:
                return await self._behind_gate(body, prompt, guess, counter)
            return await self._send(body, prompt, guess, counter)
        except InputError as error:  # a file cannot be uploaded
            return self._failed_reply(prompt, counter, str(error), prompt_failure_kind(prompt))
        finally:
            self._throttle.leave()

    def _body_without_uploads(self, prompt: Prompt) -> bytes | None:
        """Return the body of the request, or None if each attempt must first make sure that files are uploaded."""
        target = self._target
        if target.dialect.files_to_upload(prompt):
            return None
        return target.dialect.body(target.model, prompt, target.sampling)

    async def _body_with_uploads(self, prompt: Prompt) -> bytes | Trouble:
        """Upload the large files of a prompt, and return the body of the request that names them."""
        target = self._target
        headers = target.dialect.headers(target.secret)
        uploader = FileUploader(
            target.base, RequestSender(headers, target.limits.timeout, target.hide), self._uploads,
            target.limits.patience, self._pause, lambda: self._should_stop,
        )  # fmt: skip
        addresses = await uploader.upload(target.dialect.files_to_upload(prompt))
        if isinstance(addresses, Trouble):
            return addresses
        return target.dialect.body_with_files(target.model, prompt, target.sampling, addresses)

    def _forget_deleted_files(self, trouble: Trouble, prompt: Prompt) -> Trouble:
        """If the server has deleted a file, let the next attempt upload it again."""
        if "file" not in trouble.message.lower():
            return trouble
        for part in self._target.dialect.files_to_upload(prompt):
            self._uploads.files.pop(part.digest, None)
        return replace(trouble, kind="again", complaint=None)

    async def _behind_gate(
        self, body: bytes | None, prompt: Prompt, guess: int, counter: UsageCounter
    ) -> Reply | Trouble:
        """Wait until the gate opens, then send. End the run if the server has been down too long."""
        gate, limits = self._gate, self._target.limits
        while wait := gate.wait_seconds():
            if gate.down_since is not None and time.monotonic() - gate.down_since > limits.patience:
                self._end_run(
                    f"{self._target.server} has failed for {limits.patience:g} s (the last: {gate.last_error}); "
                    "what was done "
                    "is kept, and the same command goes on when it is back. Where only some prompts make it fail, "
                    "?breaks=1000000 lets each of them fail by itself"
                )
                return Trouble("again", gate.last_error)
            if self._should_stop:
                break
            await self._pause(wait)
        try:
            return await self._send(body, prompt, guess, counter)
        finally:
            gate.release_probe()

    def _end_run(self, why: str) -> None:
        """End the stream with this error once all running calls have returned: no prompt can succeed."""
        self.fatal_error = self.fatal_error or ModelError(why)
        self._closing.set()

    def _report_rate_limit(self, trouble: Trouble, wait: float, *, late: bool) -> None:
        """Warn about a long rate limit. End the run if no call got through for `patience` seconds."""
        patience, since = self._target.limits.patience, self._clock() - self._last_answer
        if trouble.wait is not None and trouble.wait > patience:
            self._end_run(
                f"{self._target.server} asks to be left alone for {trouble.wait:,.0f} s ({trouble.message}), and "
                f"patience lasts {patience:g} s; what was done is kept, and the same command goes on later, or "
                f"waits with ?patience={trouble.wait * 2:.0f}"
            )
        elif not self._has_warned_of_wait and since + wait > WARN_AFTER_SECONDS:
            self._has_warned_of_wait = True
            _log.warning(
                "%s at %s has too much to do (%s); calls wait for it, %g s at the most",
                self._target.model,
                self._target.base,
                trouble.message,
                patience,
            )
        if late and since >= patience:
            self._end_run(
                f"{self._target.server} has answered nothing for {patience:g} s but that it has too much to do "
                f"({trouble.message}); what was done is kept, and the same command goes on from here"
            )

    async def _send(self, body: bytes | None, prompt: Prompt, guess: int, counter: UsageCounter) -> Reply | Trouble:
        has_uploads = body is None
        if body is None:
            sent_at, prepared_body = self._throttle.clock(), await self._body_with_uploads(prompt)
            if isinstance(prepared_body, Trouble):
                counter.retries += 1
                self._adjust_to_trouble(prepared_body, sent_at)
                return prepared_body
            body = prepared_body
        await self._take_turn(guess)
        sent_at, start_time = self._throttle.clock(), time.monotonic()
        before = counter.tokens_in + counter.tokens_out
        result = await self._post_with_hedge(body, prompt, counter)
        if has_uploads and isinstance(result, Trouble) and result.status in {403, 404}:
            result = self._forget_deleted_files(result, prompt)
        # The loop's clock stops while the caller is busy, but the server does not.
        duration = max(0.0, (now := time.monotonic()) - start_time - unread_seconds(now))
        counter.seconds += duration
        if self._tokens is not None:
            self._tokens.correct(counter.tokens_in + counter.tokens_out - before - guess)
        if isinstance(result, Reply):
            self._has_answered = True
            self._last_answer = self._clock()
            self._throttle.record_success()
            self._gate.record_success()
            if self._hedge is not None:
                self._hedge.record_duration(duration)
        else:
            self._adjust_to_trouble(result, sent_at)
        return result

    def _adjust_to_trouble(self, trouble: Trouble, sent_at: float) -> None:
        if trouble.kind == "busy":
            self._throttle.record_overload(sent_at, trouble.wait)
            if trouble.wait is not None and trouble.wait <= self._target.limits.patience:
                self._gate.hold(trouble.wait)
        if trouble.kind == "again" or trouble.status in {503, 529}:
            self._gate.record_failure(trouble.message, self._target.limits)
        else:
            self._gate.record_success()

    async def _post_with_hedge(self, body: bytes, prompt: Prompt, counter: UsageCounter) -> Reply | Trouble:
        delay = None if self._hedge is None else self._hedge.slow_threshold()
        if delay is None:
            return await self._post(body, prompt, counter)
        return await race_requests(lambda attempt_counter: self._post(body, prompt, attempt_counter), delay, counter)

    async def _take_turn(self, guess: int) -> None:
        wait = 0.0 if self._requests is None else self._requests.take()
        if self._tokens is not None:
            wait = max(wait, self._tokens.take(guess))
        if wait:
            await asyncio.sleep(wait)

    async def _post(self, body: bytes, prompt: Prompt, counter: UsageCounter) -> Reply | Trouble:
        """Once the status is 200 the call counts as answered, whatever follows."""
        exchange, task = Exchange(), self._deadlines.begin()
        try:
            await self._connections.post(body, exchange)
            raw = decompress_body(exchange.body, exchange.headers.get("content-encoding", "").lower())
        except (Misshapen, TooLarge) as error:
            return self._unpacking_trouble(str(error), exchange.status, prompt, counter)
        except NoConnection as error:
            counter.retries += 1
            if isinstance(error, ProxyRefusal):
                self._end_run(error_meanings.describe_proxy_refusal(self._target.server, str(error)))
            return Trouble("again", str(error), is_unconnected=True)
        except NoHttp as error:
            self._count_broken(exchange.status, prompt, counter)
            self._deadlines.end(task)  # the check has a limit of its own
            await self._check_for_tls(exchange)
            return Trouble("again", str(error), alien="something that is no HTTP")
        except BrokenOff as error:
            self._count_broken(exchange.status, prompt, counter)
            self._deadlines.end(task)  # the check has a limit of its own
            await self._check_for_tls(exchange)
            return Trouble("again", f"the connection broke off ({error})")
        except asyncio.CancelledError:
            if not self._deadlines.is_timeout(task):
                raise
            self._count_broken(exchange.status, prompt, counter)
            seconds = self._target.limits.timeout
            if exchange.phase != "request":
                return Trouble("again", connection_timeout_reason(exchange, seconds), is_unconnected=True)
            return Trouble("again", f"no whole answer within {seconds:g} s")
        finally:
            self._deadlines.end(task)
            counter.calls += exchange.status == 200
        raw = self._target.hide(raw)
        if exchange.status != 200:
            counter.retries += 1
            return trouble_from_response(exchange.status, raw, exchange.headers)
        return read_body(self._target.dialect, raw, prompt, counter, self._target.model)

    async def _check_for_tls(self, exchange: Exchange) -> None:
        """Check once whether a server that broke off before any answer speaks TLS; if so, end the run."""
        if self._has_answered or exchange.status or self._has_checked_tls or self._proxy is not None:
            return
        self._has_checked_tls = True
        if self._url.startswith("http://") and await speaks_tls(self._url, self._target.limits.timeout):
            self._end_run(f"{self._target.server} speaks TLS there; write https:// in place of http://")

    def _unpacking_trouble(self, why: str, status: int, prompt: Prompt, counter: UsageCounter) -> Trouble:
        if status != 200:
            counter.retries += 1
            return trouble_from_response(status, why.encode(), {})
        counter.tokens_in += estimate_tokens(prompt, self._target.model, self._target.sampling)
        return Trouble("garbled", f"200 with {why}")

    def _count_broken(self, status: int, prompt: Prompt, counter: UsageCounter) -> None:
        if status == 200:
            counter.tokens_in += estimate_tokens(prompt, self._target.model, self._target.sampling)
        else:
            counter.retries += 1

    def _final_error(self, trouble: Trouble, tries: Tries) -> tuple[str, FailureKind] | None:
        target = self._target
        if trouble.is_unconnected and not self._has_answered and tries.failed_count >= CONNECT_TRIES:
            self._end_run(f"{target.server} cannot be reached: {trouble.message}; start it, or check the URL")
        if 300 <= trouble.status < 400 and trouble.complaint is not None and not self._has_answered:
            self._redirect_count += 1
            if self._redirect_count >= REDIRECT_TRIES:
                self._end_run_after_complaint(trouble.status, trouble.complaint)
        if trouble.alien and not self._has_answered:
            self._alien_count += 1
            if self._alien_count >= ALIEN_TRIES:
                stream = trouble.alien == "a stream of events"
                remedy = "let it answer in one piece" if stream else "check the URL, which often ends in /v1"
                self._end_run(
                    f"{target.server} is no API that speaks {target.dialect.name}: it sends {trouble.alien} "
                    f"({trouble.message}); {remedy}"
                )
        if trouble.kind == "garbled" and tries.garbled_count >= GARBLED_TRIES:
            return tries.last_error, "passing"
        if trouble.complaint is None or trouble.kind in {"again", "busy", "garbled"}:
            return None
        if trouble.kind == "unclear" and not self._has_answered:
            self._unclear_count += 1
        if trouble.kind == "model" or self._unclear_count >= UNCLEAR_TRIES:
            self._end_run_after_complaint(trouble.status, trouble.complaint)
        return trouble.message, "permanent" if trouble.kind == "prompt" else "passing"

    def _end_run_after_complaint(self, status: int, complaint: error_meanings.Complaint) -> None:
        target = self._target
        self._end_run(
            error_meanings.describe_complaint(
                status, complaint, server=target.server, model=target.model, key=target.key.hint
            )
        )

    @property
    def _should_stop(self) -> bool:
        return self._closing.is_set() or self._is_stopped()

    async def _pause(self, seconds: float) -> None:
        until = self._clock() + seconds
        while not self._should_stop and (left := until - self._clock()) > 0:
            try:
                async with asyncio.timeout(min(left, HALT_SECONDS)):
                    await self._closing.wait()
            except TimeoutError:
                continue
