"""Study kind `rerank`: one judge orders the responses to each item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fullbench.core.ballot import ballot
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.case import Case
from fullbench.core.dialogue_turn_answers_and_criteria import EACH_TURN
from fullbench.core.response import split_refused_drawings
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import read_items, read_response_files
from fullbench.files.picture_access_policy import allow_picture_folders, without_pictures
from fullbench.files.row_writers import write_rows
from fullbench.ledger.ledger import Ledger
from fullbench.studies import best_of_n_ranking as ranking
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.engines import JobCounts
from fullbench.studies.run.base_run import FixedCasesRun, StudyResult
from fullbench.studies.run.study_items_responses_and_labels import limit_messages
from fullbench.studies.study_file import Study

BALLOT, SCORER_BALLOT = "real:0-10", "number"
"""The default ballots of judges and of score models, whose scores have no ends."""
MAX_TABLE_ROWS = 40
"""The file has all rows."""


class BestOfNRun(FixedCasesRun):
    """Runner of a `rerank` study: items, their responses and one judge. The constructor calls no model."""

    cases: Sequence[Case] = ()

    def __init__(self, study: Study) -> None:
        if study.items is None or not study.response_files:
            raise InputError("a study of kind 'rerank' has items and responses", path=study.path)
        super().__init__(study)
        self.judge = judge_contestant_and_benchmark_specs.judge_from_spec(study.judges[0])
        self.judges, self.specs = [self.judge], {self.judge.name: study.judges[0]}
        with (
            allow_picture_folders(*study.pictures_from, urls=study.fetch_urls),
            without_pictures(study.without_pictures),
        ):
            all_items = list(read_items(study.items, question=study.question))
            self.items = all_items[: study.limit]
            self.messages = limit_messages(len(self.items), len(all_items))
            item_ids = {item.id for item in self.items}
            answers = read_response_files(study.response_files, items={item.id for item in all_items})
            self.answers, drawings = split_refused_drawings(answer for answer in answers if answer.item in item_ids)
            if drawings:
                self.messages.append(str(Note("cleaning.drawings", n=len(drawings))))
        default_ballot = SCORER_BALLOT if getattr(self.judge, "kind", "") == "scorer" else BALLOT
        form = ballot(study.ballots[0] if study.ballots else default_ballot)
        if study.criteria[0].endswith(EACH_TURN):
            raise InputError(
                "the best answer is selected by one criterion: write 'turn 2', or no turn for the whole dialogue; "
                f"found {study.criteria[0]!r}",
                path=study.path,
            )
        cases = ranking.ranking_cases(self.items, self.answers, form, trials=study.trials)
        self.cases = [replace(case, criterion=study.criteria[0]) for case in cases]
        self.out: Path = study.options["out"]
        self.keep: int | None = study.options.get("keep")
        self.rows: list[dict[str, Any]] = []

    def _build_result(self, ledger: Ledger, job_counts: list[JobCounts]) -> StudyResult:
        verdicts = tuple(ledger.verdicts([self.judge.name], cases={case.key for case in self.cases}))
        ranked_responses = ranking.rank_responses(self.items, self.answers, self.cases, verdicts)
        responses_by_key = {(answer.item, answer.contestant, answer.sample): answer for answer in self.answers}
        record = Record(verdicts, {item.id: item for item in self.items}, responses_by_key)
        study_result = self._build_sourced_result(
            record, [self._table(ranked_responses)], [self.judge.name], job_counts
        )
        self.rows = list(ranking.ranking_rows(ranked_responses, self.out, self.keep))
        study_result.files[self.out] = lambda path, place: write_rows(
            path, ranking.ranking_rows(ranked_responses, place, self.keep)
        )
        study_result.messages += self._unranked_messages(ranked_responses, record)
        return study_result

    def _table(self, ranked_responses: list[ranking.RankedResponse]) -> Table:
        top_responses = (
            ranked_responses
            if self.keep is None
            else [answer for answer in ranked_responses if answer.rank is not None and answer.rank <= self.keep]
        )
        rows: list[list[Cell]] = [
            [
                answer.response.item,
                answer.rank,
                answer.response.contestant,
                answer.response.sample,
                answer.worth,
                answer.marks,
            ]
            for answer in top_responses[:MAX_TABLE_ROWS]
        ]
        more = len(top_responses) - len(rows)
        notes = [Note("rerank.more", n=more, out=self.out.name)] if more else []
        title = Note("rerank.title", judge=self.judge.name)
        columns = table_columns("item", "rank", "contestant", "sample", "worth", "marks given")
        return Table("rerank", title, columns, rows, notes)

    def _unranked_messages(self, ranked_responses: list[ranking.RankedResponse], record: Record) -> list[str]:
        unranked_count = sum(candidate.worth is None for candidate in ranked_responses)
        if not unranked_count:
            return []
        fate = "they are left out" if self.keep is not None else "they come last, without a rank"
        reason_counts = Counter(verdict.text for verdict in record if verdict.fault == "abstained")
        return [
            f"{unranked_count} responses got no mark: {fate}.",
            *(
                f"{self.judge.name} abstained {count} times: {reason}."
                for reason, count in reason_counts.most_common(3)
            ),
        ]
