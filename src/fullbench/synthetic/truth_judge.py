"""Truth judge: computes the quality of a response from the scene behind the picture. It replaces human labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fullbench.core.case import Case
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import CallsNoModel
from fullbench.core.verdict import Verdict
from fullbench.judges.baselines import marks_from
from fullbench.synthetic.answer_quality_measure import measure_quality
from fullbench.synthetic.item_generator import SyntheticItem
from fullbench.synthetic.question_wording_parsing_and_solving import parse_question


class TruthJudge(CallsNoModel):
    """Judge that knows the scenes; it abstains on items without a known scene.

    Equal qualities tie if the ballot allows a tie. A ranking allows none, so a draw per item orders them, whatever
    their places.
    """

    kind = "metric"
    name = "truth"

    def __init__(self, synthetic_items: Iterable[SyntheticItem]) -> None:
        self._items_by_key = {entry.item.key: entry for entry in synthetic_items}
        self._quality_cache: dict[tuple[str, str], float] = {}

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"kind": "truth"}

    def qualities(self, case: Case) -> tuple[float, ...] | None:
        """Return the quality of each response in the order shown, or None if the item's scene is unknown."""
        synthetic_item = self._items_by_key.get(case.item.key)
        if synthetic_item is None:
            return None
        return tuple(self._quality(synthetic_item, response.text) for response in case.responses)

    def _quality(self, synthetic_item: SyntheticItem, text: str) -> float:
        key = synthetic_item.item.id, text
        if key not in self._quality_cache:
            self._quality_cache[key] = measure_quality(synthetic_item.query, synthetic_item.scene, text)
        return self._quality_cache[key]

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            qualities = self.qualities(case)
            marks = None if qualities is None else marks_from(case.ballot, qualities, order=_tie_break_order(case))
            yield Verdict.from_case(case, self.name, "abstained" if marks is None else marks)


class PictureTruth(TruthJudge):
    """Truth about questions by other authors: needs a known picture and a question that can be parsed."""

    def __init__(self, synthetic_items: Iterable[SyntheticItem]) -> None:
        super().__init__(())
        self._scenes = {entry.item.pictures[0].digest: entry.scene for entry in synthetic_items}

    def qualities(self, case: Case) -> tuple[float, ...] | None:
        pictures = case.item.pictures
        scene = self._scenes.get(pictures[-1].digest) if pictures else None
        query = parse_question(case.item.question)
        if scene is None or query is None:
            return None
        return tuple(measure_quality(query, scene, response.text) for response in case.responses)


def _tie_break_order(case: Case) -> list[str]:
    return [digest(["truth", response.key]) for response in case.responses]
