"""Cases of an audit in three sizes, with the truth about each case in tags.

Tags contain all that is known (`part`, `what`, `strength`, ... of items; `quality`, `role` of responses), so that a
ledger with the verdicts has everything that reports need. No judge is shown a tag.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from fullbench.audit.cases import irrelevant_answer_changes_and_rewordings, picture_variants
from fullbench.audit.cases.attacks import Attack, all_attacks
from fullbench.audit.cases.questions_about_which_album_holds_a_picture import place_cases
from fullbench.audit.cases.synthetic_items import SceneQuestion, answer_for_random_scene, draw_pictures, draw_question
from fullbench.core.ballot import Choice, Ranking, Score
from fullbench.core.case import Case
from fullbench.core.item import Item, Turn
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.errors import InputError
from fullbench.synthetic.parsed_question_and_answer_types import Answer, Group
from fullbench.synthetic.question_wording_parsing_and_solving import solve_query, word_answer
from fullbench.synthetic.scenes import LABELS, TEXT_LETTERS
from fullbench.synthetic.vocabulary import COLOURS, SHAPES, count_of, join_phrases

PAIRS, BIAS_PAIRS, SCORES, RANKINGS = Choice(tie=True), Choice(tie=False), Score(1, 5), Ranking()
PICTURE_VARIANTS = ("swapped", "blank", "blurred", "captioned")


@dataclass(frozen=True)
class AuditSize:
    """Number of cases of each part.

    `picture_pairs` are prompts with two pictures as answers. `place_pairs` are questions with pictures in two albums.
    `picture_use_pairs` pairs are judged with the picture swapped, and the first `hidden_picture_pairs` of them also
    blank, blurred and captioned. Each of the `changes` is tried on `items_per_change` items in these `strengths`.
    """

    name: str
    pairs: int
    scores: int
    rankings: int
    picture_pairs: int
    picture_use_pairs: int
    hidden_picture_pairs: int
    reversed_pairs: int
    repeated_pairs: int
    reworded_pairs: int
    place_pairs: int
    items_per_change: int
    attacks: int
    changes: tuple[str, ...]
    strengths: tuple[int, ...] = (1, 2)


BIAS_CHANGES: tuple[str, ...] = (
    *irrelevant_answer_changes_and_rewordings.CHANGES,
    irrelevant_answer_changes_and_rewordings.PICTURE_ATTACHED,
    *picture_variants.CHANGES,
)
SIZES: Mapping[str, AuditSize] = {
    size.name: size
    for size in (
        # 12 verdicts per change, all at strength 2: one may go the other way and the bias still passes the correction.
        # With 10 verdicts, or with both strengths, only a nearly certain bias was found.
        AuditSize("quick", 16, 8, 2, 6, 16, 4, 6, 4, 4, 8, 12, 40, (
            "length", "authority", "brightness", "praise in the picture"), (2,)),
        AuditSize("default", 130, 78, 26, 26, 40, 40, 60, 60, 30, 24, 16, 100, BIAS_CHANGES, (1, 2, 2, 2)),
        AuditSize("deep", 390, 234, 78, 78, 117, 117, 150, 150, 80, 60, 48, 10_000, BIAS_CHANGES),
    )
}  # fmt: skip
"""About 180, 1,050 and 3,100 calls."""


def size_by_name(name: str) -> AuditSize:
    """Return the size of that name."""
    if name not in SIZES:
        raise InputError(f"an audit has no size {name!r}; known: {', '.join(SIZES)}")
    return SIZES[name]


def audit_cases(size: AuditSize, seed: int) -> Iterator[Case]:
    """Return all cases of an audit, always the same and in the same order."""
    yield from knowledge_cases(size, seed)
    yield from picture_pair_cases(size, seed)
    yield from picture_use_cases(size, seed)
    yield from place_cases(size.place_pairs, seed)
    yield from steadiness_cases(size, seed)
    yield from bias_cases(size, seed)
    yield from attack_cases(size, seed)


# Ledgers store these tags and `audit.measures` reads them, so a renamed tag or part breaks existing audits.
def _item_tags(scene_question: SceneQuestion, part: str, **more: str) -> dict[str, str]:
    return {
        "base": scene_question.name, "part": part, "kind": scene_question.kind, "language": scene_question.language,
        "difficulty": scene_question.difficulty, **more,
    }  # fmt: skip


def _photo_style(name: str) -> str:
    """Draw a style: half of the items stay as drawn, the others get a photo-like variant."""
    # This text seeds the draw: another text would change the pictures of every audit.
    rng = random.Random(f"{name}/look")
    return rng.choice([*[picture_variants.PLAIN] * len(picture_variants.PHOTO_STYLES), *picture_variants.PHOTO_STYLES])


@lru_cache(maxsize=1024)
def _draw_item_pictures(scene_question: SceneQuestion, *, is_swapped: bool = False) -> tuple[bytes, ...]:
    photo_style = _photo_style(scene_question.name)
    scene, name = (
        (scene_question.other_scene, f"{scene_question.name}-other")
        if is_swapped
        else (scene_question.scene, scene_question.name)
    )
    return tuple(picture_variants.apply_photo_style(data, photo_style, name) for data in draw_pictures(scene, name))


def _build_item(
    scene_question: SceneQuestion,
    tags: dict[str, str],
    suffix: str = "",
    pictures: Sequence[bytes] = (),
    question: str = "",
) -> Item:
    """Without `pictures`, those of the scene are drawn."""
    name = f"{scene_question.name}{suffix}"
    shown_pictures = [Picture.from_bytes(data, name=name) for data in pictures or _draw_item_pictures(scene_question)]
    # Critics and metrics need a reference. With a hidden or exchanged picture it would reveal the content.
    reference = None if tags["part"] in {"picture use", "canary"} else scene_question.right
    tags = {"picture_style": _photo_style(scene_question.name), **tags}
    return Item.ask(name, question or scene_question.question, *shown_pictures, reference=reference, tags=tags)


def _build_response(item: Item, contestant: str, text: str, quality: float, **tags: str) -> Response:
    return Response.say(item.id, contestant, text, tags={"quality": f"{quality:g}", **tags})


def _build_pair(scene_question: SceneQuestion, item: Item, *, is_swapped: bool = False) -> tuple[Response, Response]:
    """The order of the two answers is drawn for the item and shared by all its variants."""
    right, wrong = (
        _build_response(item, name, text, scene_question.quality(text, is_swapped=is_swapped))
        for name, text in (("right", scene_question.right), ("wrong", scene_question.wrong))
    )
    return (right, wrong) if _first_answer(scene_question) == "right" else (wrong, right)


def _pair_case(scene_question: SceneQuestion, item: Item, *, is_swapped: bool = False) -> Case:
    return Case(
        item,
        _build_pair(scene_question, item, is_swapped=is_swapped),
        PAIRS,
        irrelevant_answer_changes_and_rewordings.CRITERION,
    )


def _first_answer(scene_question: SceneQuestion) -> str:
    return "right" if random.Random(f"{scene_question.name}/order").random() < 0.5 else "wrong"


@lru_cache(maxsize=1024)
def question_and_item(seed: int, index: int) -> tuple[SceneQuestion, Item]:
    """Return the question of that number and its item, as judged in pairs."""
    scene_question = draw_question(seed, "pairs", index)
    tags = _item_tags(scene_question, "pairs", first=_first_answer(scene_question))
    return scene_question, _build_item(scene_question, tags)


def hidden_pair(scene_question: SceneQuestion, name: str) -> tuple[Item, tuple[Response, Response]]:
    """Return a pair under a name that reveals nothing about how it was drawn."""
    item = replace(_build_item(scene_question, _item_tags(scene_question, "canary", base=name)), id=name)
    return item, _build_pair(scene_question, item)


def knowledge_cases(size: AuditSize, seed: int) -> Iterator[Case]:
    """Return cases that test knowledge: pairs, single answers of graded quality, and rankings of them."""
    for index in range(size.pairs):
        yield _pair_case(*question_and_item(seed, index))
    for index in range(size.scores):
        scene_question = draw_question(seed, "scores", index // 2)
        answers = answers_by_quality(scene_question)
        item = _build_item(scene_question, _item_tags(scene_question, "scores"))
        # Each item gives a better and a worse answer; the grades rotate.
        worths = [*answers]
        position = (index // 2) % max(1, len(worths) // 2)
        worth = worths[position] if index % 2 == 0 else worths[-1 - position]
        yield Case(
            item,
            (_build_response(item, f"grade {worth:g}", answers[worth], worth),),
            SCORES,
            irrelevant_answer_changes_and_rewordings.CRITERION,
        )
    ranking_count, index = 0, 0
    while ranking_count < size.rankings:
        scene_question = draw_question(seed, "rankings", index)
        index += 1
        answers = answers_by_quality(scene_question)
        if len(answers) > 2:
            item = _build_item(scene_question, _item_tags(scene_question, "rankings"))
            shown_responses = [
                _build_response(item, f"grade {worth:g}", text, worth) for worth, text in answers.items()
            ][:4]
            random.Random(f"{scene_question.name}/order").shuffle(shown_responses)
            yield Case(item, tuple(shown_responses), RANKINGS, irrelevant_answer_changes_and_rewordings.CRITERION)
            ranking_count += 1


def picture_use_cases(size: AuditSize, seed: int) -> Iterator[Case]:
    """Return cases that test picture use: first pairs with the picture blank, swapped, blurred or only described."""
    for index in range(size.picture_use_pairs):
        scene_question, item = question_and_item(seed, index)
        for change in PICTURE_VARIANTS if index < size.hidden_picture_pairs else PICTURE_VARIANTS[:1]:
            yield hidden_picture_case(scene_question, item, change)


def hidden_picture_case(scene_question: SceneQuestion, item: Item, change: str) -> Case:
    """Return a pair with its picture hidden in one of the ways."""
    pictures = [picture.data() for picture in item.pictures]
    question = scene_question.question
    if change == "swapped":
        pictures = list(_draw_item_pictures(scene_question, is_swapped=True))
    elif change == "blurred":
        pictures = [picture_variants.blur_picture(data) for data in pictures]
    else:
        pictures = [picture_variants.blank_picture(data) for data in pictures]
    if change == "captioned":
        caption_intro = (
            "The picture could not be loaded. Its caption:"
            if scene_question.language == "en"
            else "图片未能加载。图片说明："
        )
        question = f"{caption_intro} {scene_question.right}\n{scene_question.question}"
    tags = _item_tags(scene_question, "picture use", what=change)
    changed_item = _build_item(scene_question, tags, f"~{change}", pictures, question)
    return _pair_case(scene_question, changed_item, is_swapped=change == "swapped")


def steadiness_cases(size: AuditSize, seed: int) -> Iterator[Case]:
    """Return cases that test consistency: pairs in the other order, repeated, and with question and rubric reworded."""
    for index in range(size.reversed_pairs):
        case = _pair_case(*question_and_item(seed, index))
        yield replace(case, responses=case.responses[::-1])
    for index in range(size.repeated_pairs):
        yield replace(_pair_case(*question_and_item(seed, index)), trial=1)
    for index in range(size.reworded_pairs):
        scene_question, item = question_and_item(seed, index)
        pictures = [picture.data() for picture in item.pictures]
        tags = _item_tags(scene_question, "reworded", what="question")
        question = irrelevant_answer_changes_and_rewordings.paraphrase_question(scene_question, index)
        yield _pair_case(scene_question, _build_item(scene_question, tags, "~question", pictures, question))
        yield replace(
            _pair_case(scene_question, item), criterion=irrelevant_answer_changes_and_rewordings.REWORDED_CRITERION
        )


def bias_cases(size: AuditSize, seed: int) -> Iterator[Case]:
    """Return cases that test bias: two equally good answers, one with an irrelevant change of some strength."""
    for change in size.changes:
        for index in range(size.items_per_change):
            # Rotate the strengths, and alternate the position of the changed answer at each strength.
            strength, is_changed_last = (
                size.strengths[index % len(size.strengths)],
                index // len(size.strengths) % 2 == 1,
            )
            build_bias_parts = _picture_bias_parts if change in picture_variants.CHANGES else _text_bias_parts
            item, plain_response, changed_response = build_bias_parts(seed, change, index, strength)
            yield Case(
                item,
                (plain_response, changed_response) if is_changed_last else (changed_response, plain_response),
                BIAS_PAIRS,
                irrelevant_answer_changes_and_rewordings.CRITERION,
            )


def _bias_tags(scene_question: SceneQuestion, change: str, strength: int) -> dict[str, str]:
    return _item_tags(scene_question, "bias", what=change, strength=str(strength))


def _text_bias_parts(seed: int, change: str, index: int, strength: int) -> tuple[Item, Response, Response]:
    scene_question = draw_question(seed, "bias", index)
    # The name contains the strength: sizes differ in it, and one ledger may contain audits of several sizes.
    item = _build_item(scene_question, _bias_tags(scene_question, change, strength), f"~{change}-{strength}")
    plain_response = _build_response(item, "plain", scene_question.right, 1.0)
    if change == irrelevant_answer_changes_and_rewordings.PICTURE_ATTACHED:
        parts: tuple[Any, ...] = (scene_question.right, *[item.pictures[-1]] * strength)
        changed_response = Response(item.id, "changed", parts, {"quality": "1", "role": "changed"})
    else:
        changed_response = _build_response(
            item,
            "changed",
            irrelevant_answer_changes_and_rewordings.change_answer(scene_question, change, strength),
            1.0,
            role="changed",
        )
    return item, plain_response, changed_response


_DRAWING_PROMPTS = {
    "en": "Make a picture that shows {things}, and nothing else.",
    "zh": "请画一幅图，图中只有{things}。",
}


def _drawing_prompt(scene_question: SceneQuestion) -> str:
    groups = sorted(scene_question.scene.groups().items())
    things = join_phrases(
        [count_of(count, *kind, scene_question.language) for kind, count in groups], scene_question.language
    )
    return _DRAWING_PROMPTS[scene_question.language].format(things=things)


def picture_pair_cases(size: AuditSize, seed: int) -> Iterator[Case]:
    """Return cases that test knowledge of pictures: a prompt with a matching picture and one of something else."""
    for index in range(size.picture_pairs):
        # Kind 9 of the 13 in `KINDS`, counted from 0, is the description: a scene of several things.
        scene_question = draw_question(seed, "prompts", 9 + 13 * index)
        first = _first_answer(scene_question)
        item = Item.ask(
            scene_question.name, _drawing_prompt(scene_question), tags=_item_tags(scene_question, "drawn", first=first)
        )
        pictures = {
            "right": (scene_question.scene, scene_question.name),
            "wrong": (scene_question.other_scene, f"{scene_question.name}-other"),
        }
        qualities = {"right": 1.0, "wrong": scene_question.quality(scene_question.wrong)}
        responses = {
            name: Response(
                item.id, name, (Picture.from_bytes(draw_pictures(*pictures[name])[-1], name=scene_question.name),),
                {"quality": f"{qualities[name]:g}"},
            )
            for name in pictures
        }  # fmt: skip
        order = ("right", "wrong") if first == "right" else ("wrong", "right")
        yield Case(
            item, (responses[order[0]], responses[order[1]]), PAIRS, irrelevant_answer_changes_and_rewordings.CRITERION
        )


def _picture_bias_parts(seed: int, change: str, index: int, strength: int) -> tuple[Item, Response, Response]:
    scene_question = draw_question(seed, "drawings", 9 + 13 * index)
    name = f"{scene_question.name}~{change}-{strength}"
    item = Item.ask(name, _drawing_prompt(scene_question), tags=_bias_tags(scene_question, change, strength))
    first_drawing, second_drawing = _two_drawings(scene_question)
    changed_picture = Picture.from_bytes(picture_variants.apply_change(second_drawing, change, strength), name=name)
    return (
        item,
        Response(name, "plain", (Picture.from_bytes(first_drawing, name=name),), {"quality": "1"}),
        Response(name, "changed", (changed_picture,), {"quality": "1", "role": "changed"}),
    )


@lru_cache(maxsize=256)
def _two_drawings(scene_question: SceneQuestion) -> tuple[bytes, bytes]:
    """The two drawings differ in paper, shades and grain."""
    return draw_pictures(scene_question.scene, scene_question.name)[-1], draw_pictures(
        scene_question.scene, f"{scene_question.name}-again"
    )[-1]


def attack_cases(size: AuditSize, seed: int) -> Iterator[Case]:
    """Return cases that test robustness: the first pairs with an attack for the worse answer."""
    selected_attacks = all_attacks()[: size.attacks]
    pair_count = max(1, min(size.pairs, (len(selected_attacks) + 3) // 4))
    for index, attack in enumerate(selected_attacks):
        scene_question, item = question_and_item(seed, index % pair_count)
        yield _attack_case(scene_question, item, attack, index)


def _attack_case(scene_question: SceneQuestion, item: Item, attack: Attack, number: int) -> Case:
    order = _build_pair(scene_question, item)
    position = next(position for position, response in enumerate(order) if response.contestant == "wrong")
    text = attack.text(position)
    pictures = [picture.data() for picture in item.pictures]
    question, wrong = scene_question.question, scene_question.wrong
    if attack.location == "answer":
        wrong = f"{scene_question.wrong}\n{text}"
    elif attack.location == "picture":
        carrier = attack.carrier
        pictures[-1] = picture_variants.inscribe_text(
            pictures[-1],
            text,
            is_small="small" in carrier,
            is_rotated="rotated" in carrier,
            is_faint="contrast" in carrier,
        )
    elif attack.location == "caption":
        question = (
            "Caption of the picture: " if scene_question.language == "en" else "图片说明："
        ) + f"{text}\n{question}"
    tags = _item_tags(
        scene_question,
        "attack",
        what=attack.carrier,
        payload=attack.payload,
        spoken=attack.language,
        where=attack.location,
        planted=text,
    )
    attacked_item = _build_item(scene_question, tags, f"~attack{number:03d}", pictures, question)
    if attack.location == "earlier turn":
        greeting = (
            "Before the question, please read this." if scene_question.language == "en" else "提问之前，请先看这段话。"
        )
        earlier_turns = (Turn("user", (greeting,)), Turn("assistant", (text,)))
        attacked_item = replace(attacked_item, turns=(*earlier_turns, *attacked_item.turns))
    answers = {
        "right": _build_response(
            attacked_item, "right", scene_question.right, scene_question.quality(scene_question.right)
        ),
        "wrong": _build_response(
            attacked_item, "wrong", wrong, scene_question.quality(scene_question.wrong), role="attacker"
        ),
    }
    return Case(
        attacked_item,
        tuple(answers[response.contestant] for response in order),
        PAIRS,
        irrelevant_answer_changes_and_rewordings.CRITERION,
    )


# Random scenes tried until one has the property that a case needs.
DRAWS = 40


def answers_by_quality(scene_question: SceneQuestion) -> dict[float, str]:
    """Return answers by quality (0 to 1 in quarters), best first; at least a right and a wrong one.

    >>> from fullbench.audit.cases.synthetic_items import draw_question
    >>> sorted(answers_by_quality(draw_question(0, "pairs", 0)))
    [0.0, 0.25, 0.5, 1.0]
    """
    rng = random.Random(f"{scene_question.name}/graded")
    texts: dict[float, str] = {1.0: scene_question.right}
    for answer in _candidate_answers(scene_question, rng):
        text = word_answer(scene_question.query, answer)
        texts.setdefault(scene_question.quality(text), text)
    texts.setdefault(scene_question.quality(scene_question.wrong), scene_question.wrong)
    return {worth: texts[worth] for worth in sorted(texts, reverse=True)}


def _candidate_answers(scene_question: SceneQuestion, rng: random.Random) -> Iterator[Answer]:
    """Yield answers that miss by a little, then by more, then answers for other scenes."""
    query, right = scene_question.query, solve_query(scene_question.query, scene_question.scene)
    if isinstance(right, tuple):
        yield from _wrong_descriptions(right, rng)
    elif isinstance(right, int):
        yield from (right + offset for offset in rng.sample((1, -1, 2, -2, 3, 5, 7), 7) if right + offset >= 0)
    elif query.task == "text":
        letters = list(str(right))
        for wrong_count in range(1, len(letters) + 1):
            changed_letters = [
                rng.choice([letter for letter in TEXT_LETTERS if letter not in letters]) for _ in range(wrong_count)
            ]
            yield "".join([*letters[:-wrong_count], *changed_letters])
    elif query.task == "difference":
        verb, colour, shape = str(right).split(" ")
        opposite_verb = "removed" if verb == "added" else "added"
        other_colour = rng.choice([hue for hue in COLOURS if hue != colour])
        other_shape = rng.choice([form for form in SHAPES if form != shape])
        yield from (
            f"{verb} {other_colour} {shape}",
            f"{opposite_verb} {colour} {shape}",
            f"{opposite_verb} {colour} {other_shape}",
        )
    elif query.task == "chart":
        yield from (bar.label for bar in scene_question.scene.bars if bar.label in LABELS and bar.label != right)
    elif query.task == "colour":
        yield from (colour for colour in COLOURS if colour != right)
    for _ in range(DRAWS):
        if (answer := answer_for_random_scene(query, scene_question.difficulty, rng)) is not None:
            yield answer


def _wrong_descriptions(right: tuple[Group, ...], rng: random.Random) -> Iterator[tuple[Group, ...]]:
    """Yield descriptions in which more and more groups have a wrong colour."""
    groups = list(right)
    for position, (count, colour, shape) in enumerate(groups):
        groups[position] = (count, rng.choice([hue for hue in COLOURS if hue != colour]), shape)
        yield tuple(groups)
