"""The bench of the court: judges whose every fault is known, beside honest baselines and the truth."""

from __future__ import annotations

from fullbench.core.judge import Judge
from fullbench.judges.baselines import ChanceJudge, LengthJudge, ReferenceJudge
from fullbench.synthetic.biased_judge import Planted, SimulatedJudge, Truth
from fullbench.synthetic.sample_items import sample
from fullbench.synthetic.truth import TruthJudge

FAVOURITE = "court/blurred"
"""The contestant that the self-regarding judge favours, and on which favour is looked for in all judges."""


def simulated(seed: int, truth: Truth = lambda _: None) -> list[SimulatedJudge]:
    """The simulated judges, one fault each; without the truth they only tell what was planted in them."""
    return [
        SimulatedJudge("accurate", truth, noise=0.4, seed=seed),
        SimulatedJudge("noisy", truth, noise=1.5, seed=seed),
        SimulatedJudge("first-place", truth, noise=0.6, planted=Planted(position=0.35), seed=seed),
        SimulatedJudge("long-words", truth, noise=0.55, planted=Planted(length=0.5), seed=seed),
        SimulatedJudge("lenient", truth, noise=0.45, planted=Planted(leniency=0.8), seed=seed),
        SimulatedJudge("ego", truth, noise=0.65, planted=Planted(ego=1.2, favourite=FAVOURITE), seed=seed),
        SimulatedJudge("sloppy", truth, noise=0.3, planted=Planted(refuses=0.06, garbles=0.09), seed=seed),
        SimulatedJudge("blind", truth, sight=0.0, noise=1.0, seed=seed),
    ]


def judges(seed: int, size: int, *, wide: bool = False) -> list[Judge]:
    """The whole bench: the truth, the simulated judges, and the baselines."""
    truth = TruthJudge(sample(seed, size, wide=wide))
    return [truth, *simulated(seed, truth.qualities), ReferenceJudge(), LengthJudge(), ChanceJudge(seed)]
