"""The batch services of providers: files go up, a batch is made of them, and what came of it goes down again."""

from __future__ import annotations

from fullbench.models.batch_services.anthropic import AnthropicBatches
from fullbench.models.batch_services.base import ENDED, BatchServer, Order, Sent, Standing, Unsure
from fullbench.models.batch_services.gemini import GeminiBatches
from fullbench.models.batch_services.openai import OpenAIBatches
from fullbench.models.chat_model import ChatModel

__all__ = ["ENDED", "BatchServer", "Order", "Sent", "Standing", "Unsure", "batch_server"]

_SERVICES: dict[str, type[BatchServer]] = {
    "openai": OpenAIBatches,
    "anthropic": AnthropicBatches,
    "gemini": GeminiBatches,
}


def batch_server(model: ChatModel) -> BatchServer:
    """The batch service of the server that a model is asked at."""
    return _SERVICES[model.dialect.name](model)
