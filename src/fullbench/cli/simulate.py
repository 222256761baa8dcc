"""`fullbench simulate`: simulated peer reviews with known truth."""

from __future__ import annotations

from typing import Annotated

from fullbench.cli.console import print_tables
from fullbench.cli.options import JsonOption, TablesOption, option
from fullbench.errors import InputError


def simulate(
    models: Annotated[int, option("How many contestants review each other.")] = 6,
    images: Annotated[int, option("On how many pictures.")] = 25,
    seeds: Annotated[int, option("How many simulated reviews.", min=2)] = 20,
    related: Annotated[float, option("How far judging ability goes with skill, 0 to 1.")] = 1.0,
    length: Annotated[float, option("How much weak judges like long answers.")] = 0.5,
    noise: Annotated[float, option("How noisy a middling judge is, in marks.", min=0.0)] = 0.6,
    colluders: Annotated[int, option("How many rule for each other, always.")] = 0,
    lazy: Annotated[int, option("How many mostly tie without looking.")] = 0,
    blind: Annotated[int, option("How many see nothing.")] = 0,
    unusable: Annotated[float, option("The share of unusable verdicts.")] = 0.0,
    own_family: Annotated[float, option("Marks that every reviewer adds to its own family (two each).")] = 0.0,
    shared_length: Annotated[float, option("How much all judges like long answers.")] = 0.0,
    length_spread: Annotated[float, option("How far lengths differ from answer to answer, in doublings.")] = 0.0,
    wordy_weak: Annotated[float, option("How far the weak are the wordy ones, -1 to 1.")] = 0.0,
    correlated: Annotated[float, option("A mistake that all judges make together, in marks.")] = 0.0,
    clones: Annotated[int, option("How many are copies of one another.")] = 0,
    sizes: Annotated[str, option("Numbers of pictures to try.")] = "5,10,25,50,100",
    out: TablesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate peer reviews whose truth is known: which method finds it, from how many pictures, cheats included?

    Nothing is asked of any model. Look here before you pay for a peer review.

    Examples:

        fullbench simulate --models 8 --colluders 2

        fullbench simulate --related 0 --sizes 10,25

        fullbench simulate --own-family 1 --length 0
    """
    from fullbench.studies.peer_review.simulation import SimulationSetting
    from fullbench.studies.peer_review.simulation_tables import simulation_tables

    numbers = [word.strip() for word in sizes.split(",")]
    if not all(word.isdecimal() and int(word) > 0 for word in numbers):
        raise InputError(f"--sizes takes whole numbers with commas between, such as 5,10,25; found {sizes!r}")
    setting = SimulationSetting(
        models, images, related=related, length=length, noise=noise, colluders=colluders, lazy=lazy, blind=blind,
        unusable=unusable, families=bool(own_family), own_family=own_family, shared_length=shared_length,
        length_spread=length_spread, wordy_weak=wordy_weak,
        correlated=correlated, clones=clones,
    )  # fmt: skip
    print_tables(
        simulation_tables(setting, seeds=seeds, sizes=[int(word) for word in numbers]), as_json=as_json, out=out
    )
