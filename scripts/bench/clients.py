"""One client, one measurement, one process: `python -m scripts.bench.clients CLIENT URL CALLS WIDTH` prints JSON.

Clients: `ours` (ChatModel), `hearing` (a whole run, ledger on), `floor` (an asyncio protocol that does nothing but
write and read), `sdk` (the OpenAI SDK), `inspect` (inspect_ai's generate). Each asks the same: 443 words and a JPEG of
40 KB. `sdk-httpx` and `sdk-aiohttp` ask what `everyday_question` gives, without a warm-up, and are measured as whole
processes. Peers import nothing of ours, so that they can run in environments of their own.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

WORDS = " ".join(random.Random(0).choice(["judge", "picture", "answer", "better", "because"]) for _ in range(443))
WARM_UP = 200


def jpeg(number: int = 0) -> bytes:
    """40 KB with the head, the scan and the end of a JPEG of 640 x 480 pixels, others for every number; nobody here
    decodes the scan."""
    frame = bytes([0xFF, 0xC0, 0, 17, 8, 480 >> 8, 480 & 255, 640 >> 8, 640 & 255, 3, *range(9)])
    scan = bytes([0xFF, 0xDA, 0, 12, 3, *range(9)]) + number.to_bytes(8, "big")
    # Within a scan 0xFF would be a marker.
    return b"\xff\xd8" + frame + scan + random.Random(1).randbytes(40_000).replace(b"\xff", b"\x7f") + b"\xff\xd9"


def ours(url: str, width: int) -> Callable[[int], None]:
    from fullbench.core.item import Turn
    from fullbench.core.model import Prompt
    from fullbench.core.picture import Picture
    from fullbench.models.chat_model import ChatModel
    from fullbench.models.model_settings import Limits, Sampling

    picture = Picture.from_bytes(jpeg())
    model = ChatModel("judge", url, sampling=Sampling(temperature=0.0), limits=Limits(concurrency=width))

    def run(calls: int) -> None:
        prompts = (Prompt((Turn("user", (picture, f"{WORDS} {number}")),)) for number in range(calls))
        good = sum(reply.text == "[[4]]" for reply in model.answer(prompts))
        assert good == calls

    return run


class _Floor(asyncio.Protocol):
    """A connection that sends the next request as soon as a reply is whole."""

    def __init__(self, bodies: list[bytes], left: list[int], done: asyncio.Event, host: str) -> None:
        self.bodies, self.left, self.done, self.host = bodies, left, done, host
        self.buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        if self.left[0] == 0:
            self.transport.close()
            return
        self.left[0] -= 1
        words = json.dumps(f"{WORDS} {self.left[0]}").encode()
        body = self.bodies[0] + words + self.bodies[1]
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {self.host}\r\nContent-Length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head = self.buffer.find(b"\r\n\r\n")
        length = int(self.buffer.split(b"Content-Length: ", 1)[1].split(b"\r\n", 1)[0]) if head > 0 else 0
        if head > 0 and len(self.buffer) >= head + 4 + length:
            assert json.loads(self.buffer[head + 4 :])["choices"][0]["message"]["content"] == "[[4]]"
            self.buffer.clear()
            self.left[1] -= 1
            if self.left[1] == 0:
                self.done.set()
            self.ask()


def floor(url: str, width: int) -> Callable[[int], None]:
    host, port = url.removeprefix("http://").removesuffix("/v1").split(":")
    picture = base64.b64encode(jpeg())
    start = b'{"model":"judge","temperature":0,"messages":[{"role":"user","content":[{"type":"image_url","image_url":'
    start += b'{"url":"data:image/jpeg;base64,' + picture + b'"}},{"type":"text","text":'
    bodies = [start, b"}]}]}"]

    async def play(calls: int) -> None:
        done, left = asyncio.Event(), [calls, calls]
        loop = asyncio.get_running_loop()
        for _ in range(width):
            await loop.create_connection(lambda: _Floor(bodies, left, done, host), host, int(port))
        await done.wait()

    return lambda calls: asyncio.run(play(calls))


def sdk(url: str, width: int) -> Callable[[int], None]:
    from openai import AsyncOpenAI

    data = jpeg()

    async def play(calls: int) -> None:
        gate = asyncio.Semaphore(width)
        async with AsyncOpenAI(base_url=url, api_key="none") as client:

            async def ask(number: int) -> None:
                async with gate:
                    picture = f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"
                    parts = [
                        {"type": "image_url", "image_url": {"url": picture}},
                        {"type": "text", "text": f"{WORDS} {number}"},
                    ]
                    turns = [{"role": "user", "content": parts}]
                    reply = await client.chat.completions.create(model="judge", temperature=0, messages=turns)
                    assert reply.choices[0].message.content == "[[4]]"

            await asyncio.gather(*map(ask, range(calls)))

    return lambda calls: asyncio.run(play(calls))


def everyday_question(number: int) -> str:
    """A question of 20 to 400 words, others for every number."""
    return f"{' '.join(WORDS.split()[: 20 + number * 37 % 381])} {number}"


INSTRUCTIONS, ANSWER = WORDS[:900], WORDS[-400:]


def _everyday_sdk(url: str, width: int, transport: str) -> Callable[[int], None]:
    """The SDK alone: a prompt of the same length, the reply, and the last pair of brackets in it."""
    from openai import AsyncOpenAI, DefaultAioHttpClient, DefaultAsyncHttpxClient

    data = jpeg()

    async def play(calls: int) -> None:
        gate = asyncio.Semaphore(width)
        http_client = DefaultAioHttpClient() if transport == "aiohttp" else DefaultAsyncHttpxClient()
        async with AsyncOpenAI(base_url=url, api_key="none", http_client=http_client) as client:

            async def ask(number: int) -> None:
                async with gate:
                    picture = f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"
                    words = f"{INSTRUCTIONS} {everyday_question(number)} {ANSWER} a whole number between 1 and 5"
                    parts = [
                        {"type": "image_url", "image_url": {"url": picture}},
                        {"type": "text", "text": words},
                    ]
                    turns = [{"role": "user", "content": parts}]
                    reply = await client.chat.completions.create(model="judge", temperature=0, messages=turns)
                    assert reply.choices[0].message.content.rpartition("[[")[2] == "4]]"

            await asyncio.gather(*map(ask, range(calls)))

    return lambda calls: asyncio.run(play(calls))


def inspect(url: str, width: int) -> Callable[[int], None]:
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, GenerateConfig, get_model

    config = GenerateConfig(max_connections=width, temperature=0.0)
    model = get_model("openai/judge", base_url=url, api_key="none", responses_api=False, config=config)
    picture = f"data:image/jpeg;base64,{base64.b64encode(jpeg()).decode()}"

    async def play(calls: int) -> None:
        gate = asyncio.Semaphore(width)

        async def ask(number: int) -> None:
            async with gate:
                parts = [ContentImage(image=picture), ContentText(text=f"{WORDS} {number}")]
                reply = await model.generate([ChatMessageUser(content=parts)])
                assert reply.completion == "[[4]]"

        await asyncio.gather(*map(ask, range(calls)))

    loop = asyncio.new_event_loop()
    return lambda calls: loop.run_until_complete(play(calls))


def hearing(url: str, width: int) -> Callable[[int], None]:
    """Cases, prompts, calls, reading and the ledger: all that a run does."""
    import tempfile

    from fullbench import Case, Item, Picture, Response, Score
    from fullbench.judges.prompted_judge import PromptedJudge
    from fullbench.ledger.ledger import Ledger
    from fullbench.models.chat_model import ChatModel
    from fullbench.models.model_settings import Limits, Sampling
    from fullbench.studies.run.judge_cases import judge_cases

    picture = Picture.from_bytes(jpeg())
    model = ChatModel("judge", url, sampling=Sampling(temperature=0.0), limits=Limits(concurrency=width))
    judge = PromptedJudge(model, "direct")
    question, answer = WORDS[: len(WORDS) // 4], WORDS[len(WORDS) // 4 :]

    def cases(calls: int) -> Iterator[Case]:
        for number in range(calls):
            item = Item.ask(f"{calls}-{number}", f"{question} {number}", picture)
            yield Case(item, (Response.say(item.id, "somebody", answer),), Score(1, 5))

    def run(calls: int) -> None:
        with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "bench.ledger") as ledger:
            (tally,) = judge_cases([judge], lambda _: cases(calls), ledger)
        assert (tally.finished_count, tally.failure_count, sum(tally.faults.values())) == (calls, 0, 0)

    return run


def peak_mb() -> float:
    """The most memory this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def queued() -> float:
    """The seconds that the main thread was ready to run and had to wait for a core; 0 where the system does not say."""
    told = Path("/proc/self/schedstat")
    return int(told.read_text().split()[1]) / 1e9 if told.exists() else 0.0


def main() -> None:
    client, url, calls, width = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if client.startswith("sdk-"):
        _everyday_sdk(url, width, client.removeprefix("sdk-"))(calls)
        return
    run = {"ours": ours, "hearing": hearing, "floor": floor, "sdk": sdk, "inspect": inspect}[client](url, width)
    run(WARM_UP)
    waited, wall, cpu = queued(), time.perf_counter(), time.process_time()
    run(calls)
    found = {
        "cpu_ms": (time.process_time() - cpu) / calls * 1e3,
        "wall": time.perf_counter() - wall,
        "queued": queued() - waited,
        "peak_mb": peak_mb(),
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2] / "src"))
    main()
