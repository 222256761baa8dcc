"""A real model behind a real server of another make: what the fake one cannot prove."""

from __future__ import annotations

import json

import pytest

from fullbench.core.item import Turn
from fullbench.core.model import Prompt
from fullbench.core.picture import Picture
from fullbench.errors import ModelError
from fullbench.models import model_specs
from tests.models.conftest import noise


def say(words: str, **rest) -> Prompt:
    return Prompt((Turn("user", (words,)),), **rest)


def test_it_answers_and_counts(local_model):
    model = model_specs.build_vllm_model(f"smollm2@{local_model}", {"temperature": "0", "max_tokens": "24"})
    questions = ["What is the capital of France?", "What is the capital of Italy?", "What is the capital of Spain?"]
    replies = {reply.prompt.turns[0].text: reply for reply in model.answer(map(say, questions))}
    assert [reply.error for reply in replies.values()] == [None] * 3
    for reply in replies.values():
        assert reply.text.strip()
        assert reply.stop in {"stop", "length"}
        assert 5 <= reply.usage.tokens_in <= 60
        assert 1 <= reply.usage.tokens_out <= 24
        assert (reply.usage.calls, reply.usage.dollars) == (1, 0.0)


def test_a_seed_makes_it_say_the_same_again(local_model):
    model = model_specs.build_vllm_model(
        f"smollm2@{local_model}", {"temperature": "1.5", "max_tokens": "16", "concurrency": "1"}
    )
    prompts = [say("Tell me a story.", seed=seed) for seed in (1, 1, 2)]
    first, again, other = [reply.text for prompt in prompts for reply in model.answer([prompt])]
    assert first == again != other


def test_json_mode_gives_json(local_model):
    model = model_specs.build_vllm_model(f"smollm2@{local_model}", {"temperature": "0", "max_tokens": "200"})
    (reply,) = model.answer([say('Give a JSON object with one key "city", the capital of France.', json=True)])
    assert isinstance(json.loads(reply.text), dict)


def test_running_into_the_limit_is_told(local_model):
    (reply,) = model_specs.build_vllm_model(f"smollm2@{local_model}", {"max_tokens": "2"}).answer(
        [say("Tell me a long story.")]
    )
    assert reply.stop == "length"


def test_a_prompt_that_is_too_long_is_its_own_fault(local_model):
    model = model_specs.build_vllm_model(f"smollm2@{local_model}", {"max_tokens": "4"})
    replies = {
        reply.prompt.tag: reply for reply in model.answer([say("word " * 5000, tag="long"), say("Hi", tag="short")])
    }
    assert replies["short"].error is None
    assert "context" in (replies["long"].error or "")
    assert replies["long"].usage.calls == 0


def test_a_picture_for_a_model_without_eyes(local_model):
    prompt = Prompt((Turn("user", (Picture.from_bytes(noise(32, 32)), "What is shown?")),))
    with pytest.raises(ModelError, match="will not serve 'smollm2'"):
        list(model_specs.build_vllm_model(f"smollm2@{local_model}", {"attempts": "2"}).answer([prompt]))


def test_an_address_that_is_not_there(local_model):
    with pytest.raises(ModelError, match="check the name and the URL"):
        list(model_specs.build_vllm_model(f"smollm2@{local_model}/nowhere", {}).answer([say("Hi")]))
