"""A causal language model of transformers in this process: `local:FOLDER` or `local:HUB_NAME`.

Torch is loaded for the first prompt. A server such as vLLM is many times faster for volume; this is for your own
models, for tests, and for machines that cannot run a server.
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

from fullbench.core.item import Turn
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.model import Prompt, Reply
from fullbench.core.model_call import Usage
from fullbench.errors import InputError, require_extra
from fullbench.models.local.quick_weights_fingerprint import weights_fingerprint
from fullbench.models.wire.reasoning_text import split_reasoning

PRECISIONS = ("auto", "float32", "float16", "bfloat16")
_PICTURES_UNREAD = (
    "local models read text only, and the prompt has pictures ({n}); serve a model that takes them (vllm:NAME@URL), or "
    "leave them out: picture_mode=none or described for a judge, blind:local:NAME for a contestant"
)


@dataclass(eq=False)
class TransformersModel:
    """A model folder (or hub name) that answers by `generate`, on batches of prompts.

    `temperature` 0 always takes the likeliest token. `max_tokens` limits a reply. `auto` for `device` and `precision`
    means a GPU with bfloat16 if there is one.
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
    _model_and_tokenizer: tuple[Any, Any] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.source:
            raise InputError("'local' has no model name; write local:FOLDER or local:HUB_NAME")
        if self.precision not in PRECISIONS:
            raise InputError(f"unknown precision {self.precision!r}; known: {', '.join(PRECISIONS)}")
        for name, value in (("batch", self.batch), ("max_tokens", self.max_tokens)):
            if value < 1:
                raise InputError(f"the option {name} must be 1 or more; found {value}")
        folder = Path(self.source)
        if folder.is_dir() and not (folder / "config.json").exists():
            hint = f"; it holds a critic: say trained:{folder}" if (folder / "critic.json").exists() else ""
            raise InputError(f"the folder contains no model of transformers: config.json is missing{hint}", path=folder)

    @cached_property
    def name(self) -> str:
        """Return the folder's name and a digest of its weights, and the temperature if it is not 0."""
        folder = Path(self.source)
        if self.label:
            name = self.label
        elif folder.is_dir():
            name = f"local:{folder.resolve().name}@{digest(weights_fingerprint(folder))[:8]}"
        else:
            name = f"local:{self.source}{f'@{self.revision}' if self.revision else ''}"
        return name + (f"?temperature={self.temperature:g}" if self.temperature else "")

    @property
    def settings(self) -> Mapping[str, Any]:
        folder = Path(self.source)
        return {
            "model": digest(weights_fingerprint(folder)) if folder.is_dir() else self.source,
            "revision": self.revision,
            "precision": self.precision,
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            **({"chat_template": digest(self.chat_template)} if self.chat_template else {}),
        }

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """Yield one reply per prompt, batch by batch. A prompt with pictures fails, since they would go unread."""
        waiting = iter(prompts)
        while group := list(islice(waiting, self.batch)):
            yield from self._answer_group(group)

    def _answer_group(self, group: Sequence[Prompt]) -> Iterator[Reply]:
        for prompt in group:
            if picture_count := sum(len(turn.pictures) for turn in prompt.turns):
                yield Reply(prompt, error=_PICTURES_UNREAD.format(n=picture_count), failure="permanent")
        group = [prompt for prompt in group if not any(turn.pictures for turn in prompt.turns)]
        if not group:
            return
        model, tokenizer = self.load()
        window = context_window(model)
        texts = [tokenize_turns(tokenizer, prompt.turns) for prompt in group]
        fits = [window is None or len(ids) < window for ids in texts]
        start_time = time.perf_counter()
        fitting = [ids for ids, fit in zip(texts, fits, strict=True) if fit]
        replies = iter(self._generate(model, tokenizer, fitting, group[0].seed) if fitting else ())
        for prompt, ids, fit in zip(group, texts, fits, strict=True):
            if not fit:
                reason = f"the prompt has {len(ids)} tokens, the model's window {window}"
                yield Reply(prompt, error=reason)
                continue
            output_ids, is_complete = next(replies)
            seconds_each = (time.perf_counter() - start_time) / max(1, len(fitting))
            usage = Usage(calls=1, tokens_in=len(ids), tokens_out=len(output_ids), seconds=seconds_each)
            text, reasoning = split_reasoning(tokenizer.decode(output_ids, skip_special_tokens=True))
            stop = "stop" if is_complete else "length"
            yield Reply(prompt, text, usage, stop=stop, reasoning=reasoning, served=self.name)

    def _generate(
        self, model: Any, tokenizer: Any, texts: Sequence[Sequence[int]], seed: int | None
    ) -> list[tuple[list[int], bool]]:
        """Return the new tokens of each prompt, and whether the model ended them itself."""
        import torch

        longest = max(map(len, texts))
        pad = padding_token(tokenizer)
        ids = torch.tensor([[pad] * (longest - len(tokens)) + list(tokens) for tokens in texts], device=model.device)
        attention_mask = torch.tensor(
            [[0] * (longest - len(tokens)) + [1] * len(tokens) for tokens in texts], device=model.device
        )
        sampling_options: dict[str, Any] = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        if self.temperature:
            torch.manual_seed(seed or 0)
            sampling_options = {"do_sample": True, "temperature": self.temperature}
        window = context_window(model)
        room = self.max_tokens if window is None else min(self.max_tokens, window - longest)
        ends = end_tokens(model, tokenizer)
        with torch.inference_mode():
            output_rows = model.generate(
                input_ids=ids,
                attention_mask=attention_mask,
                max_new_tokens=max(1, room),
                pad_token_id=pad,
                eos_token_id=ends,
                **sampling_options,
            )
        return [_cut_at_end(row[longest:].tolist(), ends) for row in output_rows]

    def load(self) -> tuple[Any, Any]:
        """Return the model, ready to answer, and its tokenizer; loaded once."""
        with self._lock:
            if self._model_and_tokenizer is None:
                device, precision = resolve_device_and_precision(self.device, self.precision, self.name)
                where = {"revision": self.revision} if self.revision else {}
                model, tokenizer = load_pretrained(self.source, "AutoModelForCausalLM", precision, **where)
                if self.chat_template:
                    tokenizer.chat_template = self.chat_template
                self._model_and_tokenizer = model.to(device).eval(), tokenizer
            return self._model_and_tokenizer


def resolve_device_and_precision(device: str, precision: str, what: str) -> tuple[str, str]:
    """Return device and precision, with `auto` resolved for this machine."""
    with require_extra(what, "local"):
        import torch
    refuse_missing_gpu(device, what)
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if precision == "auto":
        precision = "bfloat16" if device.startswith("cuda") and torch.cuda.is_bf16_supported() else "float32"
    return device, precision


def refuse_missing_gpu(device: str, what: str) -> None:
    """Raise `InputError` if a device such as `cuda` or `cuda:1` is not on this machine."""
    import torch

    kind, _, number = device.partition(":")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise InputError(f"{what}: torch finds no GPU {device!r} here; leave the device out or use cpu")


def load_pretrained(source: str, kind: str, precision: str, **model_options: Any) -> tuple[Any, Any]:
    """Load a model of one of transformers' auto classes, and its tokenizer."""
    with require_extra(f"the model {source!r}", "local"):
        import torch
        import transformers
    if source.startswith(("/", ".", "~")) and not Path(source).is_dir():
        raise InputError("there is no such folder; a model is a folder or a hub name", path=source)
    try:
        with quiet_transformers():
            tokenizer = transformers.AutoTokenizer.from_pretrained(source)
            model = getattr(transformers, kind).from_pretrained(
                source, dtype=getattr(torch, precision), **model_options
            )
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"the model {source!r} cannot be loaded ({reason})") from error
    return model, tokenizer


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence the progress bars and reports that transformers prints while it reads and writes weights."""
    from transformers.utils import logging

    has_progress_bar, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if has_progress_bar:
            logging.enable_progress_bar()


def tokenize_turns(tokenizer: Any, turns: Sequence[Turn]) -> list[int]:
    """Return a conversation as tokens, ready for the model's reply, by the tokenizer's chat template.
    If a template accepts no system turn, its text is put before the first turn.
    """
    if not getattr(tokenizer, "chat_template", None):
        name = getattr(tokenizer, "name_or_path", "") or "the model"
        raise InputError(f"the tokenizer of {name!r} has no chat template; take an instruct model, or give it one")
    from jinja2.exceptions import TemplateError

    messages = [{"role": turn.role, "content": turn.text} for turn in turns]
    try:
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    except TemplateError:
        first, second, *later_messages = messages
        merged_message = {"role": second["role"], "content": f"{first['content']}\n\n{second['content']}"}
        text = tokenizer.apply_chat_template(
            [merged_message, *later_messages], tokenize=False, add_generation_prompt=True
        )
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


def context_window(model: Any) -> int | None:
    """Return the model's maximum number of tokens, or None if its config has none."""
    window = getattr(model.config, "max_position_embeddings", None)
    return window if isinstance(window, int) else None


def padding_token(tokenizer: Any) -> int:
    """Return a token to pad rows with: the tokenizer's own, else its end token. It is always masked."""
    token = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    return 0 if token is None else int(token)


def end_tokens(model: Any, tokenizer: Any) -> list[int]:
    """Return the tokens at which a reply ends: the model's and the tokenizer's."""
    eos_setting = getattr(model.generation_config, "eos_token_id", None)
    eos_ids = eos_setting if isinstance(eos_setting, list) else [eos_setting]
    return sorted({int(token) for token in (*eos_ids, tokenizer.eos_token_id) if token is not None})


def _cut_at_end(tokens: list[int], ends: Sequence[int]) -> tuple[list[int], bool]:
    for index, token in enumerate(tokens):
        if token in ends:
            return tokens[:index], True
    return tokens, False
