"""Base models: loading for training, adapters or a head, and writing a folder that other programs can load."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fullbench.errors import InputError, require_extra
from fullbench.models.local.transformers_model import context_window, load_pretrained, padding_token, quiet_transformers
from fullbench.training.critic.training_settings import Settings


@dataclass
class Trainee:
    """A model in training, its tokenizer, and the adapters in its layers, if any."""

    model: Any
    tokenizer: Any
    adapters: Any | None = None

    def write(self, folder: Path) -> None:
        """Write the trained model as a folder of transformers, adapters merged; it appears only when complete."""
        part = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        if self.adapters is not None:
            self.adapters.save_pretrained(part / "adapter")
            self.model, self.adapters = self.adapters.merge_and_unload(), None
        with quiet_transformers():
            self.model.save_pretrained(part)
            self.tokenizer.save_pretrained(part)
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)


def check_machine(settings: Settings, device: str) -> bool:
    """Return True for half-precision arithmetic; raise if bfloat16 is requested without a suitable GPU."""
    with require_extra("training a critic", "train"):
        import torch
    # A machine may have a GPU that is not used (`--device cpu`).
    may_use_gpu = device == "auto" or device.startswith("cuda")
    has_bfloat16 = may_use_gpu and torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    if settings.precision == "bfloat16" and not has_bfloat16:
        raise InputError("bfloat16 needs a GPU with bfloat16, and none was found; use --precision float32")
    return has_bfloat16 and settings.precision != "float32"


def base_model(source: str, settings: Settings, device: str, *, chat_template: str = "") -> Trainee:
    """Load the base model in single precision; with adapters, frozen weights in half if the GPU supports it."""
    import torch

    torch.manual_seed(settings.seed)  # a new head is drawn while the model is loaded
    half = bool(settings.lora) and device.startswith("cuda") and check_machine(settings, device)
    kind = "AutoModelForSequenceClassification" if settings.kind == "scalar" else "AutoModelForCausalLM"
    model_options: dict[str, Any] = {"num_labels": 1} if settings.kind == "scalar" else {}
    model, tokenizer = load_pretrained(source, kind, "bfloat16" if half else "float32", **model_options)
    if chat_template:
        tokenizer.chat_template = chat_template
    if not getattr(tokenizer, "chat_template", None):
        raise InputError(
            f"the base model {source!r} has no chat template; use an instruct model, or add --chat-template FILE"
        )
    window = context_window(model)
    if window is not None and settings.source >= window:
        raise InputError(
            f"the base model {source!r} takes {window} tokens, too few for --source {settings.source} and a verdict; "
            "lower --source"
        )
    if settings.kind == "scalar":
        if not hasattr(model, "score"):
            raise InputError(f"the base model {source!r} is not a causal language model; use a decoder model")
        model.config.get_text_config().pad_token_id = padding_token(tokenizer)
    if settings.save_memory:
        # Newer versions of Transformers have renamed the method and its argument, and warn of the former names.
        enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
        enable({"use_reentrant": False})
    model.to(device)
    return _add_adapters(model, tokenizer, settings) if settings.lora else Trainee(model, tokenizer)


def _add_adapters(model: Any, tokenizer: Any, settings: Settings) -> Trainee:
    with require_extra("training with adapters (--lora)", "train"):
        import peft
    import torch

    torch.manual_seed(settings.seed)
    config = peft.LoraConfig(
        r=settings.lora, lora_alpha=settings.lora_alpha, lora_dropout=settings.lora_dropout,
        target_modules="all-linear", modules_to_save=["score"] if settings.kind == "scalar" else None,
        task_type="SEQ_CLS" if settings.kind == "scalar" else "CAUSAL_LM",
    )  # fmt: skip
    peft_model = peft.get_peft_model(model, config)
    for parameter in peft_model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    return Trainee(peft_model.get_base_model(), tokenizer, peft_model)
