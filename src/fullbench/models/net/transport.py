"""One prompt to one reply over HTTP: paced, throttled, retried, counted."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.payload import BytesPayload, Payload
from yarl import URL

from fullbench.errors import InputError, ModelError
from fullbench.hygiene import masked, masked_bytes
from fullbench.models.dialects import Answer, Dialect
from fullbench.models.net import complaints
from fullbench.models.net.deadlines import Deadlines
from fullbench.models.net.hedging import Hedge, race
from fullbench.models.net.limits import Throttle
from fullbench.models.net.providers import Provider
from fullbench.models.prices import is_local
from fullbench.models.replies import Tally, Trouble, read, refusal
from fullbench.models.settings import Key, Limits, Sampling
from fullbench.models.tokens import estimate
from fullbench.nouns.model import Prompt, Reply

LONGEST_WAIT = 30.0
CONNECT_TRIES = 3
CONNECT_SECONDS = 10.0
UNCLEAR_TRIES = 5
REPLY_TOKENS = 256


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

    @property
    def server(self) -> str:
        return f"the server at {self.base}"

    def hide(self, text: str) -> str:
        """The text without the key, should a server have repeated it."""
        return masked(text, [self.secret])


class _Body(BytesPayload):
    """Bytes to send; larger ones too (aiohttp would warn of those above a megabyte)."""

    def __init__(self, value: bytes) -> None:
        Payload.__init__(self, value, content_type="application/json")
        self._size = len(value)


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
        self._url = URL(line.dialect.url(line.base, line.model), encoded=True)
        self._answered = False
        self._unclear = 0
        self._clock: Callable[[], float]
        self._closing: asyncio.Event
        self._session: aiohttp.ClientSession

    async def __aenter__(self) -> Caller:
        self._clock = asyncio.get_running_loop().time
        self._closing = asyncio.Event()
        self._session = aiohttp.ClientSession(
            headers={**self._line.dialect.headers(self._line.secret), "Accept": "application/json"},
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=proxy_for(self._url),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._throttle.close()
        self._deadlines.close()
        await self._session.close()

    @property
    def width(self) -> int:
        return self._throttle.width

    def hurry(self) -> None:
        self._closing.set()

    async def __call__(self, prompt: Prompt) -> Reply:
        """The reply to a prompt: an answer, a refusal or the error that no retry mended."""
        line, tally = self._line, Tally()
        try:
            body = _Body(line.dialect.body(line.model, prompt, line.sampling))
        except InputError as error:
            return Reply(prompt, error=str(error))
        guess = 0
        if self._tokens is not None:
            guess = estimate(prompt) + (line.sampling.max_tokens or REPLY_TOKENS)
        give_up = self._clock() + line.limits.patience
        attempt = 0
        while True:
            attempt += 1
            result = await self._attempt(body, prompt, guess, tally)
            if isinstance(result, Answer):
                return result.reply(prompt, tally.usage(line.price))
            settled = self._settle(result, attempt)
            if settled is not None:
                return Reply(prompt, usage=tally.usage(line.price), error=settled[0], stop=settled[1])
            wait = self._wait(result, attempt)
            late = self._clock() + wait > give_up
            if attempt >= line.limits.attempts or late or self._closing.is_set():
                tries = "1 attempt" if attempt == 1 else f"{attempt} attempts"
                why = f"no answer after {tries}; the last one: {result.message}"
                return Reply(prompt, usage=tally.usage(line.price), error=line.hide(why))
            await self._pause(wait)

    async def _attempt(self, body: Payload, prompt: Prompt, guess: int, tally: Tally) -> Answer | Trouble:
        await self._throttle.enter()
        try:
            if self._gate.shut:
                return await self._behind_gate(body, prompt, guess, tally)
            return await self._send(body, prompt, guess, tally)
        finally:
            self._throttle.leave()

    async def _behind_gate(self, body: Payload, prompt: Prompt, guess: int, tally: Tally) -> Answer | Trouble:
        """Wait until the server may be asked again, and ask; raises when it has been gone for too long."""
        gate, limits = self._gate, self._line.limits
        while wait := gate.turn():
            if gate.down_since is not None and time.monotonic() - gate.down_since > limits.patience:
                raise ModelError(self._gone(gate.why))
            if self._closing.is_set():
                break
            await self._pause(wait)
        try:
            return await self._send(body, prompt, guess, tally)
        finally:
            gate.gave_up()

    def _gone(self, why: str) -> str:
        line = self._line
        return (
            f"{line.server} has failed for {line.limits.patience:g} s (the last: {why}); what was done is kept, and "
            "the same command goes on when it is back. Where only some prompts make it fail, ?breaks=1000000 lets each "
            "of them fail by itself"
        )

    async def _send(self, body: Payload, prompt: Prompt, guess: int, tally: Tally) -> Answer | Trouble:
        await self._take_turn(guess)
        sent, started = self._throttle.clock(), self._clock()
        before = tally.tokens_in + tally.tokens_out
        result = await self._posted(body, prompt, tally)
        took = self._clock() - started
        tally.seconds += took
        if self._tokens is not None:
            self._tokens.correct(tally.tokens_in + tally.tokens_out - before - guess)
        if isinstance(result, Answer):
            self._answered = True
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
            if trouble.wait is not None:
                self._gate.hold(trouble.wait)
        if trouble.kind == "again" or trouble.status in {503, 529}:
            self._gate.bad(self._line.hide(trouble.message), self._line.limits)
        else:
            self._gate.good()

    async def _posted(self, body: Payload, prompt: Prompt, tally: Tally) -> Answer | Trouble:
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

    async def _post(self, body: Payload, prompt: Prompt, tally: Tally) -> Answer | Trouble:
        """One attempt. Once the server has said 200 the call counts as answered, whatever comes after."""
        seen, task = 0, self._deadlines.begin()
        try:
            response = await self._session.post(self._url, data=body, allow_redirects=False)
            seen = response.status
            if seen == 200:
                tally.calls += 1
            raw = masked_bytes(await _whole(response), self._line.secret)
        except aiohttp.ClientConnectorError as error:
            tally.retries += 1
            return Trouble("again", f"no connection ({error.strerror or error})", unconnected=True)
        except aiohttp.ConnectionTimeoutError:
            tally.retries += 1
            return Trouble("again", "no connection in time", unconnected=True)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return self._broken_off(error, seen, prompt, tally)
        except asyncio.CancelledError:
            if not self._deadlines.cut(task):
                raise
            return self._broken_off(TimeoutError(), seen, prompt, tally)
        finally:
            self._deadlines.end(task)
        if seen != 200:
            tally.retries += 1
            return refusal(seen, raw, response.headers)
        return read(self._line.dialect, raw, prompt, tally)

    def _broken_off(self, error: Exception, seen: int, prompt: Prompt, tally: Tally) -> Trouble:
        if seen == 200:
            tally.tokens_in += estimate(prompt)
        else:
            tally.retries += 1
        if isinstance(error, TimeoutError):
            return Trouble("again", f"no whole answer within {self._line.limits.timeout:g} s")
        return Trouble("again", f"the connection broke off ({type(error).__name__})")

    def _settle(self, trouble: Trouble, attempt: int) -> tuple[str | None, str] | None:
        """The error and stop word that end the prompt; None when it may be tried again. Raises if no prompt can do."""
        line = self._line
        if trouble.unconnected and not self._answered and attempt >= CONNECT_TRIES:
            hint = "start it, or check the URL"
            raise ModelError(line.hide(f"{line.server} cannot be reached: {trouble.message}; {hint}"))
        if trouble.complaint is None or trouble.kind in {"again", "busy"}:
            return None
        if trouble.kind == "refused":
            return None, "refused"
        if trouble.kind == "unclear" and not self._answered:
            self._unclear += 1
        if trouble.kind == "model" or self._unclear >= UNCLEAR_TRIES:
            sentence = complaints.sentence(
                trouble.status, trouble.complaint, server=line.server, model=line.model, key=line.key.hint
            )
            raise ModelError(line.hide(sentence))
        return line.hide(trouble.message), ""

    def _wait(self, trouble: Trouble, attempt: int) -> float:
        """What the server asks for and a little more, else a random time that grows with every attempt."""
        if trouble.wait is not None:
            return trouble.wait + random.uniform(0, min(1.0, 0.1 * trouble.wait))
        return random.uniform(0, min(LONGEST_WAIT, self._line.limits.backoff * 2.0**attempt))

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        except TimeoutError:
            return


async def _whole(response: aiohttp.ClientResponse) -> bytes:
    """All of a body; its connection is free again then, or closed where it broke off."""
    try:
        return await response.read()
    except BaseException:
        response.close()
        raise


def proxy_for(url: URL) -> str | None:
    """The proxy that the environment names for this address; looked up once, since every call would cost."""
    if is_local(str(url)) or proxy_bypass(url.host or ""):
        return None
    return getproxies().get(url.scheme)
