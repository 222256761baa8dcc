"""Base models: loaded for training, given adapters or a head, and written as a folder that others can load."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fullbench.errors import InputError, MissingExtra
from fullbench.models.local.transformers_model import hushed, pad_of, pretrained, window_of
from fullbench.training.critic.training_settings import Settings


@dataclass
class Trainee:
    """A model that is trained, its tokenizer, and the adapters that were put into its layers, where there are any."""

    model: Any
    tokenizer: Any
    adapters: Any | None = None

    def write(self, folder: Path) -> None:
        """The trained model as a folder of transformers, adapters merged, in place only when it is whole."""
        part = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        if self.adapters is not None:
            self.adapters.save_pretrained(part / "adapter")
            self.model, self.adapters = self.adapters.merge_and_unload(), None
        with hushed():
            self.model.save_pretrained(part)
            self.tokenizer.save_pretrained(part)
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)


def check_machine(settings: Settings) -> bool:
    """Whether arithmetic is half precision; asking for it where there is no GPU is a mistake that is told at once."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("training a critic", "train") from error
    able = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    if settings.precision == "bfloat16" and not able:
        raise InputError("bfloat16 needs a GPU that has it, and none was found; say --precision float32")
    return able and settings.precision != "float32"


def base_model(source: str, settings: Settings, device: str, *, chat_template: str = "") -> Trainee:
    """The model that training begins with.

    Weights are in single precision; with adapters the frozen ones are in half where there is a GPU that has it.
    """
    import torch

    torch.manual_seed(settings.seed)  # a new head is drawn while the model is loaded
    half = bool(settings.lora) and check_machine(settings)
    kind = "AutoModelForSequenceClassification" if settings.kind == "scalar" else "AutoModelForCausalLM"
    how: dict[str, Any] = {"num_labels": 1} if settings.kind == "scalar" else {}
    model, tokenizer = pretrained(source, kind, "bfloat16" if half else "float32", **how)
    if chat_template:
        tokenizer.chat_template = chat_template
    if not getattr(tokenizer, "chat_template", None):
        raise InputError(
            f"the base model {source!r} has no chat template; take an instruct model, or give --chat-template FILE"
        )
    window = window_of(model)
    if window is not None and settings.source >= window:
        raise InputError(
            f"the base model {source!r} takes {window} tokens, too few for --source {settings.source} and a ruling; "
            "lower --source"
        )
    if settings.kind == "scalar":
        if not hasattr(model, "score"):
            raise InputError(f"the base model {source!r} is not one that reads from left to right; take a decoder")
        model.config.get_text_config().pad_token_id = pad_of(tokenizer)
    if settings.save_memory:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.to(device)
    return _adapted(model, tokenizer, settings) if settings.lora else Trainee(model, tokenizer)


def _adapted(model: Any, tokenizer: Any, settings: Settings) -> Trainee:
    """The model with low-rank adapters on every linear layer but the last; only they (and a new head) are trained.

    The adapters are put into the model's own layers, so it is called as before.
    """
    try:
        import peft
    except ImportError as error:
        raise MissingExtra("training with adapters (--lora)", "train") from error
    import torch

    torch.manual_seed(settings.seed)
    config = peft.LoraConfig(
        r=settings.lora, lora_alpha=settings.lora_alpha, lora_dropout=settings.lora_dropout,
        target_modules="all-linear", modules_to_save=["score"] if settings.kind == "scalar" else None,
        task_type="SEQ_CLS" if settings.kind == "scalar" else "CAUSAL_LM",
    )  # fmt: skip
    wrapped = peft.get_peft_model(model, config)
    for parameter in wrapped.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    return Trainee(wrapped.get_base_model(), tokenizer, wrapped)
