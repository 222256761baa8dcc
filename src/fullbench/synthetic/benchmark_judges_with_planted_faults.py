"""Judges of the synthetic benchmark: simulated judges with one planted fault each, baselines, and the truth."""

from __future__ import annotations

from fullbench.core.judge import Judge
from fullbench.judges.baselines import ChanceJudge, LengthJudge, ReferenceJudge
from fullbench.synthetic.biased_judge import PlantedBiases, SimulatedJudge, Truth
from fullbench.synthetic.item_generator import build_items
from fullbench.synthetic.truth_judge import TruthJudge

FAVOURITE = "synthetic/blurred"
"""Contestant that the judge with an ego bias prefers; all judges are tested for a bias towards it."""


def build_simulated_judges(seed: int, truth: Truth = lambda _: None) -> list[SimulatedJudge]:
    """Return the simulated judges, one fault each. Without `truth` they abstain; only their settings are useful."""
    return [
        SimulatedJudge("accurate", truth, noise=0.4, seed=seed),
        SimulatedJudge("noisy", truth, noise=1.5, seed=seed),
        SimulatedJudge("first-place", truth, noise=0.6, biases=PlantedBiases(position=0.35), seed=seed),
        SimulatedJudge("long-words", truth, noise=0.55, biases=PlantedBiases(length=0.5), seed=seed),
        SimulatedJudge("lenient", truth, noise=0.45, biases=PlantedBiases(leniency=0.8), seed=seed),
        SimulatedJudge("ego", truth, noise=0.65, biases=PlantedBiases(ego=1.2, favourite=FAVOURITE), seed=seed),
        SimulatedJudge("sloppy", truth, noise=0.3, biases=PlantedBiases(refuses=0.06, garbles=0.09), seed=seed),
        SimulatedJudge("blind", truth, picture_use=0.0, noise=1.0, seed=seed),
    ]


def build_judges(seed: int, size: int, *, wide: bool = False) -> list[Judge]:
    """Return all judges: the truth, the simulated judges and the baselines."""
    truth = TruthJudge(build_items(seed, size, wide=wide))
    return [truth, *build_simulated_judges(seed, truth.qualities), ReferenceJudge(), LengthJudge(), ChanceJudge(seed)]
