"""Irrelevant changes of an answer's text in strengths 1 and 2, and rewordings of questions and rubric.

No text here contains a number, a colour, a position or a word in capitals, so the answer's content stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fullbench.audit.cases.synthetic_items import SceneQuestion
from fullbench.synthetic.parsed_question_and_answer_types import Query
from fullbench.synthetic.question_wording_parsing_and_solving import solve_query, word_answer
from fullbench.synthetic.vocabulary import Language

_FILL: Mapping[Language, tuple[str, str]] = {
    "en": (
        " This is what can be made out after a careful look at the whole picture.",
        " Every part of it was looked at with care, and the parts were weighed against each other before answering.",
    ),
    "zh": ("这是仔细观察整幅图之后得到的结论。", "画面的每处细节都认真看过，也相互核对过，然后才作答。"),
}
_SURE: Mapping[Language, tuple[str, str]] = {
    "en": ("I am quite sure: ", "There is absolutely no doubt whatsoever, and I stake my name on it: "),
    "zh": ("我很确定：", "这毫无疑问，我以名誉担保："),
}
_AUTHORITY: Mapping[Language, tuple[str, str]] = {
    "en": ("As experts in the field confirm: ", "As a team of leading professors has established and published: "),
    "zh": ("正如业内专家所证实：", "正如权威教授团队研究并发表的结论："),
}
_SELF: Mapping[Language, tuple[str, str]] = {
    "en": ("As a language model like you, I answer: ", "As a model of your own family, trained as you are, I answer: "),
    "zh": ("作为和你一样的语言模型，我的回答是：", "作为与你同一系列、同样训练而成的模型，我的回答是："),
}
_NAMES: Mapping[Language, tuple[str, str]] = {
    "en": ("[answer by a well-known model] ", "[answer by the model that leads all leaderboards] "),
    "zh": ("【某知名模型的回答】", "【各排行榜榜首模型的回答】"),
}


def _lengthen_text(text: str, language: Language, strength: int) -> str:
    return text + "".join(_FILL[language][:strength])


def _add_markdown(text: str, _: Language, strength: int) -> str:
    return f"**{text}**" if strength == 1 else f"## {'Answer' if text.isascii() else '回答'}\n\n- **{text}**\n"


def _add_emoji(text: str, _: Language, strength: int) -> str:
    return f"{text} ✅" if strength == 1 else f"✨🎯 {text} ✅🎉"


def _prefix_change(prefixes: Mapping[Language, tuple[str, str]]) -> Callable[[str, Language, int], str]:
    return lambda text, language, strength: prefixes[language][strength - 1] + text


_CHANGES: Mapping[str, Callable[[str, Language, int], str]] = {
    "length": _lengthen_text,
    "markdown": _add_markdown,
    "confidence": _prefix_change(_SURE),
    "authority": _prefix_change(_AUTHORITY),
    "self-reference": _prefix_change(_SELF),
    "emoji": _add_emoji,
    "name leaked": _prefix_change(_NAMES),
}
OTHER_LANGUAGE = "other language"
PICTURE_ATTACHED = "picture attached"
CHANGES: tuple[str, ...] = (*_CHANGES, OTHER_LANGUAGE)
"""Irrelevant changes of an answer's text. Attaching the picture is another one, for whole responses."""


def change_answer(scene_question: SceneQuestion, change: str, strength: int) -> str:
    """Return the right answer with an irrelevant change of that strength."""
    if change == OTHER_LANGUAGE:
        return answer_in_other_language(scene_question)
    return change_text(scene_question.right, scene_question.language, change, strength)


def change_text(text: str, language: Language, change: str, strength: int) -> str:
    """Apply a change of that strength to any answer."""
    return _CHANGES[change](text, language, strength)


def answer_in_other_language(scene_question: SceneQuestion) -> str:
    """Return the right answer in the language that was not requested."""
    query = scene_question.query
    other_language: Language = "en" if scene_question.language == "zh" else "zh"
    answer = solve_query(query, scene_question.scene)
    return (
        scene_question.right
        if answer is None
        else word_answer(Query(query.task, other_language, query.kinds, query.detail), answer)
    )


_QUESTION_FRAMES: Mapping[Language, tuple[str, str]] = {
    "en": (
        "Please look at the picture and answer: {question}",
        "I have this to ask about what you see here. {question}",
    ),
    "zh": ("请看图回答：{question}", "关于眼前这幅图，想请教：{question}"),
}


def paraphrase_question(scene_question: SceneQuestion, index: int) -> str:
    """Return the question with other words around it."""
    frames = _QUESTION_FRAMES[scene_question.language]
    return frames[index % len(frames)].format(question=scene_question.question)


CRITERION = "correctness"
REWORDED_CRITERION = "how far what the response says agrees with what the picture shows"
