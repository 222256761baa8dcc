"""`fullbench tune`: tune an image generator to the preferences of a judge."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fullbench.cli.console import print_message, report_outcome
from fullbench.cli.people import SiteOptions, create_campaign, database_transaction, find_organiser, keep_votes
from fullbench.cli.shared_options_and_run_output import (
    CallOptions,
    CriterionOption,
    LedgerOptions,
    SeedOption,
    more,
    option,
    options,
)
from fullbench.errors import InputError

if TYPE_CHECKING:
    from fullbench.training.generator.judge_preference_tuning_methods import TuningMethod


@options("ledger budget engine as_json quiet database data")
def tune(
    generator: Annotated[str, option("Generator to tune: diffusers:FOLDER?OPTIONS.")],
    prompts: Annotated[Path, option("Training prompts: a .txt file with one prompt per line, or items.")],
    judge: Annotated[str, option("Judge whose preferences are learned, as KIND:NAME?OPTIONS.")],
    out: Annotated[Path, option("Folder for the tuned generator.")],
    store: LedgerOptions,
    calls: CallOptions,
    site: SiteOptions,
    held_out: Annotated[Path | None, option("Test prompts. Default: a fifth of the prompts.")] = None,
    compare: Annotated[list[str] | None, option("Judge that compares before and after. Repeatable.")] = None,
    people: Annotated[
        str, option("Let people compare too, in a campaign of this name. Run the command again to read their votes.")
    ] = "",
    votes: Annotated[int, option("For --people: number of votes on each pair.", min=1)] = 1,
    way: Annotated[str, option("Method: best (learn the winners), weighted, dpo or ddpo (in rounds).")] = "best",
    samples: Annotated[int, option("Number of pictures of each prompt for the judge to compare.", min=2)] = 4,
    compared: Annotated[int, option("Number of pictures of each test prompt, before and after.", min=1)] = 2,
    lora: Annotated[int, option("Rank of LoRA adapters. 0 tunes all weights.", min=0)] = 0,
    lr: Annotated[float, more("Learning rate.")] = 5e-5,
    batch: Annotated[int, more("Batch size in pictures.", min=1)] = 16,
    epochs: Annotated[float, more("Number of epochs.")] = 4.0,
    steps: Annotated[int | None, more("Number of steps, instead of epochs.", min=1)] = None,
    beta: Annotated[float, more("For dpo: higher keeps the model closer to its starting weights.")] = 1000.0,
    anchor: Annotated[float, more("For dpo: weight of the likelihood of the preferred picture.")] = 1.0,
    rounds: Annotated[int, more("For ddpo: number of rounds of drawing, judging and learning.", min=1)] = 10,
    round_prompts: Annotated[int, more("For ddpo: number of prompts in each round.", min=1)] = 32,
    criterion: CriterionOption = "overall",
    seed: SeedOption = 0,
) -> int:
    """Tune a picture generator with a judge's feedback, and compare before and after blindly.

    The generator draws, the judge chooses, and the generator learns from the choices. Run the same command again to
    continue after an interruption.

    Example:

        fullbench tune --generator diffusers:./stable-diffusion --prompts prompts.txt --judge openai:gpt-4o \
            --compare imagereward --compare gemini:gemini-2.5-flash --people "before and after" --lora 16 --out tuned
    """
    from fullbench.errors import InputError, require_extra
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.run import call_and_cost_plan
    from fullbench.training.generator.feedback_loop import read_prompts, split_prompts, tune_generator
    from fullbench.training.generator.ledger_calls_and_tuning_comparison import TuningJob

    with require_extra("tuning a generator", "train"):
        from fullbench.training.generator.judge_preference_tuning_methods import TuningSettings
    items, duplicate_count = read_prompts(prompts)
    if duplicate_count:
        print_message(f"{prompts}: {duplicate_count:,} prompts occur more than once; each is used once.")
    training_items, held_out_items = (
        (items, read_prompts(held_out)[0]) if held_out is not None else split_prompts(items)
    )
    if shared_prompts := {item.question for item in training_items} & {item.question for item in held_out_items}:
        raise InputError(
            f"{len(shared_prompts):,} prompts are used for training and test, for example {min(shared_prompts)!r}."
        )
    job = TuningJob(
        generator, judge, training_items, held_out_items, out, tuple(compare or ()), samples, compared, lora, criterion,
        bool(people),
    )  # fmt: skip
    settings = TuningSettings(
        way=_parse_method(way), beta=beta, anchor=anchor, lr=lr, batch=batch, epochs=epochs, steps=steps, seed=seed,
        rounds=rounds, round_prompts=round_prompts,
    )  # fmt: skip
    campaign = PairCampaign(people, store.ledger, votes, criterion, site) if people else None
    if campaign is not None:
        campaign.take_votes()
    models = [
        judge_contestant_and_benchmark_specs.contestant_from_spec(generator),
        *call_and_cost_plan.models_of_judges(
            [judge_contestant_and_benchmark_specs.judge_from_spec(spec) for spec in (judge, *job.compare)]
        ),
    ]
    shared_budget = call_and_cost_plan.priced_budget(calls.budget, models) if calls.budget is not None else None
    progress = _ProgressLines("rounds", "mean mark") if way == "ddpo" else _ProgressLines()
    with calls.open(store) as open_run:
        tuning_result = tune_generator(
            job,
            settings,
            open_run.book,
            engine=open_run.engine,
            budget=shared_budget,
            stop=open_run.stop,
            quiet=calls.quiet,
            step=(lambda *_: None) if calls.quiet else progress,
        )
    if campaign is not None and tuning_result.after:
        campaign.open(tuning_result.before, tuning_result.after)
    print_message(*tuning_result.messages)
    if tuning_result.spec:
        print_message(f"Tuned generator: {tuning_result.spec}")
    calls.print_tables(tuning_result.tables)
    return report_outcome(tuning_result.job_counts, what="pictures and verdicts")


def _parse_method(word: str) -> TuningMethod:
    from typing import get_args

    from fullbench.training.generator.judge_preference_tuning_methods import TuningMethod as Ways

    methods: tuple[TuningMethod, ...] = get_args(Ways)
    for method in methods:
        if method == word:
            return method
    raise InputError(f"Unknown method {word!r}. Use {', '.join(methods)}.")


@dataclass(frozen=True)
class PairCampaign:
    """A comparison by people: opened once; the same command later collects its votes."""

    name: str
    ledger: str
    votes: int
    criterion: str
    site: SiteOptions

    def _is_open(self) -> bool:
        from fullbench.web.campaigns import campaigns

        with database_transaction(self.site.settings()) as connection:
            return any(campaign.name == self.name for campaign in campaigns.list_campaigns(connection, count=10_000))

    def take_votes(self) -> None:
        """Copy the votes so far to the ledger, or refuse now what would keep the campaign from opening later."""
        if not self._is_open():
            with database_transaction(self.site.settings()) as connection:
                if find_organiser(connection) is None:
                    raise InputError(
                        "Pictures for people need a lead's account, and there is none yet. Start `fullbench serve`, "
                        "open the link that it prints, then run this command again."
                    )
            return
        keep_votes(self.site, self.name, self.ledger)

    def open(self, before: str, after: str) -> None:
        """Open it, if it is not open yet, on every prompt of which both have pictures."""
        if self._is_open():
            return
        from fullbench.ledger.ledger import Ledger
        from fullbench.web.campaigns.campaigns import CampaignPlan
        from fullbench.web.campaigns.create.campaign_from_data import Material

        settings = self.site.settings()
        plan = CampaignPlan(self.name, "pair", "", self.criterion, votes=self.votes)
        with Ledger(self.ledger, read_only=True) as book:
            counts = create_campaign(settings, plan, Material(ledger=book, contestants=(before, after)))
        print_message(
            f"People compare before and after in the campaign {self.name!r}: {counts.work:,} pairs, {self.votes:,} "
            "votes each. Run the same command again to read their votes."
        )


class _ProgressLines:
    """Progress of training: a line every few seconds and at the last step."""

    def __init__(self, unit: str = "steps", value: str = "loss", every: float = 5.0) -> None:
        self._unit, self._value = unit, value
        self._every, self._last, self._started, self._from = every, 0.0, time.monotonic(), 0

    def __call__(self, step: int, steps: int, loss: float) -> None:
        now = time.monotonic()
        if not self._last:
            self._from = step - 1
        if now - self._last < self._every and step < steps:
            return
        self._last = now
        rate = (step - self._from) / max(now - self._started, 1e-9)
        left = (steps - step) / rate
        now_at = f"learning: {step:,} of {steps:,} {self._unit}, {self._value} {loss:.4f}"
        sys.stderr.write(f"{now_at}, about {left:.0f} s left\n")
