"""`fullbench simulate`: courts with known truth, to see what a method finds and how many pictures it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.options import JsonOption, show


def simulate(
    models: Annotated[int, typer.Option(help="How many contestants review each other.")] = 6,
    images: Annotated[int, typer.Option(help="On how many pictures.")] = 25,
    seeds: Annotated[int, typer.Option(min=2, help="How many courts are made.")] = 20,
    related: Annotated[float, typer.Option(help="How far judging ability goes with skill, 0 to 1.")] = 1.0,
    length: Annotated[float, typer.Option(help="How much weak judges like long answers.")] = 0.5,
    noise: Annotated[float, typer.Option(min=0.0, help="How noisy a middling judge is, in marks.")] = 0.6,
    colluders: Annotated[int, typer.Option(help="How many rule for each other, always.")] = 0,
    lazy: Annotated[int, typer.Option(help="How many mostly tie without looking.")] = 0,
    blind: Annotated[int, typer.Option(help="How many see nothing.")] = 0,
    faults: Annotated[float, typer.Option(help="The share of rulings that are none.")] = 0.0,
    kin: Annotated[float, typer.Option(help="Marks that every reviewer adds to its own family (two each).")] = 0.0,
    shared_length: Annotated[float, typer.Option(help="How much all judges like long answers.")] = 0.0,
    wobble: Annotated[float, typer.Option(help="How far lengths differ from answer to answer, in doublings.")] = 0.0,
    wordy_weak: Annotated[float, typer.Option(help="How far the weak are the wordy ones, -1 to 1.")] = 0.0,
    correlated: Annotated[float, typer.Option(help="A mistake that all judges make together, in marks.")] = 0.0,
    clones: Annotated[int, typer.Option(help="How many are copies of one another.")] = 0,
    sizes: Annotated[str, typer.Option(help="Numbers of pictures to try.")] = "5,10,25,50,100",
    out: Annotated[Path | None, typer.Option(help="Write the tables here.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Make courts whose truth is known and see which method finds it, from how many pictures, cheats included.

    Nothing is asked of any model. Look here before you pay for a peer review.

    Examples:

        fullbench simulate --models 8 --colluders 2

        fullbench simulate --related 0 --sizes 10,25

        fullbench simulate --kin 1 --length 0
    """
    from fullbench.errors import InputError
    from fullbench.studies.peer_review.simulation import Setting
    from fullbench.studies.peer_review.simulation_tables import tables

    numbers = [word.strip() for word in sizes.split(",")]
    if not all(word.isdecimal() and int(word) > 0 for word in numbers):
        raise InputError(f"--sizes takes whole numbers with commas between, such as 5,10,25; found {sizes!r}")
    setting = Setting(
        models, images, related=related, length=length, noise=noise, colluders=colluders, lazy=lazy, blind=blind,
        faults=faults, families=bool(kin), kin=kin, shared_length=shared_length, wobble=wobble, wordy_weak=wordy_weak,
        correlated=correlated, clones=clones,
    )  # fmt: skip
    show(tables(setting, seeds=seeds, sizes=[int(word) for word in numbers]), as_json=as_json, out=out)
