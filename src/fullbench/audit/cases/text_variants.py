"""What can be done to an answer's words that should not matter, in doses of 1 and 2; and other ways to ask the same.

No wording here holds a number, a colour, a place or a capital word, so that what an answer says stays what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fullbench.audit.cases.synthetic_items import Asked
from fullbench.synthetic.question_meaning import Query
from fullbench.synthetic.questions import say, solve
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


def _longer(text: str, language: Language, dose: int) -> str:
    return text + "".join(_FILL[language][:dose])


def _marked_up(text: str, _: Language, dose: int) -> str:
    return f"**{text}**" if dose == 1 else f"## {'Answer' if text.isascii() else '回答'}\n\n- **{text}**\n"


def _emoji(text: str, _: Language, dose: int) -> str:
    return f"{text} ✅" if dose == 1 else f"✨🎯 {text} ✅🎉"


def _before(words: Mapping[Language, tuple[str, str]]) -> Callable[[str, Language, int], str]:
    return lambda text, language, dose: words[language][dose - 1] + text


_CHANGES: Mapping[str, Callable[[str, Language, int], str]] = {
    "length": _longer, "markdown": _marked_up, "confidence": _before(_SURE), "authority": _before(_AUTHORITY),
    "self-reference": _before(_SELF), "emoji": _emoji, "name leaked": _before(_NAMES),
}  # fmt: skip
LANGUAGE = "other language"
ATTACHED = "picture attached"
CHANGES: tuple[str, ...] = (*_CHANGES, LANGUAGE)
"""What can be done to an answer's words; to attach the picture itself is one more, for whole responses."""


def changed(asked: Asked, what: str, dose: int) -> str:
    """The right answer with so much of a change that should not matter."""
    if what == LANGUAGE:
        return in_other_language(asked)
    return bent(asked.right, asked.language, what, dose)


def bent(text: str, language: Language, what: str, dose: int) -> str:
    """Any answer with so much of a change of its words."""
    return _CHANGES[what](text, language, dose)


def in_other_language(asked: Asked) -> str:
    """The right answer in the language in which it was not asked for."""
    query = asked.query
    other: Language = "en" if asked.language == "zh" else "zh"
    answer = solve(query, asked.scene)
    return asked.right if answer is None else say(Query(query.task, other, query.kinds, query.detail), answer)


_ASKED_ANEW: Mapping[Language, tuple[str, str]] = {
    "en": (
        "Please look at the picture and answer: {question}",
        "I have this to ask about what you see here. {question}",
    ),
    "zh": ("请看图回答：{question}", "关于眼前这幅图，想请教：{question}"),
}


def paraphrased(asked: Asked, place: int) -> str:
    """The same question in other words around it."""
    frames = _ASKED_ANEW[asked.language]
    return frames[place % len(frames)].format(question=asked.question)


CRITERION = "correctness"
"""What an audit's cases are judged by."""
CRITERION_ANEW = "how far what the response says agrees with what the picture shows"
"""The same in other words."""
