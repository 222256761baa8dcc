"""An item's pictures, dialogue and question in a prompt: every part in the place where contestants got it.

An item of one turn, with its pictures before one text, is in order already: its pictures go into the template's slot
`pictures`, numbered, and its text into `question`. Any other item is interleaved. Its parts then go into `dialogue` and
`question` as they are. A judge that sees no pictures gets `[picture 2]` in the picture's place, with the description
if it has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from fullbench.core.ballot import Language
from fullbench.core.dialogue_turn_answers_and_criteria import is_dialogue, open_turns
from fullbench.core.item import WITHOUT_PICTURES, Item, Part, Turn
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.media import NOUNS, Media
from fullbench.judges.prompt_templates import Template

PictureMode = Literal["image", "none", "described"]

_SLOTS: Mapping[PictureMode, str] = {"image": "pictures", "none": "withheld", "described": "described"}
# The layout's digest, and with it the name of every judge, covers the texts for pictures only.
_OTHER_PLACEHOLDERS: Mapping[Language, tuple[str, str]] = {
    "en": ("[{noun} {number}, which you are not shown]", "[{noun} {number}, which you are not shown: {text}]"),
    "zh": ("[{noun} {number}，不向你展示]", "[{noun} {number}，不向你展示：{text}]"),
}
_ZH_NOUNS: Mapping[str, str] = {"video": "视频", "audio": "录音", "document": "文档", "image": "图片"}
_PLACEHOLDERS: Mapping[Language, str] = {"en": "[picture {number}{caption}]", "zh": "[图片 {number}{caption}]"}
_CAPTIONS: Mapping[Language, str] = {"en": ": {text}", "zh": "：{text}"}
_DESCRIBED_IN_PLACE: Mapping[Language, str] = {
    "en": "[picture 1: ...] and so on: each description is below, in the place of its picture.",
    "zh": "[图片 1：……]等：每段描述都写在下文中该图片所在的位置。",
}

_TURN_NUMBERS: Mapping[Language, str] = {"en": "[turn {number}] ", "zh": "[第 {number} 轮] "}
_OF_TURN: Mapping[Language, tuple[str, str]] = {
    "en": (
        "the answer to turn {number}, in view of the turns before it",
        "{meaning}, in the answer to turn {number}, in view of the turns before it",
    ),
    "zh": ("第 {number} 轮的回答（结合此前各轮）", "第 {number} 轮的回答（结合此前各轮）：{meaning}"),
}
_OF_DIALOGUE: Mapping[Language, tuple[str, str]] = {
    "en": (
        "the dialogue as a whole, each answer in view of the turns before it",
        "{meaning}, in the dialogue as a whole, each answer in view of the turns before it",
    ),
    "zh": ("整段对话（每轮回答结合此前各轮）", "整段对话（每轮回答结合此前各轮）：{meaning}"),
}


def layout_digest(language: Language) -> str:
    """Return the digest of this layout, for the settings of a judge."""
    return digest([
        "in place", _PLACEHOLDERS[language], _CAPTIONS[language], _DESCRIBED_IN_PLACE[language],
        _TURN_NUMBERS[language], *_OF_TURN[language], *_OF_DIALOGUE[language],
    ])  # fmt: skip


def turn_criterion_text(meaning: str, number: int | None, language: Language) -> str:
    """Return the criterion of a verdict on a dialogue: on the turn of that number, or on the whole if it is None."""
    without_meaning, with_meaning = (_OF_DIALOGUE if number is None else _OF_TURN)[language]
    return (with_meaning if meaning else without_meaning).format(number=number, meaning=meaning)


def question_slots(
    item: Item, template: Template, picture_mode: PictureMode, language: Language, *, exact: bool = False
) -> dict[str, Sequence[Part]]:
    """Return the values of a template's slots for an item's dialogue, question and pictures.

    Args:
        item: The item. Its instruction to contestants is excluded.
        template: The template. Without a slot `dialogue`, the dialogue comes before the question. Without a slot
            `pictures`, the pictures stay in the question.
        picture_mode: `image`, `none` or `described`.
        language: Language of the placeholders.
        exact: True for a prompt with a fixed text, which gets no placeholders.
    """
    has_other_media = has_media_besides_pictures(item)
    is_in_place = item.is_interleaved or (picture_mode == "image" and "pictures" not in template.slots)
    if exact and picture_mode != "image":
        is_in_place = False
    is_in_place |= has_other_media  # the list of pictures has a heading that speaks of pictures
    *dialogue_turns, question_turn = _number_turns(
        item,
        _turns_in_place(item, picture_mode, language)
        if is_in_place
        else [Turn(turn.role, (turn.text,)) for turn in item.turns_judged],
        language,
    )
    dialogue, question = tuple(_dialogue_parts(dialogue_turns, template.blocks)), question_turn.parts
    if dialogue and "dialogue" not in template.slots:
        dialogue, question = (), (*dialogue, "\n", *question)
    # If pictures are missing, the prompt says so: the judge must not conclude that the item has none.
    missing_names = item.tags.get(WITHOUT_PICTURES, "") if picture_mode != "described" else ""
    missing: tuple[Part, ...] = (str(len(missing_names.splitlines())),) if missing_names else ()
    if has_other_media or (is_in_place and picture_mode == "image"):
        pictures: tuple[Part, ...] = ()
    elif is_in_place and picture_mode == "described" and item.pictures:
        pictures = (_DESCRIBED_IN_PLACE[language],)
    else:
        pictures = tuple(_listed_pictures(item, picture_mode))
    return {
        "dialogue": dialogue,
        "question": question,
        **({"withheld": missing} if missing else {}),
        _SLOTS[picture_mode]: pictures or (missing if picture_mode == "none" else ()),
    }


def _listed_pictures(item: Item, picture_mode: PictureMode) -> Iterator[Part]:
    """Yield the pictures with their numbers, or the number of pictures, or their captions."""
    if picture_mode == "image":
        for number, picture in enumerate(item.pictures, 1):
            yield f"[{number}] "
            yield picture
            yield "\n"
    elif picture_mode == "none" and item.pictures:
        yield str(len(item.pictures))
    elif picture_mode == "described":
        yield "\n".join(f"[{number}] {caption}" for number, caption in enumerate(item.captions, 1))


def _turns_in_place(item: Item, picture_mode: PictureMode, language: Language) -> list[Turn]:
    turns, number = [], 0
    has_other_media = has_media_besides_pictures(item)
    for turn in item.turns:
        pieces: list[tuple[Part, bool]] = []
        for part in turn.parts:
            if isinstance(part, str):
                pieces.append((part, False))
                continue
            number += 1
            if picture_mode == "image":
                pieces.append((part, False))
            elif has_other_media:
                pieces.append((_other_placeholder(part, number, item, picture_mode, language), True))
            else:
                has_caption = picture_mode == "described" and number <= len(item.captions)
                caption = _CAPTIONS[language].format(text=item.captions[number - 1]) if has_caption else ""
                pieces.append((_PLACEHOLDERS[language].format(number=number, caption=caption), True))
        turns.append(Turn(turn.role, tuple(_separate(pieces))))
    return turns[len(turns) - len(item.turns_judged) :]


def has_media_besides_pictures(item: Item) -> bool:
    """Return True if the item shows a video, a recording or a document."""
    return len(item.media) > len(item.pictures)


def _other_placeholder(part: Media, number: int, item: Item, picture_mode: PictureMode, language: Language) -> str:
    noun = _ZH_NOUNS[part.kind] if language == "zh" else part.noun
    plain, described = _OTHER_PLACEHOLDERS[language]
    if picture_mode != "described" or number > len(item.captions):
        return plain.format(noun=noun, number=number)
    return described.format(noun=noun, number=number, text=item.captions[number - 1])


def name_media(text: str, item: Item, language: Language) -> str:
    """Return a text of the template with the nouns of the item's media, if they are not only pictures.

    >>> from fullbench.core.media import Video
    >>> name_media("Look at every picture.", Item.ask("a", "?", Video("0", "video/mp4", b"")), "en")
    'Look at every video.'
    """
    if not has_media_besides_pictures(item):
        return text
    kinds = dict.fromkeys(part.kind for part in item.media)
    if language == "zh":
        return text.replace("图片", "、".join(_ZH_NOUNS[kind] for kind in kinds))
    return text.replace("every picture", " and ".join(f"every {NOUNS[kind]}" for kind in kinds))


def _number_turns(item: Item, turns: Sequence[Turn], language: Language) -> list[Turn]:
    """Put the number before each turn that contestants answer, if there are several."""
    if not is_dialogue(item):
        return list(turns)
    first_judged = len(item.turns) - len(turns)
    numbers = {index - first_judged: number for number, index in enumerate(open_turns(item), 1)}
    return [
        Turn(turn.role, (_TURN_NUMBERS[language].format(number=numbers[place]), *turn.parts))
        if place in numbers
        else turn
        for place, turn in enumerate(turns)
    ]


def _separate(pieces: Sequence[tuple[Part, bool]]) -> Iterator[Part]:
    """Yield the parts of (part, is a placeholder), with white space between two that no white space separates."""
    previous, was_placeholder = None, False
    for part, is_placeholder in pieces:
        if not part:
            continue
        if isinstance(previous, str) and isinstance(part, str) and not (previous[-1].isspace() or part[0].isspace()):
            yield " " if was_placeholder or is_placeholder else "\n"
        yield part
        previous, was_placeholder = part, is_placeholder


def _dialogue_parts(turns: Sequence[Turn], blocks: Mapping[str, str]) -> Iterator[Part]:
    """Yield the turns before the question, each on a new line; a template's block `role_ROLE` names the speaker."""
    for turn in turns:
        yield blocks.get(f"role_{turn.role}", f"{turn.role}: ")
        yield from turn.parts
        yield "\n"
