"""Batch services of providers: upload a file of requests, create a batch from it, download the results."""

from __future__ import annotations

from fullbench.models.batch_services.anthropic import AnthropicBatches
from fullbench.models.batch_services.base import BatchServer
from fullbench.models.batch_services.gemini import GeminiBatches
from fullbench.models.batch_services.openai import OpenAIBatches
from fullbench.models.chat_model import ChatModel

_SERVICES: dict[str, type[BatchServer]] = {
    "openai": OpenAIBatches,
    "anthropic": AnthropicBatches,
    "gemini": GeminiBatches,
}


def batch_server(model: ChatModel) -> BatchServer:
    """Return the batch service of the model's server."""
    return _SERVICES[model.dialect.name](model)
