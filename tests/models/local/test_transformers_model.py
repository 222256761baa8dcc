"""A text-only model in this process: what it cannot read fails, and is not dropped."""

from __future__ import annotations

from fullbench.core.item import Turn
from fullbench.core.model import Prompt
from fullbench.core.picture import Picture
from fullbench.models import model_specs
from tests.support.data_builders import png


def test_prompts_with_pictures_fail_for_good_and_say_what_to_do_before_any_weights_are_loaded():
    pictures = [Picture.from_bytes(png((shade, 0, 0))) for shade in (10, 200)]
    prompts = [
        Prompt((Turn("user", ("Before.", pictures[0])), Turn("assistant", ("Yes.",)), Turn("user", ("After?",)))),
        Prompt((Turn("user", (*pictures, "Which is darker?")),)),
    ]
    replies = list(model_specs.build_local_model("nobody/has-this-model", {}).answer(prompts))
    assert [reply.prompt for reply in replies] == prompts
    assert [reply.failure for reply in replies] == ["permanent"] * 2
    for reply, count in zip(replies, (1, 2), strict=True):
        assert f"the prompt has pictures ({count})" in str(reply.error)
        assert "picture_mode=none or described for a judge" in str(reply.error)
