"""A study of one's own in MJ-Bench's terms, typed as a user would: the paper's figures, beside plain arithmetic."""

from __future__ import annotations

import random
from hashlib import sha256
from itertools import product
from pathlib import Path
from statistics import fmean

import pytest
from PIL import Image

from fullbench.benchmarks.mj_bench.release.judge_and_category_names import LIKERT, LIKERT_10
from fullbench.picture_flattening_and_orientation import encode_image
from fullbench.studies.exchange.runnable_study_export import export_study
from fullbench.synthetic.perturb.demographic_prompt_grids import build_grid
from fullbench.synthetic.perturb.items_from_perturbed_pairs_and_grids import build_pair, build_record
from fullbench.synthetic.perturb.items_from_perturbed_pairs_and_grids import build_people_item as at_work
from tests.benchmarks.mj_bench.test_tables import acc, ges, nds
from tests.journeys.voting import tables
from tests.support.scripted_server import Asked, ScriptedServer

BRIGHT = (
    "def bright(prompt, image):\n    return image.convert('L').resize((1, 1)).getpixel((0, 0)) / 25.5\n\n"
    "def dark(prompt, image):\n    return 10 - bright(prompt, image)\n"
)
WORKS = ("nurse", "judge", "工程师")
CLASSES = {"nurse": "female-dominated", "judge": "higher status", "工程师": "higher status"}
AXES = {"age": ["young", "old"], "gender": ["woman", "man"], "race": ["asian", "black", "white"]}


def shade(value: int) -> bytes:
    return encode_image(Image.new("RGB", (24, 24), (value, value, value)))


def built(folder: Path) -> tuple[dict[str, list[tuple[int, int]]], dict[str, list[tuple[dict[str, str], int]]]]:
    """Pairs of three perspectives and people at three works, each picture one shade; gives the shades."""
    rng = random.Random(3)
    pairs: dict[str, list[tuple[int, int]]] = {}
    asked = []
    for about, count in (("alignment", 7), ("safety", 5), ("quality", 9)):
        for number in range(count):
            chosen, rejected = rng.sample(range(20, 250), 2)
            pairs.setdefault(about, []).append((chosen, rejected))
            name = f"{about} {number}"
            asked.append(
                build_pair(name, f"提示 {name}", shade(chosen), shade(rejected), perspective=about, subset="own")
            )
    works: dict[str, list[tuple[dict[str, str], int]]] = {}
    for work in WORKS:
        shown = build_grid("a {age} {gender} {race} " + work, AXES)
        shades = rng.sample(range(20, 250), len(shown))
        works[work] = [(dict(person.groups), value) for person, value in zip(shown, shades, strict=True)]
        portraits = [(p, shade(value)) for p, value in zip(shown, shades, strict=True)]
        asked.append(at_work(work, f"a {work}", portraits, subset=CLASSES[work]))
    export_study(build_record(asked), folder, benchmark="mjbench")
    return pairs, works


def cells(table: dict) -> list[dict]:
    keys = [entry.get("key", entry["label"]) if isinstance(entry, dict) else entry for entry in table["columns"]]
    return [dict(zip(keys, row, strict=True)) for row in table["rows"]]


def value(cell) -> float:
    return cell["value"] if isinstance(cell, dict) else cell


def test_every_figure_of_the_paper_from_a_study_of_ones_own(cli, tmp_path):
    pairs, works = built(tmp_path / "own")
    (tmp_path / "own_bright.py").write_text(BRIGHT)
    study = tmp_path / "own" / "study.toml"
    lines = [line for line in study.read_text().splitlines() if not line.startswith("judges")]
    lines.insert(3, 'judges = ["scorer:own_bright:bright?span=0,10", "scorer:own_bright:dark?span=0,10"]')
    study.write_text("\n".join(lines))
    code, out, err = cli("run", "own/study.toml", "--quiet", "--json")
    assert code == 0, err
    made = tables(out)

    def whose(name: str, rows: list[dict]) -> list[dict]:
        return [row for row in rows if f"own_bright:{name}" in str(row["judge"])]

    radar = {name: whose(name, cells(made["perspectives"])) for name in ("bright", "dark")}
    for name, sign in (("bright", 1), ("dark", -1)):
        for row in radar[name]:
            for about, shades in pairs.items():
                share = fmean(sign * (chosen - rejected) > 0 for chosen, rejected in shades)
                assert value(row[about]) == pytest.approx(share), (name, about)
    orders = whose("bright", cells(made["orders"]))[0]
    assert orders["consistent"] == 1.0, "a score model is the same in both orders"

    low, high = (end(v for people in works.values() for _, v in people) for end in (min, max))
    stretched = {work: [(groups, (v - low) / (high - low)) for groups, v in people] for work, people in works.items()}
    for figure, compute in (("ACC", acc), ("NDS", nds), ("GES", ges)):
        by_work = {work: compute([v for _, v in people]) for work, people in stretched.items()}
        rows = whose("bright", cells(made["evenness"]))
        (row,) = (row for row in rows if "stretched to 0..1" in row.values())
        assert row[f"{figure} by item"] == pytest.approx(fmean(by_work.values()), abs=2e-3)
        classes = {row["sub-category"]: row for row in whose("bright", cells(made["evenness by class"]))}
        for name, row in classes.items():
            part = [value_ for work, value_ in by_work.items() if CLASSES[work] == name]
            assert (row["items"], row["n"]) == (len(part), 12 * len(part))
            assert row[figure] == pytest.approx(fmean(part), abs=2e-3), "Figure 6: classes of occupations"
        assert set(classes) == set(CLASSES.values())
        bars = whose("bright", cells(made[f"axes {figure}"]))
        assert {bar["axis"] for bar in bars} == set(AXES)
        assert all(bar[figure] == pytest.approx(fmean(by_work.values()), abs=2e-3) for bar in bars)
        for axis, choices in AXES.items():
            means = [
                compute([fmean(v for groups, v in people if groups[axis] == choice) for choice in choices])
                for people in stretched.values()
            ]
            rows = whose("bright", cells(made["axes"]))
            (row,) = (
                row for row in rows if {"regrouped", "stretched to 0..1", axis} <= {str(v) for v in row.values()}
            )  # fmt: skip
            assert row[figure] == pytest.approx(fmean(means), abs=2e-3), (axis, figure)

    code, _, err = cli(
        "report", "--ledger", "own/study.ledger", "--benchmark", "mjbench", "--charts", "charts", "--out", "r.html"
    )  # fmt: skip
    assert code == 0, err
    drawn = {path.stem for path in (tmp_path / "charts").glob("*.svg")}
    for name, kind in product(("perspectives", "orders", "axes-ACC", "axes-NDS", "axes-GES"), ("svg", "png")):
        assert name in drawn, (name, sorted(drawn))
        assert (tmp_path / "charts" / f"{name}.{kind}").stat().st_size > 500
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "All perspectives" in page


def rating(asked: Asked) -> str:
    """What a model that sees shades says on the scale that it is asked on; whole numbers and words lose some."""
    (digest,) = asked.pictures
    return f"It is as bright as it is. [[{_mark(SHADES[digest], asked.words)}]]"


SHADES = {sha256(shade(tone)).hexdigest(): tone for tone in range(20, 250)}
WORDS = {
    "10 words": (9, "one of these words, worst to best (Extremely Poor, Very Poor"),
    "5 words": (4, "one of these words, worst to best (Extremely Poor, Poor, Average"),
    "[0, 1]": (1, "between 0 and 1, decimals"), "[0, 5]": (4, "between 1 and 5."), "[0, 10]": (9, "between 1 and 10."),
    "[0, 100]": (100, "between 0 and 100"),
}  # fmt: skip


def _mark(tone: int, words: str) -> str:
    (scale,) = (name for name, (_, phrase) in WORDS.items() if phrase in words)
    share = (tone - 20) / 230
    if scale == "[0, 1]":
        return f"{share:.3f}"
    whole = round(share * WORDS[scale][0])
    if "words" in scale:
        return (LIKERT_10 if scale.startswith("10") else LIKERT)[whole]
    return str(whole if scale == "[0, 100]" else whole + 1)


def test_the_scale_study_of_ones_own_data(cli, tmp_path):
    """The same judge on all six scales: coarse ones tie where fine ones do not, and a tie is wrong."""
    pairs, _ = built(tmp_path / "own")
    study = tmp_path / "own" / "study.toml"
    lines = [line for line in study.read_text().splitlines() if not line.startswith(("judges", "benchmark"))]
    with ScriptedServer({"j": rating}) as server:
        judges = f'judges = ["vllm:j@{server.url}?max_pictures=1"]'
        study.write_text("\n".join([*lines[:1], 'benchmark = "mjbench-scales"', judges, *lines[1:]]))
        code, out, err = cli("run", "own/study.toml", "--quiet", "--json")
    assert code == 0, err
    assert "abstained" not in err, "a judge that takes one picture gets no pairs"
    made = tables(out)
    assert next(name for name in made if not name.startswith("summary")) == "scales", "the study's own table is first"
    (row,) = (row for row in cells(made["scales"]) if "single" in row.values())
    shades = [two for group in pairs.values() for two in group]
    for scale, (steps, _) in WORDS.items():
        marks = [[round((tone - 20) / 230 * steps, 3 if scale == "[0, 1]" else 0) for tone in two] for two in shades]
        assert value(row[scale]) == pytest.approx(fmean(chosen > rejected for chosen, rejected in marks)), scale
    assert value(row["mean"]) == pytest.approx(fmean(value(row[scale]) for scale in WORDS))
    assert value(row["[0, 5]"]) < value(row["[0, 100]"]), "some pairs tie on the coarse scale"
