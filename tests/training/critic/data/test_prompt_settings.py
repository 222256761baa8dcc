"""A critic is trained on the prompts that it is judged by, and its targets are rulings that are read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench import Case, Item, Response, Score
from fullbench.errors import InputError
from fullbench.training.critic.data.prompt_settings import PromptSettings
from tests.support.data_builders import Talker, words

REASONS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=80).filter(str.strip)


@given(mark=st.integers(1, 10), reason=REASONS, language=st.sampled_from(["zh", "en"]))
def test_a_critics_target_is_read_back_as_its_mark_whatever_the_reason_says(mark, reason, language):
    for mode in ("direct", "analyze"):
        target = PromptSettings(language=language, mode=mode).target(mark, reason)
        assert Score(1, 10).read(target, 1) == (mark,)


@given(mark=st.integers(1, 5))
def test_a_plain_target_is_read_back_as_its_mark(mark):
    assert Score(1, 5).read(PromptSettings("plain", "score:1-5", "en").target(mark), 1) == (mark,)


def test_a_reason_that_argues_for_another_mark_does_not_change_the_ruling():
    target = PromptSettings("plain", "score:1-5", "en", "analyze").target(2, "One could give [[5]] or a score of 4.")
    assert Score(1, 5).read(target, 1) == (2.0,)


def test_the_model_is_asked_what_it_was_trained_on():
    item = Item.ask("q", "几个苹果？", reference="五个", tags={"task": "Counting"})
    case = Case(item, (Response.say("q", "c", "三个"),), Score(1, 10), "Counting")
    model = Talker(lambda prompt: '{"Rating": 3}')
    verdict = next(iter(PromptSettings().judge(model).judge([case])))
    assert verdict.marks == (3.0,)
    asked = words(model.asked[0])
    assert words(PromptSettings().judge(Talker(str)).prompt(case)) == asked
    assert "五个" in asked
    assert "三个" in asked


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"ballot": "score:1-5"}, "use the prompt style 'plain'"),
        ({"reference": False}, "use the prompt style 'plain'"),
        ({"prompt_style": "loud"}, "unknown prompt_style 'loud'"),
        ({"mode": "steps"}, "unknown mode 'steps'"),
        ({"prompt_style": "plain", "ballot": "choice"}, "no score bands are defined"),
        ({"language": "fr"}, "is en or zh; found 'fr'"),
    ],
)
def test_what_does_not_fit_together_is_told_at_once(values, told):
    with pytest.raises(InputError, match=told):
        PromptSettings(**values)
