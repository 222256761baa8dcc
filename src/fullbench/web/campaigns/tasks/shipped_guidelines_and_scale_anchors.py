"""Guidelines that annotators read: shipped texts in English and Chinese, and the anchors of scale points.

Texts are shipped for every kind of task and for the papers' studies. A campaign may have its own text. A line
`<!-- zh -->` separates the languages in it: English before, Chinese after.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from fullbench.core.ballot import Flaw, Likert, ballot
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.studies.authoring.critic_rubric_for_people import CRITIC_TASKS, general_rubric_as_markdown, task_rules
from fullbench.web.words import Language

PLAIN = "plain"
"""Texts that belong to no paper, one for every kind."""
ALIGNMMBENCH = "alignmmbench"
AGAINST_REFERENCE = frozenset({("score", ALIGNMMBENCH)})
"""Kinds and papers whose text asks people to mark against the reference, which must then be shown."""
_FOLDER = Path(__file__).parents[1] / "guidelines"
_PART = re.compile(r"^<!-- kind: (\w+) -->$", re.MULTILINE)
_CRITERION = re.compile(r"^<!-- criterion: (\w+) -->$", re.MULTILINE)
_CRITIC_RUBRIC = "{critic rubric}"
"""Place in a shipped text of the general part of the critic's prompt."""
_CHINESE = re.compile(r"^<!-- zh -->\s*$", re.MULTILINE)
_ANCHOR = re.compile(
    r"^\s*[-*]\s+\**(-?\d+|lowest|middle|highest|最低|中间|最高)(?: (?:or|或) (-?\d+))?\**\s*[:：]\s*(.+)$",
    re.MULTILINE,
)
_ENDS = {"最低": "lowest", "中间": "middle", "最高": "highest"}


@cache
def _shipped_texts(name: str, language: Language) -> dict[str, str]:
    _, *parts = _PART.split(_file_parts(name, language)[0])
    texts = {kind: text.strip() for kind, text in zip(parts[::2], parts[1::2], strict=True)}
    return {kind: _with_critic_rubric(text, language) for kind, text in texts.items()}


@cache
def _file_parts(name: str, language: Language) -> tuple[str, dict[str, str]]:
    """Return the texts for kinds, and the explanation of each criterion."""
    file_text = (_FOLDER / f"{name}.{language}.md").read_text(encoding="utf-8")
    texts, *parts = _CRITERION.split(file_text)
    return texts, {criterion: text.strip() for criterion, text in zip(parts[::2], parts[1::2], strict=True)}


def _with_critic_rubric(text: str, language: Language) -> str:
    return text.replace(_CRITIC_RUBRIC, general_rubric_as_markdown(language)) if _CRITIC_RUBRIC in text else text


def criterion_rules(paper: str, criterion: str, task: str, language: Language) -> str:
    """Return what a criterion means in a paper, or the rules of AlignMMBench's task; empty if there are none."""
    explained = _file_parts(paper, language)[1].get(criterion, "")
    if explained or paper != ALIGNMMBENCH:
        return explained
    return task_rules(criterion, language) or task_rules(task, language)


@cache
def papers_with_guidelines() -> tuple[str, ...]:
    """Return the papers that have shipped texts."""
    return tuple(
        sorted(path.name.removesuffix(".en.md") for path in _FOLDER.glob("*.en.md") if path.stem != "plain.en")
    )


def papers_for_kind(kind: str) -> list[str]:
    """Return the papers that have a text for a kind."""
    return [name for name in papers_with_guidelines() if kind in _shipped_texts(name, "en")]


def shipped_text(kind: str, language: Language, paper: str = PLAIN) -> str:
    """Return a paper's text for a kind; by default the plain text. Empty for a plugin's kind."""
    return _shipped_texts(paper, language).get(kind, "")


def text_name(kind: str, ballot_spec: str, paper: str = PLAIN) -> str:
    """Return the name of a shipped text: the kind's, or one for scores in words or for flaws, which are no merits.

    >>> text_name("score", "score:1-5"), text_name("score", "likert:bad|good"), text_name("score", "flaw:no|yes")
    ('score', 'score_words', 'score_flaw')
    """
    form = ballot(ballot_spec) if kind == "score" and paper == PLAIN else None
    if not isinstance(form, Likert):
        return kind
    return "score_flaw" if isinstance(form, Flaw) else "score_words"


def check_paper(paper: str, kind: str) -> str:
    """Return the paper's name; raise `InputError` if it has no text for this kind."""
    if paper and paper not in papers_for_kind(kind):
        raise InputError(
            Note(
                "web.wrong.no-guideline-of-paper",
                paper=paper, kind=kind, names=", ".join(papers_for_kind(kind)) or "none",
            )
        )  # fmt: skip
    return paper


def shipped_version(kind: str, paper: str = PLAIN) -> str:
    """Return the version that votes record for a shipped text; a changed text gets a new version automatically."""
    both = [shipped_text(kind, "en", paper), shipped_text(kind, "zh", paper)]
    languages: tuple[Language, ...] = ("en", "zh")
    rules = [dict(_file_parts(paper, language)[1]) for language in languages]
    if paper == ALIGNMMBENCH:
        rules = [{task: task_rules(task, language) for task in CRITIC_TASKS} for language in languages]
    if any(rules):
        both += [json.dumps(rules, sort_keys=True)]
    return f"shipped {paper} {kind} {digest(both)[:8]}"


def in_language(text: str, language: Language) -> str:
    r"""Return the part of a campaign's text in a language; the whole text if it has one part.

    >>> in_language("Look.\n<!-- zh -->\n看。", "zh"), in_language("Look.", "zh")
    ('看。', 'Look.')
    """
    parts = _CHINESE.split(text, maxsplit=1)
    return parts[-1 if language == "zh" else 0].strip() if len(parts) > 1 else text


def with_pictures(text: str, addresses: Mapping[str, str], *, unnamed_too: bool = False) -> str:
    """Replace picture file names in a text by addresses on the site.

    With `unnamed_too`, pictures that the text does not name are added at the end of each language's part.

    >>> with_pictures("Look: ![a cat](cat.png)", {"cat.png": "/pictures/ab"})
    'Look: ![a cat](/pictures/ab)'
    """
    unnamed_addresses = [address for name, address in addresses.items() if f"]({name})" not in text]
    for name, address in addresses.items():
        text = text.replace(f"]({name})", f"]({address})")
    further = "".join(f"\n\n![]({address})" for address in unnamed_addresses) if unnamed_too else ""
    parts = _CHINESE.split(text, maxsplit=1)
    return "\n\n<!-- zh -->\n\n".join(part.strip() + further for part in parts) if further else text


def scale_anchors(text: str, scale: Sequence[str]) -> dict[str, str]:
    r"""Return the anchor texts of scale points, from lines such as `- 3: partly right`.

    `lowest`, `middle` and `highest` mean the ends and the middle of the campaign's scale.

    >>> scale_anchors("- 1: wrong\n- highest: right", ["1", "2", "3"])
    {'1': 'wrong', '3': 'right'}
    >>> scale_anchors("- lowest: wrong\n- middle: partly right", ["0", "1"])
    {'0': 'wrong'}
    >>> scale_anchors("- 1 or 2: wrong", ["1", "2", "3"])
    {'1': 'wrong', '2': 'wrong'}
    """
    anchor_texts = {
        _ENDS.get(point, point): words.strip()
        for low, high, words in _ANCHOR.findall(text)
        for point in (low, high)
        if point
    }
    if not scale:
        return {}
    middle = {scale[(len(scale) - 1) // 2]: "middle"} if len(scale) > 2 else {}
    ends = {**middle, scale[0]: "lowest", scale[-1]: "highest"}
    words = {point: anchor_texts.get(point) or anchor_texts.get(ends.get(point, "")) for point in scale}
    return {point: meaning for point, meaning in words.items() if meaning}
