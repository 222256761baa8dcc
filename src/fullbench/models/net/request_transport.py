"""One prompt to one reply over HTTP: paced, throttled, retried, counted."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import TracebackType

from fullbench.core.call import FailureKind
from fullbench.core.model import Prompt, Reply
from fullbench.errors import InputError, ModelError
from fullbench.models.dialects import Answer, Dialect
from fullbench.models.model_prices import FRESH, Shares
from fullbench.models.model_settings import Key, Limits, Sampling
from fullbench.models.net import error_meanings
from fullbench.models.net.budget_check import REPLY_TOKENS, Purse, expected_price, purse
from fullbench.models.net.call_deadlines import Deadlines
from fullbench.models.net.cancellation import HALT_SECONDS, halted
from fullbench.models.net.circuit_breaker import Provider
from fullbench.models.net.concurrent_calls import unread
from fullbench.models.net.hedged_requests import Hedge, race
from fullbench.models.net.http_client import BrokenOff, Connections, Exchange, NoConnection, NoHttp, speaks_tls
from fullbench.models.net.proxies import proxy_for
from fullbench.models.net.rate_limits import Throttle
from fullbench.models.net.retries import GARBLED_TRIES, RATE_LIMITED, Tries, lasting, wait_for
from fullbench.models.wire.reply_parsing import Tally, Trouble, read, refusal
from fullbench.models.wire.token_estimates import estimate
from fullbench.models.wire.untrusted_json import ENCODINGS, Misshapen, TooLarge, unpacked
from fullbench.text_safety import masked_bytes

_log = logging.getLogger("fullbench")
CONNECT_TRIES = 3
UNCLEAR_TRIES = 5
ALIEN_TRIES = 5
"""So many replies that no such API would send, before any other: the server is none."""
TOLD_AFTER = 5.0
"""A server that lets nobody through for so many seconds is told of; nobody wonders about less."""
MONEY_SECONDS = 0.02
"""So often a call looks whether those before it have left money for it."""


@dataclass(frozen=True)
class Line:
    """Whom to ask and how: all that stays the same from call to call."""

    dialect: Dialect
    base: str
    model: str
    sampling: Sampling
    limits: Limits
    price: tuple[float, float] | None
    key: Key
    secret: str | None = field(repr=False)
    shares: Shares = FRESH

    @property
    def server(self) -> str:
        return f"the server at {self.base}"

    def hide(self, raw: bytes) -> bytes:
        """A body without the key, should a server have repeated it: before anything of it is cut, kept or shown."""
        return masked_bytes(raw, self.secret)


class Caller:
    """Asks one server, as many prompts at a time as its throttle lets through."""

    def __init__(self, line: Line, throttle: Throttle, provider: Provider) -> None:
        self._line = line
        self._throttle = throttle
        self._requests = provider.requests
        self._tokens = provider.tokens
        self._deadlines = Deadlines(line.limits.timeout)
        self._gate = provider.gate(line.model)
        self._hedge = None if line.limits.hedge is None else Hedge(line.limits.hedge)
        self._url = line.dialect.url(line.base, line.model)
        self._proxy = proxy_for(self._url)
        self._purse = purse()
        self._halted = halted()
        self._answered = self._looked_for_tls = self._told_of_wait = False
        self._unclear = self._aliens = 0
        self._last_answer = 0.0
        self.ended: ModelError | None = None
        self._clock: Callable[[], float]
        self._closing: asyncio.Event
        self._connections: Connections

    async def __aenter__(self) -> Caller:
        self._clock = asyncio.get_running_loop().time
        self._last_answer = self._clock()
        self._closing = asyncio.Event()
        headers = {
            **self._line.dialect.headers(self._line.secret),
            "Accept": "application/json",
            "Accept-Encoding": ENCODINGS,
            "Content-Type": self._line.dialect.media,
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

    def hurry(self) -> None:
        self._closing.set()

    async def __call__(self, prompt: Prompt) -> Reply:
        """The reply to a prompt: an answer, a refusal or the error that no retry mended.

        What makes every further prompt pointless is an error of this one, so that what it used is told, and `ended`.
        """
        line, tally = self._line, Tally(shares=self._line.shares)
        try:
            body = line.dialect.body(line.model, prompt, line.sampling)
        except InputError as error:
            return Reply(prompt, error=str(error), failure=lasting(prompt))
        guess = 0
        if self._tokens is not None:
            guess = estimate(prompt, line.model) + (line.sampling.max_tokens or REPLY_TOKENS)
        tries = Tries(self._clock() + line.limits.patience)
        while True:
            if self._purse is None:
                result = await self._attempt(body, prompt, guess, tally)
            else:
                aside = await self._money(self._purse, prompt)
                if isinstance(aside, str):
                    if not tries.sent:
                        return self._failed(prompt, tally, aside, "unasked")
                    return self._failed(prompt, tally, f"{aside}; {tries.last}")
                before = tally.dollars(line.price)
                try:
                    result = await self._attempt(body, prompt, guess, tally)
                finally:
                    self._purse.release(aside)
                self._purse.spend(tally.dollars(line.price) - before)
            if isinstance(result, Answer):
                reply = result.reply(prompt, tally.usage(line.price))
                tags = line.dialect.kept(prompt, line.sampling)
                return replace(reply, tags=tags) if tags else reply
            tries.count(result)
            if result.kind == "refused":
                return Reply(prompt, usage=tally.usage(line.price), stop="refused")
            if (over := self._over(result, tries)) is not None:
                return self._failed(prompt, tally, *over)
            wait = wait_for(result, tries, line.limits)
            late = self._clock() + wait > tries.give_up
            if result.status == RATE_LIMITED:
                self._limited(result, wait, late=late)
            if tries.failed < line.limits.attempts and not (late or self._over_soon):
                await self._pause(wait)
            if tries.failed >= line.limits.attempts or late or self._over_soon:
                return self._failed(prompt, tally, tries.last)

    async def _money(self, purse: Purse, prompt: Prompt) -> float | str:
        """What is set aside for a call, once there is money for it, or why there is none."""
        line = self._line
        while not (why := purse.empty):
            aside = purse.admit(lambda: expected_price(prompt, line.model, line.sampling, line.price or (0.0, 0.0)))
            if aside is not None:
                return aside
            await asyncio.sleep(MONEY_SECONDS)
        return why

    def _failed(self, prompt: Prompt, tally: Tally, why: str, kind: FailureKind = "passing") -> Reply:
        return Reply(prompt, usage=tally.usage(self._line.price), error=why, failure=kind)

    async def _attempt(self, body: bytes, prompt: Prompt, guess: int, tally: Tally) -> Answer | Trouble:
        await self._throttle.enter()
        try:
            if self._gate.shut:
                return await self._behind_gate(body, prompt, guess, tally)
            return await self._send(body, prompt, guess, tally)
        finally:
            self._throttle.leave()

    async def _behind_gate(self, body: bytes, prompt: Prompt, guess: int, tally: Tally) -> Answer | Trouble:
        """Wait until the server may be asked again, and ask; when it has been gone for too long, the run ends."""
        gate, limits = self._gate, self._line.limits
        while wait := gate.turn():
            if gate.down_since is not None and time.monotonic() - gate.down_since > limits.patience:
                self._end(
                    f"{self._line.server} has failed for {limits.patience:g} s (the last: {gate.why}); what was done "
                    "is kept, and the same command goes on when it is back. Where only some prompts make it fail, "
                    "?breaks=1000000 lets each of them fail by itself"
                )
                return Trouble("again", gate.why)
            if self._over_soon:
                break
            await self._pause(wait)
        try:
            return await self._send(body, prompt, guess, tally)
        finally:
            gate.gave_up()

    def _end(self, why: str) -> None:
        """No prompt can do: the stream ends when all that is on its way is back, and says why."""
        self.ended = self.ended or ModelError(why)
        self._closing.set()

    def _limited(self, trouble: Trouble, wait: float, *, late: bool) -> None:
        """A rate limit is waited for, and that is said; one that let nobody through for all of `patience` is none."""
        patience, since = self._line.limits.patience, self._clock() - self._last_answer
        if trouble.wait is not None and trouble.wait > patience:
            self._end(
                f"{self._line.server} asks to be left alone for {trouble.wait:,.0f} s ({trouble.message}), and "
                f"patience lasts {patience:g} s; what was done is kept, and the same command goes on later, or "
                f"waits with ?patience={trouble.wait * 2:.0f}"
            )
        elif not self._told_of_wait and since + wait > TOLD_AFTER:
            self._told_of_wait = True
            _log.warning(
                "%s at %s has too much to do (%s); calls wait for it, %g s at the most",
                self._line.model, self._line.base, trouble.message, patience,
            )  # fmt: skip
        if late and since >= patience:
            self._end(
                f"{self._line.server} has answered nothing for {patience:g} s but that it has too much to do "
                f"({trouble.message}); what was done is kept, and the same command goes on from here"
            )

    async def _send(self, body: bytes, prompt: Prompt, guess: int, tally: Tally) -> Answer | Trouble:
        await self._take_turn(guess)
        sent, started = self._throttle.clock(), time.monotonic()
        before = tally.tokens_in + tally.tokens_out
        result = await self._posted(body, prompt, tally)
        # Not the loop's clock, which stands still while the caller is busy: the server does not.
        took = max(0.0, (now := time.monotonic()) - started - unread(now))
        tally.seconds += took
        if self._tokens is not None:
            self._tokens.correct(tally.tokens_in + tally.tokens_out - before - guess)
        if isinstance(result, Answer):
            self._answered = True
            self._last_answer = self._clock()
            self._throttle.went_well()
            self._gate.good()
            if self._hedge is not None:
                self._hedge.saw(took)
        else:
            self._mind(result, sent)
        return result

    def _mind(self, trouble: Trouble, sent: float) -> None:
        """What a trouble means for the calls to come."""
        if trouble.kind == "busy":
            self._throttle.was_too_much(sent, trouble.wait)
            if trouble.wait is not None and trouble.wait <= self._line.limits.patience:
                self._gate.hold(trouble.wait)
        if trouble.kind == "again" or trouble.status in {503, 529}:
            self._gate.bad(trouble.message, self._line.limits)
        else:
            self._gate.good()

    async def _posted(self, body: bytes, prompt: Prompt, tally: Tally) -> Answer | Trouble:
        after = None if self._hedge is None else self._hedge.after()
        if after is None:
            return await self._post(body, prompt, tally)
        return await race(lambda used: self._post(body, prompt, used), after, tally)

    async def _take_turn(self, guess: int) -> None:
        wait = 0.0 if self._requests is None else self._requests.take()
        if self._tokens is not None:
            wait = max(wait, self._tokens.take(guess))
        if wait:
            await asyncio.sleep(wait)

    async def _post(self, body: bytes, prompt: Prompt, tally: Tally) -> Answer | Trouble:
        """One attempt. Once the server has said 200 the call counts as answered, whatever comes after."""
        exchange, task = Exchange(), self._deadlines.begin()
        try:
            await self._connections.post(body, exchange)
            raw = unpacked(exchange.body, exchange.headers.get("content-encoding", "").lower())
        except (Misshapen, TooLarge) as error:
            return self._unpackable(str(error), exchange.status, prompt, tally)
        except NoConnection as error:
            tally.retries += 1
            return Trouble("again", str(error), unconnected=True)
        except NoHttp as error:
            self._count_broken(exchange.status, prompt, tally)
            await self._refuse_plain(exchange)
            return Trouble("again", str(error), alien="something that is no HTTP")
        except BrokenOff as error:
            self._count_broken(exchange.status, prompt, tally)
            await self._refuse_plain(exchange)
            return Trouble("again", f"the connection broke off ({error})")
        except asyncio.CancelledError:
            if not self._deadlines.cut(task):
                raise
            self._count_broken(exchange.status, prompt, tally)
            return Trouble("again", f"no whole answer within {self._line.limits.timeout:g} s")
        finally:
            self._deadlines.end(task)
            tally.calls += exchange.status == 200
        raw = self._line.hide(raw)
        if exchange.status != 200:
            tally.retries += 1
            return refusal(exchange.status, raw, exchange.headers)
        return read(self._line.dialect, raw, prompt, tally, self._line.model)

    async def _refuse_plain(self, exchange: Exchange) -> None:
        """What breaks off before it has ever answered may speak TLS: that is looked for once, and ends the run."""
        if self._answered or exchange.status or self._looked_for_tls or self._proxy is not None:
            return
        self._looked_for_tls = True
        if self._url.startswith("http://") and await speaks_tls(self._url):
            self._end(f"{self._line.server} speaks TLS there; write https:// in place of http://")

    def _unpackable(self, why: str, seen: int, prompt: Prompt, tally: Tally) -> Trouble:
        if seen != 200:
            tally.retries += 1
            return refusal(seen, why.encode(), {})
        tally.tokens_in += estimate(prompt, self._line.model)
        return Trouble("garbled", f"200 with {why}")

    def _count_broken(self, seen: int, prompt: Prompt, tally: Tally) -> None:
        if seen == 200:
            tally.tokens_in += estimate(prompt, self._line.model)
        else:
            tally.retries += 1

    def _over(self, trouble: Trouble, tries: Tries) -> tuple[str, FailureKind] | None:
        """The error that ends the prompt, and whether it lasts; None when it may be tried again."""
        line = self._line
        if trouble.unconnected and not self._answered and tries.failed >= CONNECT_TRIES:
            self._end(f"{line.server} cannot be reached: {trouble.message}; start it, or check the URL")
        if trouble.alien and not self._answered:
            self._aliens += 1
            if self._aliens >= ALIEN_TRIES:
                stream = trouble.alien == "a stream of events"
                remedy = "let it answer in one piece" if stream else "check the URL, which often ends in /v1"
                self._end(
                    f"{line.server} is no API that speaks {line.dialect.name}: it sends {trouble.alien} "
                    f"({trouble.message}); {remedy}"
                )
        if trouble.kind == "garbled" and tries.garbled >= GARBLED_TRIES:
            return tries.last, "passing"
        if trouble.complaint is None or trouble.kind in {"again", "busy", "garbled"}:
            return None
        if trouble.kind == "unclear" and not self._answered:
            self._unclear += 1
        if trouble.kind == "model" or self._unclear >= UNCLEAR_TRIES:
            self._end(
                error_meanings.sentence(
                    trouble.status, trouble.complaint, server=line.server, model=line.model, key=line.key.hint
                )
            )
        return trouble.message, "permanent" if trouble.kind == "prompt" else "passing"

    @property
    def _over_soon(self) -> bool:
        """Whether nothing is tried again: no prompt can do, or the run was told to stop."""
        return self._closing.is_set() or self._halted()

    async def _pause(self, seconds: float) -> None:
        until = self._clock() + seconds
        while not self._over_soon and (left := until - self._clock()) > 0:
            try:
                async with asyncio.timeout(min(left, HALT_SECONDS)):
                    await self._closing.wait()
            except TimeoutError:
                continue
