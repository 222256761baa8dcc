"""`fullbench serve-judge` and `serve-scores`: a judge behind HTTP, for training loops and other machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fullbench.cli.console import print_message
from fullbench.cli.options import LedgerOptions, argument, more, option, options
from fullbench.errors import InputError


@options("ledger study durability")
def serve_judge(
    judge: Annotated[str, argument("The judge, as KIND:NAME?OPTIONS, or a study file with one rubric.")],
    store: LedgerOptions,
    rubric: Annotated[
        str | None, option("A rubric's file, or the word items for a rubric with each prompt. Rewards are its totals.")
    ] = None,
    ballot: Annotated[
        str | None, option("A ballot for one response, such as score:1-5. Rewards are its marks.")
    ] = None,
    budget: Annotated[
        float | None, option("Most dollars of the study in the ledger, earlier calls included.", min=0.0)
    ] = None,
    host: Annotated[str, option("Where to listen; without a token, keep it to your own machines.")] = "127.0.0.1",
    port: Annotated[int, option("0: any free one.", min=0, max=65535)] = 8710,
    token: Annotated[str, option("A secret that every request must carry.", envvar="FULLBENCH_REWARD_TOKEN")] = "",
    most_in_flight: Annotated[
        int, more("Most cases on their way; further requests wait for their turn.", "--most-in-flight", min=1)
    ] = 16_384,
) -> None:
    """Serve a judge over HTTP: rewards for training loops, or the scores of a score model.

    With --rubric or --ballot, POST /rewards judges prompts and completions, and the ledger keeps every verdict:
    fullbench.reward(url=...) in Python. Without, a score model answers POST /scores and nothing is stored: judge by
    it as scores:http://HOST:PORT. GET /metrics has counters.

    Examples:

        fullbench serve-judge openai:gpt-4o-mini --rubric rubric.toml --ledger rewards.ledger

        fullbench serve-judge "imagereward?device=cuda" --port 8711
    """
    from contextlib import ExitStack

    from fullbench.core.judge import models_of
    from fullbench.judges.scorers.scorer_server import ScoreServer
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.rewards.reward_server import RewardServer
    from fullbench.studies.rewards.reward_service import STUDY, Measure, RewardService, read_reward_study
    from fullbench.studies.rubrics.rubrics_in_studies import ITEMS

    with ExitStack() as opened:
        spec, measure, place = judge, None, store.path
        if judge.endswith(".toml"):
            spec, measure, place = read_reward_study(Path(judge))
        elif rubric is not None or ballot is not None:
            measure = Measure(ballot, True if rubric == ITEMS else rubric)
        server: ScoreServer
        if measure is None:
            scorer = judge_and_model_specs.judge_from_spec(judge)
            if models_of(scorer):
                raise InputError("on what does the judge decide? Give --rubric FILE or --ballot score:1-5")
            server = opened.enter_context(ScoreServer(scorer, host, port))
            server.check_ready()
            print_message(
                f"{scorer.name} gives scores at {server.url}; judge by it as scores:{server.url}. Ctrl-C ends it."
            )
        else:
            service = opened.enter_context(
                RewardService(spec, measure, place, study=store.study or STUDY, budget=budget)
            )
            server = opened.enter_context(RewardServer(service, host, port, token=token, most_in_flight=most_in_flight))
            print_message(
                f"{service.judge.name} gives rewards at {server.url}; every verdict goes into {place}. "
                f"fullbench.reward(url={server.url!r}) calls it. Ctrl-C ends it."
            )
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print_message("Ended.")
