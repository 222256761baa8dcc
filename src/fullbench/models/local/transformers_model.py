"""A causal language model of transformers in this process: `local:FOLDER` or `local:HUB_NAME`.

Torch is loaded when the first prompt is answered. For volume a server such as vLLM is many times faster; this is for a
model of one's own, for tests, and for machines where nothing can be served.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from fullbench.core.call import Usage
from fullbench.core.digests import digest
from fullbench.core.item import Turn
from fullbench.core.model import Prompt, Reply
from fullbench.errors import InputError, MissingExtra
from fullbench.models.local.weights_digest import fingerprint
from fullbench.models.wire.reasoning_text import apart

PRECISIONS = ("auto", "float32", "float16", "bfloat16")


@dataclass(eq=False)
class TransformersModel:
    """A model folder (or hub name) that answers by `generate`, a batch of prompts at a time.

    `temperature` 0 takes the likeliest token each time. `max_tokens` is how long a reply may become. `device` and
    `precision` are settled by the machine where they say `auto`: a GPU, and bfloat16 there.
    """

    source: str
    device: str = "auto"
    precision: str = "auto"
    batch: int = 8
    max_tokens: int = 1024
    temperature: float = 0.0
    revision: str = ""
    label: str = ""
    chat_template: str = ""
    price: tuple[float, float] | None = (0.0, 0.0)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _loaded: tuple[Any, Any] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.source:
            raise InputError("local names no model; write local:FOLDER or local:HUB_NAME")
        if self.precision not in PRECISIONS:
            raise InputError(f"unknown precision {self.precision!r}; known: {', '.join(PRECISIONS)}")
        for name, value in (("batch", self.batch), ("max_tokens", self.max_tokens)):
            if value < 1:
                raise InputError(f"the option {name} must be 1 or more; found {value}")
        folder = Path(self.source)
        if folder.is_dir() and not (folder / "config.json").exists():
            hint = f"; it holds a critic: say trained:{folder}" if (folder / "critic.json").exists() else ""
            raise InputError(f"the folder holds no model of transformers: config.json is missing{hint}", path=folder)

    @cached_property
    def name(self) -> str:
        """The folder's name and a digest of its weights, and the sampling where it is not the plain one."""
        folder = Path(self.source)
        if self.label:
            name = self.label
        elif folder.is_dir():
            name = f"local:{folder.resolve().name}@{digest(fingerprint(folder))[:8]}"
        else:
            name = f"local:{self.source}{f'@{self.revision}' if self.revision else ''}"
        return name + (f"?temperature={self.temperature:g}" if self.temperature else "")

    @property
    def settings(self) -> Mapping[str, Any]:
        folder = Path(self.source)
        return {
            "model": digest(fingerprint(folder)) if folder.is_dir() else self.source,
            "revision": self.revision,
            "precision": self.precision,
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            **({"chat_template": digest(self.chat_template)} if self.chat_template else {}),
        }

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """One reply for each prompt, in order, a batch at a time."""
        waiting = iter(prompts)
        while group := list(islice(waiting, self.batch)):
            yield from self._answered(group)

    def _answered(self, group: Sequence[Prompt]) -> Iterator[Reply]:
        model, tokenizer = self.load()
        window = window_of(model)
        texts = [tokenize(tokenizer, prompt.turns) for prompt in group]
        fits = [window is None or len(ids) < window for ids in texts]
        started = time.perf_counter()
        fitting = [ids for ids, fit in zip(texts, fits, strict=True) if fit]
        replies = iter(self._generate(model, tokenizer, fitting, group[0].seed) if fitting else ())
        for prompt, ids, fit in zip(group, texts, fits, strict=True):
            if not fit:
                reason = f"the prompt has {len(ids)} tokens, the model's window {window}"
                yield Reply(prompt, error=reason)
                continue
            out, ended = next(replies)
            spent = (time.perf_counter() - started) / max(1, len(fitting))
            used = Usage(calls=1, tokens_in=len(ids), tokens_out=len(out), seconds=spent)
            text, thought = apart(tokenizer.decode(out, skip_special_tokens=True))
            stop = "stop" if ended else "length"
            yield Reply(prompt, text, used, stop=stop, reasoning=thought, served=self.name)

    def _generate(
        self, model: Any, tokenizer: Any, texts: Sequence[Sequence[int]], seed: int | None
    ) -> list[tuple[list[int], bool]]:
        """The new tokens of each prompt, and whether the model ended them itself."""
        import torch

        longest = max(map(len, texts))
        pad = pad_of(tokenizer)
        ids = torch.tensor([[pad] * (longest - len(tokens)) + list(tokens) for tokens in texts], device=model.device)
        seen = torch.tensor(
            [[0] * (longest - len(tokens)) + [1] * len(tokens) for tokens in texts], device=model.device
        )
        how: dict[str, Any] = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        if self.temperature:
            torch.manual_seed(seed or 0)
            how = {"do_sample": True, "temperature": self.temperature}
        window = window_of(model)
        room = self.max_tokens if window is None else min(self.max_tokens, window - longest)
        ends = ends_of(model, tokenizer)
        with torch.inference_mode():
            generated = model.generate(
                input_ids=ids,
                attention_mask=seen,
                max_new_tokens=max(1, room),
                pad_token_id=pad,
                eos_token_id=ends,
                **how,
            )
        return [_until(row[longest:].tolist(), ends) for row in generated]

    def load(self) -> tuple[Any, Any]:
        """The model, ready to answer, and its tokenizer; loaded once."""
        with self._lock:
            if self._loaded is None:
                device, precision = place(self.device, self.precision, self.name)
                where = {"revision": self.revision} if self.revision else {}
                model, tokenizer = pretrained(self.source, "AutoModelForCausalLM", precision, **where)
                if self.chat_template:
                    tokenizer.chat_template = self.chat_template
                self._loaded = model.to(device).eval(), tokenizer
            return self._loaded


def place(device: str, precision: str, what: str) -> tuple[str, str]:
    """Device and precision, `auto` settled by this machine."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtra(what, "local") from error
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if precision == "auto":
        precision = "bfloat16" if device.startswith("cuda") and torch.cuda.is_bf16_supported() else "float32"
    return device, precision


def pretrained(source: str, kind: str, precision: str, **how: Any) -> tuple[Any, Any]:
    """A model of one of transformers' automatic classes, and its tokenizer."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtra(f"the model {source!r}", "local") from error
    if source.startswith(("/", ".", "~")) and not Path(source).is_dir():
        raise InputError("there is no such folder; a model is a folder or a hub name", path=source)
    try:
        with hushed():
            tokenizer = transformers.AutoTokenizer.from_pretrained(source)
            model = getattr(transformers, kind).from_pretrained(source, dtype=getattr(torch, precision), **how)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"the model {source!r} cannot be loaded ({reason})") from error
    return model, tokenizer


@contextmanager
def hushed() -> Iterator[None]:
    """Without the bars and reports that transformers prints while it reads and writes weights."""
    from transformers.utils import logging

    drawn, loud = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(loud)
        if drawn:
            logging.enable_progress_bar()


def tokenize(tokenizer: Any, turns: Sequence[Turn]) -> list[int]:
    """A conversation as the tokens after which the model speaks, by the tokenizer's own chat template.

    A template that knows no system turn gets its words at the head of the first turn.
    """
    if not getattr(tokenizer, "chat_template", None):
        name = getattr(tokenizer, "name_or_path", "") or "the model"
        raise InputError(f"the tokenizer of {name!r} has no chat template; take an instruct model, or give it one")
    from jinja2.exceptions import TemplateError

    messages = [{"role": turn.role, "content": turn.text} for turn in turns]
    try:
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    except TemplateError:
        first, second, *rest = messages
        joined = {"role": second["role"], "content": f"{first['content']}\n\n{second['content']}"}
        text = tokenizer.apply_chat_template([joined, *rest], tokenize=False, add_generation_prompt=True)
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


def window_of(model: Any) -> int | None:
    """How many tokens the model takes; None where it does not say."""
    window = getattr(model.config, "max_position_embeddings", None)
    return window if isinstance(window, int) else None


def pad_of(tokenizer: Any) -> int:
    """A token to fill rows with: the tokenizer's own, else its end token; it is masked wherever it stands."""
    token = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    return 0 if token is None else int(token)


def ends_of(model: Any, tokenizer: Any) -> list[int]:
    """The tokens at which a reply ends: those the model names, and the tokenizer's."""
    named = getattr(model.generation_config, "eos_token_id", None)
    listed = named if isinstance(named, list) else [named]
    return sorted({int(token) for token in (*listed, tokenizer.eos_token_id) if token is not None})


def _until(tokens: list[int], ends: Sequence[int]) -> tuple[list[int], bool]:
    for place_, token in enumerate(tokens):
        if token in ends:
            return tokens[:place_], True
    return tokens, False
