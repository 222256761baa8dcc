"""A server that speaks the three dialects, misbehaves by a seeded plan, and keeps the books.

It runs in a process of its own on a free port of this machine:

    with FakeServer(faults={"429": 0.05, "cut": 0.01}, seed=1) as server:
        ... server.url, server.books()

Its process is forked from one that imports this module once: Python and asyncio take a fifth of a second of CPU time,
and the tests start hundreds of servers.

A prompt is known by the `#number` in its words. What becomes of its n-th attempt depends on the seed, the number and n
only. With `bears=20` it sends 429 to whatever is more than 20 at a time, with `sick=(50, 30)` status 500 to the 30
requests after the first 50, with `slow=0.05` it takes twenty times as long for that share of them, with
`per_second=5` it sends 429 to what comes faster than that, with `refuses=2` to the first two attempts of each prompt,
and with `spread=0.5` its latency is lognormal around its median. With `answers=40` it answers 40 calls and lets all
others wait until `server.more()`: what a test does meanwhile, it does in the middle of a run, however fast the machine
is. The reply's words say what arrived: `{"id":..., "pictures":[sha256...], "media":[...], ...}`.

For benchmarks, with `quick=True` all replies are `[[4]]`. With `wordy=True`, too, they have 40 to 250 words and end
with a verdict on the requested scale, next to the check code if one is requested.
"""

from __future__ import annotations

import asyncio
import atexit
import base64
import functools
import gzip
import hashlib
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
import urllib.request
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

KEY = "sk-secret-0123456789"
FAULTS = (
    "401",
    "429",
    "429after",
    "429date",
    "429once",
    "500",
    "503",
    "529",
    "reset",
    "cut",
    "short",
    "empty",
    "html",
    "mime",
    "hang",
    "drip",
    "soft",
)
BOMB_BYTES = 300 << 20
"""What a bomb of a reply unpacks to; on the wire it is a thousandth of that."""


def poisoned(kind: str, good: dict[str, Any]) -> tuple[bytes, str, str]:
    """A reply with status 200 that no API should send: its body, its content type, and further headers."""
    reply: Any = json.loads(json.dumps(good))
    if kind in CONTENTS:
        reply["choices"][0]["message"]["content"] = CONTENTS[kind]
    elif kind in COUNTS:
        reply["usage"] = dict.fromkeys(("prompt_tokens", "completion_tokens"), COUNTS[kind])
    elif kind == "usage list":
        reply["usage"] = [1, 2]
    elif kind == "message text":
        reply["choices"][0]["message"] = "[[4]]"
    body = json.dumps([reply] if kind == "array" else reply).encode()
    if kind in INSERTED:
        return body.replace(b"[[", INSERTED[kind] + b"[["), "application/json", ""
    if kind in {"bomb", "gzip", "torn gzip"}:
        packed = bomb() if kind == "bomb" else gzip.compress(body)
        return packed[:-20] if kind == "torn gzip" else packed, "application/json", "Content-Encoding: gzip\r\n"
    if kind == "stream":
        events = b'data: {"choices":[{"delta":{"content":"[[4]]"}}]}\n\ndata: [DONE]\n\n'
        return events, "text/event-stream", ""
    nan = body.replace(b'"usage"', b'"score": NaN, "usage"')
    whole = {"bom": b"\xef\xbb\xbf" + body, "nan": nan, "deep": b"[" * 100_000}
    return whole.get(kind, body), "application/json", ""


INSERTED = {"surrogate": b"\\ud83d", "nul": b"\\u0000", "latin": b"caf\xe9 "}
CONTENTS: dict[str, Any] = {
    "object": {"rating": 5}, "number": 5, "true": True, "numbers": [1, 2], "texts": ["[[", 4],
    "part text": [{"text": 5}],
}  # fmt: skip
COUNTS: dict[str, Any] = {
    "strings": "100", "negative": -22, "huge": 2**63, "huger": 10**30, "fraction": 0.5, "words": "many",
    "map": {"a": 1},
}  # fmt: skip
READABLE = ("usage list", "bom", "nan", "gzip", *INSERTED, *COUNTS)
"""Poisoned replies with a ruling in them that can be read all the same."""
UNREADABLE = ("array", "message text", "deep", "stream", "bomb", "torn gzip", *CONTENTS)
POISONS = (*READABLE, *UNREADABLE)


@functools.cache
def bomb() -> bytes:
    packer = zlib.compressobj(1, wbits=31)
    packed = [packer.compress(bytes(1 << 20)) for _ in range(BOMB_BYTES >> 20)]
    return b"".join([*packed, packer.flush()])


USED = b'"usage":{"prompt_tokens":900,"completion_tokens":5,"total_tokens":905}'
SAID = b'"choices":[{"index":0,"message":{"role":"assistant","content":"[[4]]"},"finish_reason":"stop"}]'
THOUGHT = "The square is red, so it must be B. [[B]]"
SERVED, FINGERPRINT = "fake-2026-11", "fp_fake"
REPLY = b'{"id":"1","object":"chat.completion","created":1,"model":"judge",' + SAID + b"," + USED + b"}"


@functools.cache
def wordy_texts() -> list[str]:
    """Return replies of 40 to 250 words without their verdicts, as JSON strings without the closing quote."""
    draw = random.Random(3)
    words = "the answer names boats near a door but misses two lamps so its count is wrong".split()  # noqa: SIM905
    texts = []
    for _ in range(64):
        spoken = [draw.choice(words) for _ in range(draw.randint(40, 250))]
        for place in range(8, len(spoken), 11):
            spoken[place] += draw.choice((".", ".", ",", ".\n\n"))
        texts.append(json.dumps(" ".join(spoken))[:-1])
    return texts


CODE_REQUEST = re.compile(rb"Write ([a-z]{8}) in front of the brackets")


def wordy_reply(body: bytes) -> bytes:
    """Return a reply of some length with a verdict as the end of the prompt requests it."""
    end = body[-1_500:]
    code = CODE_REQUEST.search(end)
    verdict = f"{code[1].decode()} " if code else ""
    verdict += "[[4]]" if b"between 1 and 5" in end else "[[A]]"
    texts = wordy_texts()
    text = f'"{texts[zlib.crc32(body[-400:]) % len(texts)][1:]}\\n\\n{verdict}"'
    return REPLY.replace(b'"[[4]]"', text.encode())


class Books:
    """What was asked and what was sent."""

    def __init__(
        self, faults: dict[str, float], seed: int, bears: int = 0, says: str = "",
        *, sick: tuple[int, int] = (0, 0), slow: float = 0, spread: float = 0, answers: float = math.inf,
        per_second: float = 0, refuses: int = 0,
    ) -> None:  # fmt: skip
        self.draw = random.Random(seed)
        self.spread = spread
        self.answers_left = answers
        self.per_second, self.refuses = per_second, refuses
        self.next_turn = 0.0
        self.held: list[tuple[Connection, Any]] = []
        self.healthy, self.sick = sick
        self.slow = slow
        self.came = 0
        self.faults = faults
        self.says = says
        self.bears = bears
        self.seed = seed
        self.attempts: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.arrivals: list[float] = []
        self.arrived: Counter[str] = Counter()
        self.in_flight = 0
        self.most = 0
        self.last: dict[str, Any] = {}
        self.raw = (b"", b"")

    def fault(self, prompt: str) -> str:
        """What becomes of this attempt: the name of a fault, or nothing."""
        self.attempts[prompt] += 1
        draw = random.Random(f"{self.seed}/{prompt}/{self.attempts[prompt]}").random()
        for name, share in self.faults.items():
            draw -= share
            if draw < 0:
                return name if name != "429once" or self.attempts[prompt] == 1 else ""
        return ""

    def too_fast(self) -> bool:
        """Whether a request comes before its turn; a second's worth of turns may be caught up with."""
        if not self.per_second:
            return False
        now = time.monotonic()
        turn = max(self.next_turn, now - 1.0)
        if turn > now:
            return True
        self.next_turn = turn + 1 / self.per_second
        return False

    def more(self, answers: float) -> None:
        """Answer so many more calls, beginning with those that wait."""
        self.answers_left += answers
        held, self.held = self.held, []
        for connection, call in held:
            if connection.transport.is_closing():  # whoever asked is gone, and takes no answer from the others
                self.in_flight -= 1
            else:
                connection.in_turn(*call)

    def as_json(self) -> dict[str, Any]:
        return {
            "attempts": self.attempts, "answered": self.answered, "sent": self.sent, "most": self.most,
            "last": self.last, "arrivals": self.arrivals, "in_flight": self.in_flight,
            "arrived": self.arrived,
        }  # fmt: skip


def openai_parts(body: dict[str, Any]) -> tuple[list[str], list[tuple[str, bytes]]]:
    words, pictures = [], []
    for message in body["messages"]:
        content = message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "text":
                words.append(part["text"])
            else:
                head, data = part["image_url"]["url"].split(",", 1)
                pictures.append((head.removeprefix("data:").removesuffix(";base64"), base64.b64decode(data)))
    return words, pictures


def anthropic_parts(body: dict[str, Any]) -> tuple[list[str], list[tuple[str, bytes]]]:
    assert body["max_tokens"] > 0
    assert all(message["role"] in {"user", "assistant"} for message in body["messages"])
    parts = [part for message in body["messages"] for part in message["content"]]
    pictures = [part["source"] for part in parts if part["type"] == "image"]
    words = [part["text"] for part in parts if part["type"] == "text"]
    return words, [(picture["media_type"], base64.b64decode(picture["data"])) for picture in pictures]


def gemini_parts(body: dict[str, Any]) -> tuple[list[str], list[tuple[str, bytes]]]:
    parts = [part for content in body["contents"] for part in content["parts"]]
    pictures = [part["inlineData"] for part in parts if "inlineData" in part]
    words = [part["text"] for part in parts if "text" in part]
    return words, [(picture["mimeType"], base64.b64decode(picture["data"])) for picture in pictures]


def openai_reply(text: str, mood: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    reason = {"length": "length", "filter": "content_filter", "tool": "tool_calls"}.get(mood, "stop")
    if mood == "tool":
        message = {"role": "assistant", "content": None, "tool_calls": [{"id": "t", "type": "function"}]}
    if mood == "think":
        message["reasoning_content"] = THOUGHT
    if mood == "ponder":
        message = {"role": "assistant", "content": "", "reasoning_content": THOUGHT}
    if mood == "hush":
        message["content"] = "\n"
    if mood == "aloud":
        message["content"] = f"<think>\n{THOUGHT}\n</think>\n\n{text}"
    if mood == "refuse":
        message = {"role": "assistant", "content": None, "refusal": "I can't help with that."}
    choices = [] if mood == "empty" else [{"index": 0, "message": message, "finish_reason": reason}]
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    about = {"model": SERVED, "system_fingerprint": FINGERPRINT}
    return {"id": "x", **about, "choices": choices} | ({} if mood == "uncounted" else {"usage": usage})


def anthropic_reply(text: str, mood: str) -> dict[str, Any]:
    reasons = {"length": "max_tokens", "refuse": "refusal", "filter": "refusal", "empty": None, "tool": "tool_use"}
    reason = reasons.get(mood, "end_turn")
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}]
    if mood in {"refuse", "filter", "empty", "tool"}:
        blocks = []
    if mood == "think":
        blocks = [{"type": "thinking", "thinking": THOUGHT, "signature": "s"}, *blocks]
    usage = {"input_tokens": 100, "output_tokens": 20}
    about = {"type": "message", "role": "assistant", "model": SERVED}
    return {**about, "content": blocks, "stop_reason": reason, "usage": usage}


def gemini_reply(text: str, mood: str) -> dict[str, Any]:
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 15, "thoughtsTokenCount": 5}
    if mood == "filter":
        return {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 100}}
    reason = {"length": "MAX_TOKENS", "refuse": "SAFETY", "tool": "MALFORMED_FUNCTION_CALL"}.get(mood, "STOP")
    thought = {"text": THOUGHT if mood == "think" else "hm", "thought": True}
    parts = [] if mood in {"refuse", "tool"} else [thought, {"text": text}]
    candidates = [] if mood == "empty" else [{"content": {"parts": parts, "role": "model"}, "finishReason": reason}]
    return {"candidates": candidates, "modelVersion": SERVED, "usageMetadata": usage}


WAITS = {
    "429": "",
    "429after": "retry-after-ms: 20\r\n",
    "429date": "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n",
    "429once": "Retry-After: 1\r\n",
}
SPEAK = {
    "chat/completions": (openai_parts, openai_reply),
    "messages": (anthropic_parts, anthropic_reply),
    "generateContent": (gemini_parts, gemini_reply),
}
MOODS = {
    "please refuse": "refuse", "please filter": "filter", "please be long": "length", "do not count": "uncounted",
    "please think": "think", "please mumble": "aloud", "please call": "tool", "please ponder": "ponder",
    "please hush": "hush",
}  # fmt: skip
COMPLAINTS = {
    "complain: context": (400, {"message": "maximum context length is 8192 tokens", "code": "context_length_exceeded"}),
    "complain: policy": (400, {"message": "rejected by our safety system", "code": "content_policy_violation"}),
    "complain: odd": (400, {"message": "something is off", "type": "invalid_request_error"}),
    "complain: large": (413, {"message": "request too large", "type": "request_too_large"}),
    "complain: quota": (429, {"message": f"no quota for {KEY}", "code": "insufficient_quota"}),
    "complain: key": (401, {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}),
    "complain: forbidden": (403, {"message": f"{KEY} may not use this", "type": "permission_error"}),
    "complain: model": (404, {"message": f"The model does not exist for {KEY}", "code": "model_not_found"}),
    "complain: setting": (400, {"message": f"{KEY}: temperature no", "code": "unsupported_parameter"}),
    "complain: always": (500, {"message": f"boom {KEY}"}),
    "complain: busy": (429, {"message": f"slow down {KEY}"}),
    "complain: move": (302, {"message": "elsewhere"}),
}


class Connection(asyncio.Protocol):
    """One connection: reads requests one after another and answers each."""

    def __init__(self, books: Books, latency: float, quick: bool, wordy: bool = False) -> None:
        self.books, self.latency, self.quick, self.wordy = books, latency, quick, wordy
        self.draw = books.draw
        self.buffer = bytearray()
        self.need = 0
        self.tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        for task in self.tasks:
            task.cancel()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while len(self.buffer) >= self.need:
            head = self.buffer.find(b"\r\n\r\n")
            if head < 0:
                return
            lower = bytes(self.buffer[:head]).lower()
            at = lower.find(b"content-length:")
            length = int(lower[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            self.need = head + 4 + length
            if len(self.buffer) < self.need:
                return
            request, body = bytes(self.buffer[:head]), bytes(self.buffer[head + 4 : self.need])
            del self.buffer[: self.need]
            self.need = 0
            if self.quick:
                self.later(self.send, 200, wordy_reply(body) if self.wordy else REPLY)
            else:
                self.serve(request, body)

    def later(self, do: Any, *rest: Any, slower: bool = False) -> None:
        if self.latency:
            wait = self.latency * (20 if slower else self.draw.lognormvariate(0, self.books.spread))
            asyncio.get_running_loop().call_later(wait, do, *rest)
        else:
            do(*rest)

    def send(self, status: int, body: bytes, kind: str = "application/json", extra: str = "", length: int = 0) -> None:
        head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length or len(body)}\r\n{extra}\r\n"
        if not self.transport.is_closing():
            self.transport.write(head.encode() + body)

    def serve(self, request: bytes, raw: bytes) -> None:
        path = request.split(b" ", 2)[1].decode()
        if path == "/books":
            self.send(200, json.dumps(self.books.as_json()).encode())
            return
        if path == "/last":
            self.send(200, b"\r\n\r\n".join(self.books.raw))
            return
        if path.startswith("/more/"):
            self.books.more(float(path.removeprefix("/more/")))
            self.send(200, b"{}")
            return
        self.books.raw = (request, raw)
        self.books.arrivals.append(time.monotonic())
        body = json.loads(raw)
        read, write = SPEAK[re.split(r"[/:]", path)[-1] if "completions" not in path else "chat/completions"]
        words, pictures = read(body)
        text = "\n".join(words)
        found = re.search(r"#(\d+)", text)
        prompt = found[1] if found else "?"
        self.books.arrived[prompt] += 1
        self.books.last = {"path": path, "head": request.decode("latin-1"), "body": {**body, "messages": None}}
        for sign, (status, error) in COMPLAINTS.items():
            if sign in text:
                self.books.attempts[prompt] += 1
                self.send(status, json.dumps({"error": error}).encode())
                return
        mood = next((mood for sign, mood in MOODS.items() if sign in text), "")
        told = {
            "id": prompt,
            "words": hashlib.sha256(text.encode()).hexdigest(),
            "pictures": [hashlib.sha256(data).hexdigest() for _, data in pictures],
            "media": [media for media, _ in pictures],
            "sizes": [len(data) for _, data in pictures],
        }
        if self.books.bears and self.books.in_flight >= self.books.bears:
            self.books.attempts[prompt] += 1
            self.books.sent["too much"] += 1
            self.send(429, b'{"error":{"message":"too much at a time"}}')
            return
        if self.books.attempts[prompt] < self.books.refuses or self.books.too_fast():
            self.books.attempts[prompt] += 1
            self.books.sent["too fast"] += 1
            self.send(429, b'{"error":{"message":"too many a minute"}}')
            return
        self.books.came += 1
        if 0 < self.books.came - self.books.healthy <= self.books.sick:
            self.books.attempts[prompt] += 1
            self.books.sent["sick"] += 1
            self.send(500, b'{"error":{"message":"it hurts"}}')
            return
        self.books.in_flight += 1
        self.books.most = max(self.books.most, self.books.in_flight)
        draw = random.Random(f"{self.books.seed}/{self.books.came}").random()
        # The mark lets one text for all calls differ by prompt: a verdict must not repeat a response.
        says = self.books.says.replace("{prompt}", told["words"][:12]) or json.dumps(told)
        self.later(self.in_turn, prompt, write, says, mood, slower=draw < self.books.slow)

    def in_turn(self, *call: Any) -> None:
        """Finish a call, unless it has to wait for more answers."""
        if self.books.answers_left < 1:
            self.books.held.append((self, call))
            return
        self.books.answers_left -= 1
        self.finish(*call)

    def finish(self, prompt: str, write: Any, told: str, mood: str) -> None:
        self.books.in_flight -= 1
        fault = self.books.fault(prompt)
        self.books.sent[fault or "good"] += 1
        if fault in {"", "cut", "short", "empty", "html", "mime", "drip", "soft", *POISONS}:
            self.books.answered[prompt] += 1
        good = json.dumps(write(told, "empty" if fault == "empty" else mood)).encode()
        busy, sick = b'{"error":{"message":"slow down"}}', b'{"error":{"message":"it hurts"}}'
        if fault in {"", "empty", "mime", *POISONS}:
            media, extra = "text/plain; charset=gbk" if fault == "mime" else "application/json", ""
            if fault in POISONS:
                good, media, extra = poisoned(fault, json.loads(good))
            self.send(200, good, kind=media, extra=extra)
        elif fault == "401":
            status, error = COMPLAINTS["complain: key"]
            self.send(status, json.dumps({"error": error}).encode())
        elif fault in WAITS:
            self.send(429, busy, extra=WAITS[fault])
        elif fault in {"500", "503", "529"}:
            self.send(int(fault), sick)
        elif fault == "reset":
            self.transport.abort()
        elif fault == "cut":
            self.send(200, good[: len(good) // 2])
        elif fault == "short":
            self.send(200, good[: len(good) // 2], length=len(good))
            self.transport.close()
        elif fault == "html":
            self.send(200, b"<html>a proxy speaks</html>", kind="text/html")
        elif fault == "soft":
            self.send(200, b'{"error":{"code":502,"message":"upstream is gone"}}')
        elif fault == "drip":
            task = asyncio.get_running_loop().create_task(self.drip(good))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def drip(self, good: bytes) -> None:
        self.send(200, good[:1], length=len(good))
        for byte in good[1:]:
            await asyncio.sleep(0.2)
            self.transport.write(bytes([byte]))


async def serve(options: dict[str, Any], port: int) -> None:
    """Serve until a signal ends this process; its port is written to the file descriptor `port`."""
    loop = asyncio.get_running_loop()
    faults, host = options.pop("faults"), options.pop("host")
    latency, quick, wordy = (options.pop(name) for name in ("latency", "quick", "wordy"))
    books = Books(faults, **options)
    server = await loop.create_server(lambda: Connection(books, latency, quick, wordy), host, 0, backlog=1024)
    with os.fdopen(port, "w") as file:
        file.write(f"{server.sockets[0].getsockname()[1]}\n")
    done = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, done.set)
    await done.wait()


def fork_servers() -> None:
    """Start and end servers as lines on standard input request: JSON with the options, or the process to wait for.

    When standard input ends, so do all servers.
    """
    running: set[int] = set()
    for line in sys.stdin:
        request = json.loads(line)
        if isinstance(request, int):
            os.waitpid(request, 0)
            running.remove(request)
            answer = "ended"
        else:
            if "bomb" in request["faults"]:
                bomb()  # packing it later would keep all calls waiting
            reading, writing = os.pipe()
            if (pid := os.fork()) == 0:
                os.close(reading)
                # Whoever waits for the end of these streams waits for the process that forks, not for its servers.
                silence = os.open(os.devnull, os.O_RDWR)
                os.dup2(silence, 0)
                os.dup2(silence, 1)
                try:
                    asyncio.run(serve(request, writing))
                finally:
                    if sys.exc_info()[0]:
                        traceback.print_exc()
                    os._exit(0)
            os.close(writing)
            with os.fdopen(reading) as port:
                answer = f"{pid} {port.readline().strip()}"
            running.add(pid)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    for pid in running:
        os.kill(pid, signal.SIGKILL)


class ServerForks:
    """The process that forks servers."""

    def __init__(self) -> None:
        root = Path(__file__).parents[2]
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.fake_chat_server"], cwd=root,
            env={**os.environ, "PYTHONPATH": str(root)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        atexit.register(self.end)

    def send(self, request: Any) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(f"{json.dumps(request)}\n")
            self._process.stdin.flush()
            return self._process.stdout.readline().strip()

    def end(self) -> None:
        """End all servers that still run."""
        self._process.communicate()


@functools.cache
def forks_of(_process: int) -> ServerForks:
    """The process that forks servers for a process: each forked worker of the suite has one of its own."""
    return ServerForks()


class FakeServer:
    """The server in its own process; ends with the `with`."""

    def __init__(
        self,
        faults: dict[str, float] | None = None,
        *,
        seed: int = 0,
        latency: float = 0.0,
        quick: bool = False,
        wordy: bool = False,
        bears: int = 0,
        says: str = "",
        sick: tuple[int, int] = (0, 0),
        slow: float = 0.0,
        spread: float = 0.0,
        answers: float = math.inf,
        per_second: float = 0.0,
        refuses: int = 0,
        host: str = "127.0.0.1",
    ) -> None:
        assert set(faults or {}) <= {*FAULTS, *POISONS}
        self._host = host
        self._options = {
            "faults": faults or {}, "seed": seed, "latency": latency, "bears": bears, "says": says, "sick": sick,
            "slow": slow, "spread": spread, "answers": answers, "per_second": per_second, "host": host,
            "refuses": refuses, "quick": quick, "wordy": wordy,
        }  # fmt: skip

    def __enter__(self) -> FakeServer:
        self._forks = forks_of(os.getpid())
        self._pid, port = map(int, self._forks.send(self._options).split())
        self.host = f"http://{self._host}:{port}"
        self.url = f"{self.host}/v1"
        return self

    def __exit__(self, *rest: object) -> None:
        os.kill(self._pid, signal.SIGTERM)
        assert self._forks.send(self._pid) == "ended"

    def kill(self) -> None:
        """Die at once, without a word."""
        os.kill(self._pid, signal.SIGKILL)

    def more(self, answers: float = math.inf) -> None:
        """Answer so many more calls than `answers` said at first; all of them unless told."""
        urllib.request.urlopen(f"{self.host}/more/{answers}").close()

    def books(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.host}/books") as response:
            return json.load(response)

    def last(self) -> tuple[str, dict[str, Any]]:
        """The last request that came, whole: its head, and its body as JSON."""
        with urllib.request.urlopen(f"{self.host}/last") as response:
            head, _, body = response.read().partition(b"\r\n\r\n")
        return head.decode("latin-1"), json.loads(body)


if __name__ == "__main__":
    fork_servers()
