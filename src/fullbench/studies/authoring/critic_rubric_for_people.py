"""The critic's rubric in a form that people read: its general part, the meaning of each rating, the rules of a task.

People who score answers for a critic and the critic itself follow the same text (AlignMMBench, section A.5.2), so the
text is stored once, in the critic's prompt templates.
"""

from __future__ import annotations

import re

from fullbench.core.ballot import Language
from fullbench.judges.critic_prompts_with_task_rules import RULES, load_critic_template

CRITIC_TASKS = tuple(RULES)
"""AlignMMBench's tasks, each with rules of its own in the critic's prompt."""
_RATING = re.compile(r"^(\d+)(?: (?:or|或) (\d+))?(?: 分)?[:：] *(.+)$")
_ABOUT_THE_QUESTION = re.compile(
    r"^(?:about the question(?: and readable, yet|, but|;) |与问题有关，(?:也读得懂，)?但?)"
)
"""What the meanings of 2 to 6 begin with. People's short labels leave it out, so that their buttons differ."""
_SCALE_NOTE = {
    "en": "An answer that gets 2 or more is about the question.",
    "zh": "2 分及以上的回答都与问题有关。",
}
_SCALE_HEADING = {"en": "The scale", "zh": "分数"}
_EXAMPLE_HEADING = {"en": "Example", "zh": "例子"}


def rating_meanings(language: Language) -> dict[int, str]:
    """Return the meaning of every rating in the critic's prompt, without a common beginning.

    >>> rating_meanings("en")[3], rating_meanings("zh")[3]
    ('wrong throughout.', '从头到尾都是错的。')
    """
    lines = load_critic_template(language).block("criterion").splitlines()
    matches = [match for line in lines if (match := _RATING.match(line))]
    return {
        int(mark): _ABOUT_THE_QUESTION.sub("", match[3]) for match in matches for mark in match.groups()[:2] if mark
    }


def general_rubric_as_markdown(language: Language) -> str:
    """Return the general part of the critic's prompt as Markdown: what to weigh, the scale, and an example."""
    weigh, scale, *further = load_critic_template(language).block("criterion").split("\n\n")[:-1]
    *paragraphs, example = further
    introduction, *example_lines = example.splitlines()
    _, weighing = weigh.split("\n", 1)
    marks = [match.groups() for line in scale.splitlines() if (match := _RATING.match(line))]
    joining = {"en": "or", "zh": "或"}[language]
    meanings = rating_meanings(language)
    scale_lines = [f"- {low}{f' {joining} {high}' if high else ''}: {meanings[int(low)]}" for low, high, _ in marks]
    return "\n\n".join(
        [
            weighing,
            f"## {_SCALE_HEADING[language]}",
            _SCALE_NOTE[language],
            "\n".join(scale_lines),
            *paragraphs,
            introduction,
            f"## {_EXAMPLE_HEADING[language]}",
            "\n".join(f"- {line}" for line in example_lines),
        ]
    )


def task_rules(task: str, language: Language) -> str:
    """Return the critic's rules for a task of AlignMMBench, or an empty text for other tasks."""
    return load_critic_template(language).block(RULES[task]) if task in RULES else ""
