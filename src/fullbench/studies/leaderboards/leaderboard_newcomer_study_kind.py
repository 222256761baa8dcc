"""Study kind `leaderboard`: match one newcomer against the contestants of a leaderboard."""

from __future__ import annotations

from fullbench.analysis.boards.leaderboard import Settings
from fullbench.core.table import Table
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.plugin_specs import Spec, judge_names
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.leaderboards import leaderboard_inputs_from_options, leaderboard_settings_tables_and_page
from fullbench.studies.leaderboards.growing_leaderboard import Board, Newcomer, Schedule, uniform_cases
from fullbench.studies.run.base_run import BaseRun, StudyResult
from fullbench.studies.run.call_context import CallContext
from fullbench.studies.run.missing_pictures import note_missing_pictures
from fullbench.studies.run.paper_protocol import follows_paper
from fullbench.studies.run.progress_display import watch_progress
from fullbench.studies.run.run_options import RunOptions
from fullbench.studies.study_file import Study


class LeaderboardRun(BaseRun):
    """Runner of a `leaderboard` study: items of a benchmark, a judge and a newcomer. The constructor calls no model."""

    def __init__(self, study: Study) -> None:
        super().__init__(study)
        options = study.options
        self.settings: Settings = leaderboard_settings_tables_and_page.parse_settings(
            options.get("rule", "both-agree"), options.get("ties", "half"), study.seed
        )
        self.schedule: Schedule = leaderboard_inputs_from_options.parse_schedule(options.get("schedule", "uniform"))
        answers = (*study.response_files, *options.get("responses", ()))
        model = study.contestants[0] if study.contestants else str(options["newcomer"])
        benchmark = judge_contestant_and_benchmark_specs.benchmark_from_name(study.benchmark or "")
        prompt_style = str(options.get("prompt_style", ""))
        takes_prompts = Spec.parse(study.judges[0]).kind not in judge_names()
        if follows_paper(study) and takes_prompts:
            prompt_style = prompt_style or benchmark.prompt_style_of_paper
        differences = list(
            leaderboard_settings_tables_and_page.paper_differences(
                rule=self.settings.rule, ties=self.settings.ties, schedule=self.schedule, bench=benchmark,
                prompt_style=prompt_style if takes_prompts else None,
            )
        )  # fmt: skip
        if follows_paper(study) and differences:
            raise InputError(f"protocol paper, but {differences[0]}; leave out one of the two")
        self.messages += [f"Not the paper's protocol ({benchmark.name}): {difference}." for difference in differences]
        self.request = leaderboard_inputs_from_options.LeaderboardRequest(
            study.benchmark or "", study.data, answers, model, options.get("predictions"), study.judges[0],
            prompt_style, options.get("reader"), study.without_pictures, study.pictures_from,
            study.limit, bool(options.get("withheld", False)),
        )  # fmt: skip
        self.judges = [self.request.build_judge()]

    def plan(self, ledger: Ledger) -> Table:
        """Return the calls and cost of uniform sampling."""
        prepared = leaderboard_inputs_from_options.prepare_leaderboard(self.request, ledger, RunOptions(), answer=False)
        return prepared.forecast(ledger, self._newcomer(prepared))

    def _newcomer(self, prepared: leaderboard_inputs_from_options.PreparedLeaderboard) -> Newcomer:
        options = self.study.options
        return prepared.newcomer(options.get("opponents", 1), options.get("reference_matches", 150), self.study.seed)

    def _execute(self, calls: CallContext, run_options: RunOptions) -> StudyResult:
        ledger, options = calls.ledger, self.study.options
        prepared = leaderboard_inputs_from_options.prepare_leaderboard(self.request, ledger, run_options, answer=True)
        newcomer = self._newcomer(prepared)
        board = prepared.board(ledger, self.settings, run_options.engine, run_options.retry_policy)
        with watch_progress(
            "verdicts", [prepared.judge.name], prepared.total(newcomer), quiet=run_options.quiet
        ) as watch:
            newcomer_result = board.add(
                newcomer, schedule=self.schedule, width=float(options.get("width", 25.0)), most=options.get("most"),
                budget=prepared.budget, stop=run_options.stop, watch=watch,
            )  # fmt: skip
        study_result = self._build_result(prepared, board)
        study_result.messages += prepared.messages
        study_result.job_counts += [*prepared.job_counts, *newcomer_result.job_counts]
        study_result.run_tables = note_missing_pictures([newcomer_result.table(newcomer.name)], prepared.pool.items)
        return study_result

    def _replay(self, ledger: Ledger) -> StudyResult:
        prepared = leaderboard_inputs_from_options.prepare_leaderboard(self.request, ledger, RunOptions(), answer=False)
        study_result = self._build_result(prepared, prepared.board(ledger, self.settings))
        if self.schedule == "uniform":
            due = {(case.key, case.trial) for case in uniform_cases(prepared.pool, self._newcomer(prepared))}
            study_result.missing = len(due) - len(ledger.judged_keys(prepared.judge.name, due))
        return study_result

    def _build_result(self, prepared: leaderboard_inputs_from_options.PreparedLeaderboard, board: Board) -> StudyResult:
        record = board.record()
        tables = leaderboard_settings_tables_and_page.leaderboard_tables(
            record, prepared.judge.name, board.settings, self.study.options.get("by")
        )
        if follows_paper(self.study):
            tables = leaderboard_settings_tables_and_page.paper_leaderboard(tables)
        return self._build_sourced_result(record, tables, [prepared.judge.name])
