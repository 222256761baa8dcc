"""`fullbench serve-judge` and `serve-scores`: a judge behind HTTP, for training loops and other machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fullbench.cli.console import print_message
from fullbench.cli.shared_options_and_run_output import (
    LedgerOptions,
    SafeOption,
    argument,
    more,
    option,
    options,
    warn_of_risks,
)
from fullbench.errors import InputError


@options("ledger study durability")
def serve_judge(
    judge: Annotated[str, argument("Judge, as KIND:NAME?OPTIONS, or a study file with one rubric.")],
    store: LedgerOptions,
    rubric: Annotated[
        str | None, option("Rubric file, or the word items for a rubric with each prompt. Rewards are its totals.")
    ] = None,
    ballot: Annotated[
        str | None, option("Ballot for one response, for example score:1-5. Rewards are its marks.")
    ] = None,
    budget: Annotated[
        float | None, option("Maximum dollars of the study in the ledger, including earlier calls.", min=0.0)
    ] = None,
    host: Annotated[str, option("Address to listen on. Without a token, use only your own machine.")] = "127.0.0.1",
    port: Annotated[int, option("Port to listen on; 0 for any free port.", min=0, max=65535)] = 8710,
    token: Annotated[str, option("Secret that every request must contain.", envvar="FULLBENCH_REWARD_TOKEN")] = "",
    most_in_flight: Annotated[
        int,
        more("Maximum number of cases or pictures judged at once. Further requests wait.", "--most-in-flight", min=1),
    ] = 16_384,
    safe: SafeOption = False,
) -> None:
    """Serve a judge over HTTP: rewards for training, or the scores of a score model.

    With --rubric or --ballot, POST /rewards judges prompts and completions, and the ledger stores every verdict. Use
    fullbench.reward(url=...) in Python. Without them, a score model answers POST /scores, and nothing is stored. Use it
    as the judge scores:http://HOST:PORT. GET /metrics has counters.

    Examples:

        fullbench serve-judge openai:gpt-4o-mini --rubric rubric.toml --ledger rewards.ledger

        fullbench serve-judge "imagereward?device=cuda" --port 8711
    """
    from contextlib import ExitStack

    from fullbench.core.judge import models_of
    from fullbench.judges.scorers.scorer_server import ScoreServer
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.rewards.reward_server_and_client import RewardServer
    from fullbench.studies.rewards.reward_service import STUDY, Measure, RewardService, read_reward_study
    from fullbench.studies.rubrics.rubrics_in_studies import ITEMS
    from fullbench.studies.study_file import Study

    with ExitStack() as contexts:
        spec, measure, place = judge, None, store.path
        if judge.endswith(".toml"):
            plan = Study.read(Path(judge))
            warn_of_risks(plan, plan.ledger, safe=safe)
            spec, measure, place = read_reward_study(plan)
        elif rubric is not None or ballot is not None:
            measure = Measure(ballot, True if rubric == ITEMS else rubric)
        server: ScoreServer
        if measure is None:
            scorer = judge_contestant_and_benchmark_specs.judge_from_spec(judge)
            if models_of(scorer):
                raise InputError("No rubric or ballot given. Add --rubric FILE or --ballot score:1-5.")
            if budget is not None:
                raise InputError("--budget needs --rubric or --ballot; a score model alone costs nothing")
            server = contexts.enter_context(ScoreServer(scorer, host, port, token=token, most_in_flight=most_in_flight))
            server.check_ready()
            print_message(
                f"{scorer.name} serves scores at {server.url}; use it as the judge scores:{server.url}. Stop with "
                "Ctrl-C."
            )
        else:
            service = contexts.enter_context(
                RewardService(spec, measure, place, study=store.study or STUDY, budget=budget)
            )
            server = contexts.enter_context(
                RewardServer(service, host, port, token=token, most_in_flight=most_in_flight)
            )
            print_message(
                f"{service.judge.name} serves rewards at {server.url}; every verdict is stored in {place}. Call it "
                f"with fullbench.reward(url={server.url!r}). Stop with Ctrl-C."
            )
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print_message("Ended.")
