"""Request and reply formats of chat APIs: OpenAI chat completions and responses, Anthropic Messages, Gemini."""

from collections.abc import Mapping

from fullbench.models.dialects.anthropic import Anthropic
from fullbench.models.dialects.base import Dialect
from fullbench.models.dialects.gemini import Gemini
from fullbench.models.dialects.openai import OpenAI
from fullbench.models.dialects.openai_responses import Responses

__all__ = ["DIALECTS", "Anthropic", "Dialect", "Gemini", "OpenAI", "Responses"]

DIALECTS: Mapping[str, type[Dialect]] = {dialect.name: dialect for dialect in (OpenAI, Responses, Anthropic, Gemini)}
