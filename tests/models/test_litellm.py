"""litellm against the fake server, where it is installed (it is no part of the development environment)."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys

import pytest

from fullbench.errors import InputError, MissingExtra, ModelError
from fullbench.models import factories
from tests.fake_server import KEY, FakeServer
from tests.models.conftest import ask

there = importlib.util.find_spec("litellm") is not None
with_litellm = pytest.mark.skipif(not there, reason="litellm is not installed: pip install '.[litellm]'")


@pytest.mark.skipif(there, reason="litellm is installed")
def test_without_litellm_the_way_to_get_it_is_told():
    with pytest.raises(MissingExtra, match=r"pip install '\.\[litellm\]'"):
        factories.litellm("openai/x", {}).answer([])


def test_no_key_among_the_settings():
    with pytest.raises(InputError, match="'api_key' looks like a key"):
        factories.litellm("openai/x", {"extra": '{"api_key": "k"}'})


@with_litellm
def test_litellm():
    """In a process of its own: litellm leaves sockets open and warns as it likes."""
    env = {**os.environ, "OPENAI_API_KEY": KEY}
    subprocess.run([sys.executable, "-m", "tests.models.test_litellm"], check=True, env=env)


def main() -> None:
    with FakeServer() as server:
        options = {"extra": json.dumps({"api_base": server.url}), "attempts": "2", "price_in": "1", "price_out": "1"}
        model = factories.litellm("openai/x", options)
        replies = list(model.answer(map(ask, range(40))))
        assert sorted(int(json.loads(reply.text)["id"]) for reply in replies) == list(range(40))
        assert {reply.usage.dollars for reply in replies} == {120 / 1e6}
        words = ["please refuse", "complain: policy", "complain: odd", "complain: always"]
        told = {reply.prompt.tag: reply for word in words for reply in model.answer([ask(1, word, tag=word)])}
        assert [told[word].stop for word in words] == ["refused", "refused", "", ""]
        assert "something is off" in (told["complain: odd"].error or "")
        assert "boom" in (told["complain: always"].error or "")
        assert KEY not in repr(told)
        for word in ("complain: key", "complain: model"):
            with pytest.raises(ModelError, match="check its name and key") as caught:
                list(model.answer([ask(1, word)]))
            assert KEY not in str(caught.value)


if __name__ == "__main__":
    main()
