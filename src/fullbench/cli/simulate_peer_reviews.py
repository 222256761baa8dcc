"""`fullbench simulate`: simulated peer reviews with known truth."""

from __future__ import annotations

from typing import Annotated

from fullbench.cli.console import print_tables
from fullbench.cli.shared_options_and_run_output import JsonOption, TablesOption, option
from fullbench.errors import InputError


def simulate(
    models: Annotated[int, option("Number of contestants that review each other.")] = 6,
    images: Annotated[int, option("Number of pictures.")] = 25,
    seeds: Annotated[int, option("Number of simulated reviews.", min=2)] = 20,
    related: Annotated[float, option("Correlation between skill and judging ability, 0 to 1.")] = 1.0,
    length: Annotated[float, option("Length bias of weak judges.")] = 0.5,
    noise: Annotated[float, option("Noise of an average judge, in marks.", min=0.0)] = 0.6,
    colluders: Annotated[int, option("Number of models that always vote for each other.")] = 0,
    lazy: Annotated[int, option("Number of models that mostly give ties without comparing.")] = 0,
    blind: Annotated[int, option("Number of models that ignore the pictures.")] = 0,
    unusable: Annotated[float, option("Share of unusable verdicts.")] = 0.0,
    own_family: Annotated[float, option("Marks that every reviewer adds for its own family (two members each).")] = 0.0,
    shared_length: Annotated[float, option("Length bias of all judges.")] = 0.0,
    length_spread: Annotated[float, option("Spread of answer lengths, in doublings.")] = 0.0,
    wordy_weak: Annotated[float, option("Correlation between low skill and long answers, -1 to 1.")] = 0.0,
    correlated: Annotated[float, option("Error that all judges share, in marks.")] = 0.0,
    clones: Annotated[int, option("Number of models that are copies of one another.")] = 0,
    sizes: Annotated[str, option("Numbers of pictures to try, separated by commas.")] = "5,10,25,50,100",
    out: TablesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate peer reviews with known answers and compare methods, including dishonest reviewers.

    No model is called. Run this before you pay for a peer review.

    Examples:

        fullbench simulate --models 8 --colluders 2

        fullbench simulate --related 0 --sizes 10,25

        fullbench simulate --own-family 1 --length 0
    """
    from fullbench.studies.peer_review.simulation import SimulationSetting
    from fullbench.studies.peer_review.simulation_tables import simulation_tables

    numbers = [word.strip() for word in sizes.split(",")]
    if not all(word.isdecimal() and int(word) > 0 for word in numbers):
        raise InputError(f"--sizes needs integers separated by commas, for example 5,10,25; found {sizes!r}.")
    setting = SimulationSetting(
        models, images, related=related, length=length, noise=noise, colluders=colluders, lazy=lazy, blind=blind,
        unusable=unusable, families=bool(own_family), own_family=own_family, shared_length=shared_length,
        length_spread=length_spread, wordy_weak=wordy_weak,
        correlated=correlated, clones=clones,
    )  # fmt: skip
    print_tables(
        simulation_tables(setting, seeds=seeds, sizes=[int(word) for word in numbers]), as_json=as_json, out=out
    )
