"""Does better judgement make a better generator? The whole loop on one GPU, in minutes, with nothing from the net.

    python -m tests.training.generator.toy.experiment --out FOLDER

A generator of sheets is trained from nothing on some prompts. On prompts that are new to it, it draws eight pictures
for each of many places; every judge names the best and the worst of each eight; a copy of the generator learns to
prefer the one to the other.
Then each copy draws held-out prompts from the same seeds as the base did, and the synthetic exact eyes count what is
right. `results.json` is rewritten after every judge, so that a run which is cut short has shown what it came to.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from fullbench.training.generator import judge_preference_tuning_methods
from tests.training.generator.toy.eyes_judging import JUDGES, EyeJudge, accuracy, best_of, marks
from tests.training.generator.toy.network import Shape
from tests.training.generator.toy.sheet_generator import Lesson, SheetGenerator, train
from tests.training.generator.toy.sheets import MOST, SHARP, prompts_for

if TYPE_CHECKING:
    from tests.training.generator.toy.eyes_judging import Marks

CHOICES = 8
"""Pictures among which a judge chooses."""
MANNER = judge_preference_tuning_methods.TuningSettings(
    way="dpo", beta=200.0, anchor=0.0, lr=1e-5, batch=256, steps=200
)
"""How every copy is tuned. Learning the pictures that won alone made generators worse, whoever had judged: their own
flaws were learned along with them. Between the best and the worst of eight the flaws cancel out."""
TINY = Shape(width=96, depth=3, heads=4, patch=6)


@dataclass
class Plan:
    """How long and how much. `seconds` is what the base is trained for, `limit` what all may take."""

    out: Path
    device: str = "cuda:0"
    seconds: float = 170.0
    limit: float = 455.0
    groups: int = 3
    """Places to choose at for each new prompt."""
    rounds: int = 1
    each: int = 8
    """Pictures of each held-out prompt."""
    most: int = MOST
    shape: Shape = field(default_factory=Shape)
    batch: int = 1024
    lr: float = 8e-4
    steps: int = 20
    processes: int = 15
    manner: judge_preference_tuning_methods.TuningSettings = MANNER
    judges: tuple[EyeJudge, ...] = JUDGES
    seed: int = 0


class Experiment:
    """One run: the base, its pictures, and what every judge made of them."""

    def __init__(self, plan: Plan, pool: Pool | None) -> None:
        self.plan, self.pool, self.started = plan, pool, time.monotonic()
        self.results: dict[str, Any] = {"plan": {"seconds": plan.seconds, "groups": plan.groups, "each": plan.each}}
        self.new = prompts_for("new", plan.most)
        self.held_out = prompts_for("held out", plan.most)
        self.sights = list(dict.fromkeys(judge.sight for judge in (EyeJudge("exact"), *plan.judges)))

    def run(self) -> dict[str, Any]:
        plan = self.plan
        lesson = Lesson(plan.shape, plan.most, 10**9, plan.seconds, plan.batch, plan.lr, plan.seed)
        self.base = train(lesson, plan.device, self.say)
        self.base.steps = plan.steps
        self.note("base trained")
        self.before = self.drawn(self.base, self.held_out, plan.each, 1_000_000)
        self.results["before"] = _share(self.before)
        known = prompts_for("known", plan.most)[::8]
        self.results["known prompts"] = _share(self.drawn(self.base, known, 4, 2_000_000))
        self.say(f"before: {self.results['before']}, known {self.results['known prompts']}")
        self.prompts, self.pictures, self.seen = self.offered(self.base, self.new, 3_000_000)
        self.note("pictures offered")
        self.results["offered"] = {"pictures": len(self.prompts), "right": _share(self.seen[:, 0])}
        self.results["judges"] = []
        for judge in plan.judges:
            self.results["judges"].append(self.judged(judge))
            self.save()
            if time.monotonic() - self.started > plan.limit - 1.5 * self.results["judges"][-1]["seconds"]:
                self.results["not run"] = [other.name for other in plan.judges[len(self.results["judges"]) :]]
                break
        self.results["order"] = _order(self.results["judges"])
        self.save()
        return self.results

    def offered(self, generator: SheetGenerator, prompts: list[str], seed: int) -> tuple[list[str], Any, Marks]:
        """Eight pictures for each place, and how right each is to every pair of eyes."""
        wanted = [prompt for prompt in prompts for _ in range(self.plan.groups * CHOICES)]
        pictures = generator.sample(wanted, range(seed, seed + len(wanted))).half().cpu()
        return wanted, pictures, marks(wanted, pictures, self.sights, self.pool)

    def drawn(self, generator: SheetGenerator, prompts: list[str], each: int, seed: int) -> Marks:
        """How right its pictures are to exact eyes, a row a prompt."""
        wanted = [prompt for prompt in prompts for _ in range(each)]
        pictures = generator.sample(wanted, range(seed, seed + len(wanted)))
        return marks(wanted, pictures, [SHARP], self.pool)[:, 0].reshape(len(prompts), each)

    def feedback(
        self, judge: EyeJudge, offer: tuple[list[str], Any, Marks]
    ) -> judge_preference_tuning_methods.Feedback:
        """The pictures that a judge put first and last, of each eight."""
        prompts, pictures, seen = offer
        rng = np.random.default_rng(self.plan.seed + 5)
        groups = seen[:, self.sights.index(judge.sight)].reshape(-1, CHOICES)
        start = np.arange(len(groups)) * CHOICES
        best, worst = (torch.tensor(start + best_of(sign * groups, judge, rng)) for sign in (1, -1))
        return judge_preference_tuning_methods.Feedback(
            [prompts[place] for place in best.tolist()], pictures[best].float(), worse=pictures[worst].float()
        )

    def tuned(self, judge: EyeJudge) -> tuple[SheetGenerator, list[float], float]:
        """The base after it learned what the judge chose; and the share of right pictures among what was chosen."""
        generator, losses = self.base.copy(), []
        offer = (self.prompts, self.pictures, self.seen)
        chosen = self.feedback(judge, offer)
        right = float((marks(chosen.prompts, chosen.better, [SHARP], self.pool)[:, 0] == 1).mean())
        for number in range(self.plan.rounds):
            if number:
                offer = self.offered(generator, self.new, 5_000_000 * (number + 1))
                chosen = self.feedback(judge, offer)
            losses += judge_preference_tuning_methods.tune_weights(generator, self.base, chosen, self.plan.manner)
        return generator, losses, right

    def judged(self, judge: EyeJudge) -> dict[str, Any]:
        """What came of one judge's feedback."""
        started = time.monotonic()
        rng = np.random.default_rng(self.plan.seed + 9)
        seen = self.seen[:, self.sights.index(judge.sight)]
        # Neighbours are pictures of one prompt: every second one against the one beside it.
        truth, view = (np.concatenate([side[::2], side[1::2]]) for side in (self.seen[:, 0], seen))
        generator, losses, chosen = self.tuned(judge)
        after = self.drawn(generator, self.held_out, self.plan.each, 1_000_000)
        row = {
            "judge": judge.name, **accuracy(truth, view, judge, rng), "chosen right": chosen,
            "steps": len(losses), "right": _share(after), "gain": _gain(self.before, after),
            "closer": _gain(self.before, after, exact=False), "seconds": time.monotonic() - started,
        }  # fmt: skip
        self.say(json.dumps(row))
        return row

    def note(self, what: str) -> None:
        self.results.setdefault("seconds", {})[what] = round(time.monotonic() - self.started, 1)
        self.save()

    def save(self) -> None:
        self.plan.out.mkdir(parents=True, exist_ok=True)
        part = self.plan.out / "results.json.part"
        part.write_text(json.dumps(self.results, indent=1, ensure_ascii=False), encoding="utf-8")
        part.replace(self.plan.out / "results.json")

    def say(self, words: str) -> None:
        sys.stdout.write(f"{time.monotonic() - self.started:6.1f} s  {words}\n")
        sys.stdout.flush()


def _share(right: Marks) -> float:
    return float((right == 1).mean())


def _gain(before: Marks, after: Marks, *, exact: bool = True) -> dict[str, float]:
    """The difference between two generators on the same prompts and seeds, with the interval of a mean over prompts."""
    pair = [(part == 1).astype(float) if exact else part for part in (before, after)]
    by_prompt = (pair[1] - pair[0]).mean(axis=1)
    half = 1.96 * float(by_prompt.std(ddof=1)) / math.sqrt(len(by_prompt))
    value = float(by_prompt.mean())
    return {"value": value, "low": value - half, "high": value + half, "prompts": len(by_prompt)}


def _order(rows: list[dict[str, Any]]) -> dict[str, float]:
    """How far the order of the gains is that of the judges' accuracies."""
    if len(rows) < 3:
        return {}
    # With numpy alone, for a machine on which little is installed; no two of these figures are equal.
    figures = np.array([[row["accuracy"], row["gain"]["value"]] for row in rows])
    right, gains = (column.argsort().argsort() - (len(rows) - 1) / 2 for column in figures.T)
    return {"spearman": float((right * gains).sum() / (right**2).sum()), "judges": len(rows)}


def tiny(plan: Plan) -> Plan:
    """The same way with a network that learns little: to see on a processor that all of it runs."""
    manner = replace(MANNER, lr=3e-4, batch=64, steps=40)
    return replace(
        plan, device="cpu", groups=1, each=2, most=2, shape=TINY, batch=32, lr=2e-3, steps=6, processes=1,
        manner=manner, judges=JUDGES[:3],
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a folder for results.json")
    parser.add_argument("--seconds", type=float, default=Plan.seconds, help="how long the base is trained")
    parser.add_argument("--limit", type=float, default=Plan.limit, help="what all may take, in seconds")
    parser.add_argument("--groups", type=int, default=Plan.groups, help="places to choose at for each new prompt")
    parser.add_argument("--rounds", type=int, default=Plan.rounds, help="rounds of drawing, choosing and learning")
    parser.add_argument("--tiny", action="store_true", help="a very small one, on the processor")
    given = parser.parse_args()
    plan = Plan(given.out, seconds=given.seconds, limit=given.limit, groups=given.groups, rounds=given.rounds)
    if given.tiny:
        plan = tiny(plan)
    torch.set_float32_matmul_precision("high")
    if plan.processes == 1:
        Experiment(plan, None).run()
        return
    # Workers are started before the GPU is touched, and afresh: they must not inherit its context.
    with get_context("spawn").Pool(plan.processes) as pool:
        Experiment(plan, pool).run()


if __name__ == "__main__":
    main()
