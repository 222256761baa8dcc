"""A small server of chat completions over a local model, for critics and tests. For volume vLLM is the better one.

Requests that wait while the model is busy go through it together.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from fullbench.errors import InputError, UserError
from fullbench.models.local import TransformersModel
from fullbench.nouns.item import ROLES, Turn
from fullbench.nouns.model import Prompt, Reply
from fullbench.training.critic.description import Critic

_AT_ONCE = 16
_MOST_BYTES = 8 << 20


@dataclass(frozen=True)
class Asked:
    """One request, in our own words."""

    prompt: Prompt
    max_tokens: int
    temperature: float

    @classmethod
    def read(cls, body: Any, most: int) -> Asked:
        """A request's body, checked."""
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list) or not body["messages"]:
            raise InputError("the request needs 'messages', a list with at least one message")
        if body.get("stream"):
            raise InputError("this server does not stream; leave 'stream' out")
        wanted = body.get("max_completion_tokens") or body.get("max_tokens") or most
        temperature, seed = body.get("temperature") or 0.0, body.get("seed")
        if not isinstance(wanted, int) or wanted < 1:
            raise InputError(f"'max_tokens' is a whole number above 0; found {wanted!r}")
        if not isinstance(temperature, (int, float)) or temperature < 0:
            raise InputError(f"'temperature' is a number from 0; found {temperature!r}")
        turns = tuple(_turn(message) for message in body["messages"])
        return cls(Prompt(turns, seed if isinstance(seed, int) else None), min(wanted, most), float(temperature))


def _turn(message: Any) -> Turn:
    if not isinstance(message, dict) or message.get("role") not in ROLES:
        raise InputError(f"a message has a role of {', '.join(ROLES)} and a content")
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(parts, list) or not all(isinstance(part, dict) and part.get("type") == "text" for part in parts):
        raise InputError("a content is words: a text, or a list of parts of type 'text'")
    return Turn(ROLES[ROLES.index(message["role"])], tuple(str(part.get("text", "")) for part in parts))


@dataclass(eq=False)
class Server:
    """A model behind chat completions."""

    model: TransformersModel
    name: str
    _waiting: asyncio.Queue[tuple[Asked, asyncio.Future[Reply]]] = field(default_factory=asyncio.Queue, init=False)

    def app(self) -> web.Application:
        application = web.Application(client_max_size=_MOST_BYTES)
        application.add_routes([
            web.get("/health", self._health),
            web.get("/v1/models", self._models),
            web.post("/v1/chat/completions", self._complete),
        ])  # fmt: skip
        application.cleanup_ctx.append(self._working)
        return application

    async def _working(self, _: web.Application) -> Any:
        worker = asyncio.create_task(self._work())
        yield
        worker.cancel()

    async def _work(self) -> None:
        """Take what waits, and let all that is alike go through the model at once."""
        while True:
            group = [await self._waiting.get()]
            while len(group) < _AT_ONCE and not self._waiting.empty():
                group.append(self._waiting.get_nowait())
            alike: dict[tuple[Any, ...], list[tuple[Asked, asyncio.Future[Reply]]]] = {}
            for asked, future in group:
                key = (asked.max_tokens, asked.temperature, asked.prompt.seed if asked.temperature else None)
                alike.setdefault(key, []).append((asked, future))
            for some in alike.values():
                await self._answer(some)

    async def _answer(self, some: Sequence[tuple[Asked, asyncio.Future[Reply]]]) -> None:
        first = some[0][0]
        model = self.model.sampling(first.temperature, first.max_tokens, len(some))
        prompts = [asked.prompt for asked, _ in some]
        try:
            replies = await asyncio.to_thread(lambda: list(model.answer(prompts)))
        except (UserError, RuntimeError) as error:
            replies = [Reply(prompt, error=str(error)) for prompt in prompts]
        for (_, future), reply in zip(some, replies, strict=True):
            if not future.done():
                future.set_result(reply)

    async def _health(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": self.name, "object": "model"}]})

    async def _complete(self, request: web.Request) -> web.Response:
        try:
            asked = Asked.read(await request.json(), self.model.max_tokens)
        except json.JSONDecodeError as error:
            return _refused(f"the request is no JSON: {error}")
        except InputError as error:
            return _refused(str(error))
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        await self._waiting.put((asked, future))
        reply = await future
        if reply.error is not None:
            return _refused(reply.error)
        used = {"prompt_tokens": reply.usage.tokens_in, "completion_tokens": reply.usage.tokens_out}
        message = {"role": "assistant", "content": reply.text}
        return web.json_response({
            "id": f"critic-{time.time_ns()}", "object": "chat.completion", "created": int(time.time()),
            "model": self.name,
            "choices": [{"index": 0, "message": message, "finish_reason": reply.stop}],
            "usage": {**used, "total_tokens": sum(used.values())},
        })  # fmt: skip


def _refused(reason: str) -> web.Response:
    return web.json_response({"error": {"message": reason, "type": "invalid_request_error"}}, status=400)


def model_in(folder: Path, *, device: str = "auto", precision: str = "auto") -> TransformersModel:
    """The model that a folder holds: a critic's, or any other."""
    if not (folder / "critic.json").exists() and (folder / "config.json").exists():
        return TransformersModel(str(folder), device=device, precision=precision)
    critic = Critic.read(folder)
    if critic.kind not in {"sft", "dpo"}:
        raise InputError(f"a {critic.kind} critic writes no words to serve; judge with trained:{folder}", path=folder)
    return TransformersModel(str(folder / "model"), device=device, precision=precision, max_tokens=critic.target)


def serve(folder: Path, host: str, port: int, *, device: str, precision: str, say: Callable[[str], None]) -> None:
    """Load the model, then serve until the process is told to stop."""
    model = model_in(folder, device=device, precision=precision)
    model.load()
    asyncio.run(_serve(Server(model, folder.resolve().name), host, port, say))


async def _serve(server: Server, host: str, port: int, say: Callable[[str], None]) -> None:
    import signal

    runner = web.AppRunner(server.app(), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
    except OSError as error:
        await runner.cleanup()
        raise InputError(f"cannot listen at {host}:{port} ({error.strerror or error}); give another --port") from error
    at = runner.addresses[0][1]
    say(f"Serving {server.name} at http://{host}:{at}/v1; as a judge: critic:vllm:{server.name}@http://{host}:{at}/v1")
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    await ended.wait()
    await runner.cleanup()
