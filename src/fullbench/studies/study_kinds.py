"""Study kinds: all of them are planned, run, resumed and replayed in the same way.

`judging` is the default: contestants answer, judges judge all answers. `leaderboard` matches a newcomer against the
contestants of a leaderboard. `peer-review` lets contestants review each other. `rerank` orders the responses to each
item. `experiment` lets a model write texts first: longer answers, descriptions, references.
"""

from __future__ import annotations

from fullbench.errors import InputError
from fullbench.reports.atomic_write import check_page
from fullbench.studies.run.base_run import BaseRun
from fullbench.studies.run.judging_study_kind import StudyRun
from fullbench.studies.study_file import Study
from fullbench.studies.study_file_sections_for_kinds_and_panels import JUDGING


def study_run_for(study: Study) -> BaseRun:
    """Return the runner of a study, depending on its kind."""
    if study.report is not None:
        check_page(study.report)
    if study.verdicts and study.kind != JUDGING:
        raise InputError(
            f"A study of kind {study.kind!r} cannot use existing verdicts. Leave out verdicts (--verdicts).",
            path=study.path,
        )
    if study.kind == "leaderboard":
        from fullbench.studies.leaderboards.leaderboard_newcomer_study_kind import LeaderboardRun

        return LeaderboardRun(study)
    if study.kind == "peer-review":
        from fullbench.studies.peer_review.peer_review_study_kind import PeerReviewRun

        return PeerReviewRun(study)
    if study.kind == "rerank":
        from fullbench.studies.rerank_study_kind import BestOfNRun

        return BestOfNRun(study)
    if study.kind == "experiment":
        from fullbench.studies.model_text_experiment_study_kind import ExperimentRun

        return ExperimentRun(study)
    return StudyRun(study)
