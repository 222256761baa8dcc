"""Study files: the TOML file of a study (items, contestants, judges, ballots, budget), parsed and checked."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, get_args

from fullbench.core.ballot import Ballot, Choice, GradedChoice, Ranking, ballot, is_graded
from fullbench.core.benchmark import PAPER_PROTOCOL
from fullbench.core.case import ORDERS, Case, Orders, SamplePairing
from fullbench.core.case import cases as cases_of
from fullbench.core.dialogue_turn_answers_and_criteria import check_answers_by_turn, criteria_of_items, names_turns
from fullbench.core.item import Item
from fullbench.core.panel_and_cascade import CASCADE, PANEL, is_view
from fullbench.core.plugin_entry_points import did_you_mean
from fullbench.core.response import Response
from fullbench.core.rubric import RUBRIC
from fullbench.errors import InputError
from fullbench.files.toml_reader import read_toml
from fullbench.reports.display_names_of_judges_and_contestants import DisplayNames
from fullbench.reports.site_info import Imprint
from fullbench.studies.run.refusal_filter_and_benchmark_case_overrides import EXCLUSION_KINDS
from fullbench.studies.study_file_sections_for_kinds_and_panels import (
    JUDGING,
    KINDS,
    OPTIONS,
    VIEWS,
    check_kind_requirements,
    parse_kind_options,
    parse_views,
)

_LISTS = {"ballots", "criteria", "contestants", "judges", "pictures_from", "leave_out"}
_FILE_LISTS = {"responses", "verdicts"}
"""Keys that take one file or a list of files."""
_SECTIONS = {"panel": "[panels.NAME]", "cascade": "[cascades.NAME]", "rubric": "[rubrics.NAME]"}
_PATHS = {
    "data",
    "items",
    "responses",
    "labels",
    "verdicts",
    "about",
    "cases",
    "ledger",
    "pictures",
    "report",
    "tables",
}


@dataclass(frozen=True)
class Study:
    """Content of a study file.

    Paths are relative to the folder of the file; `ledger` and `pictures` may be URLs. Pictures are read from the
    folders of the data files and from `pictures_from`, and with `fetch_urls` from the web. With `without_pictures`,
    items without their pictures are used all the same, and every table counts them. Items that are marked as not
    verified are judged only with `unverified`.

    Give either `benchmark` (with `data`, its released files, if it needs them) or `items`: a file, or a folder of
    pictures with a `question` about each. `limit` keeps only the first items.

    Responses come from the file `responses` or a list of files, from the `contestants`, or both. Without either, a
    benchmark may bring responses and people's labels. `labels` are people's verdicts. `verdicts` is a file or a list of
    files with verdicts of judges that exist already; their names may be members of panels. With them, a study needs no
    `judges` of its own. A file of `cases` (rows with `item` and `contestants`) restricts judging to the listed sets of
    responses. `about` is a file of facts about contestants, such as their size, which leaderboards show.

    Contestants answer every item `samples` times. With `sample_pairing = "crossed"`, every sample is compared with
    every sample of other contestants; otherwise sample i only with sample i. `engine` says where calls are made:
    `here`, or on a Ray cluster (`ray`, `ray:auto`, `ray:HOST:PORT`). A benchmark may bring its own judges and
    contestants, as the synthetic benchmark does. They are used if the study names none.

    In ratings, the strongest preference of a graded choice (`choice:5`) counts `strong` times, 1 by default.

    `orders` and `criteria` override those of a benchmark. `leave_out` names answers that are counted but not judged, as
    papers clean their data: `refusals` (of the contestant, or of a filter) and `short` (fewer than three words).
    `[protocol]` selects how a benchmark is run; each has a default. `protocol = "paper"` refuses all other choices.

    `kind` is `judging` or one of `studies.study_kinds`. The options of a kind are in a table with its name.
    `[panels.NAME]` defines the judge `panel:NAME` (`members`, `rule`, `quorum`). `[cascades.NAME]` defines
    `cascade:NAME`, which calls a `small` judge first (`large`, `people`, `threshold`). If the study lists `judges`, the
    members of the listed panels and cascades are called too; otherwise the members of all.

    `[rubrics.NAME]` lets a `judge` mark every response by several criteria, in one call or with `calls = "each"`. The
    criteria are in a `file`, in `criteria`, or in the items' column `rubric`. The weighted total is the judge
    `rubric:NAME`. `[names."FULL NAME"]` has what web pages show for a judge or contestant: `name`, `organisation`,
    `date`, `logo`. `[site]` has what pages show about the results: `title`, `description`, `authors`, `licence` and
    more.
    """

    name: str
    kind: str = JUDGING
    benchmark: str | None = None
    data: Path | None = None
    items: Path | None = None
    question: str | None = None
    limit: int | None = None
    responses: Path | tuple[Path, ...] | None = None
    labels: Path | None = None
    verdicts: Path | tuple[Path, ...] | None = None
    about: Path | None = None
    cases: Path | None = None
    contestants: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    ballots: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ("overall",)
    orders: Orders = "both"
    trials: int = 1
    leave_out: tuple[str, ...] = ()
    samples: int = 1
    sample_pairing: SamplePairing = "aligned"
    seed: int = 0
    strong: float = 1.0
    budget: float | None = None
    engine: str = "here"
    ledger: str | Path = Path("fullbench.ledger")
    pictures: str | Path | None = None
    pictures_from: tuple[Path, ...] = ()
    unverified: bool = False
    without_pictures: bool = False
    fetch_urls: bool = False
    tables: Path | None = None
    report: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    panels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    cascades: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rubrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    names: DisplayNames = field(default_factory=DisplayNames, compare=False)
    site: Imprint = field(default_factory=Imprint, compare=False)
    path: Path = field(default=Path("study.toml"), compare=False)
    keys_in_file: frozenset[str] = field(default=frozenset(), compare=False)
    """The keys in the file. A benchmark sets missing ones as in its paper."""

    @classmethod
    def read(cls, path: str | Path) -> Study:
        """Read a study from a TOML file."""
        path = Path(path)
        table, text = read_toml(path, "the study")
        return cls._from_table(table, path, text)

    @classmethod
    def _from_table(cls, table: Mapping[str, Any], path: Path, text: str) -> Study:
        known_keys = {entry.name for entry in fields(cls)} - {"path", "options", "keys_in_file"}
        kind = table.get("kind", JUDGING)
        if kind not in KINDS:
            raise InputError(f"unknown kind {kind!r}; known: {', '.join(KINDS)}", path=path)

        def error_at(key: str, sentence: str) -> InputError:
            # tomllib gives no line numbers, so the key is searched in the text.
            match = re.search(rf"^\s*{re.escape(key)}\s*=", text, re.MULTILINE)
            line = text.count("\n", 0, match.start()) + 1 + match[0].count("\n") if match else None
            return InputError(sentence, path=path, line=line)

        values: dict[str, Any] = {}
        for key, value in table.items():
            if key in OPTIONS and key == kind:
                values["options"] = parse_kind_options(key, value, path.parent, error_at)
                continue
            if key not in known_keys:
                raise error_at(
                    key,
                    f"unknown key {key!r}{did_you_mean(key, known_keys) or ';'} known: {', '.join(sorted(known_keys))}",
                )
            if key == "names" and isinstance(value, dict):
                values[key] = DisplayNames.from_entries(value, path)
                continue
            if key == "site":
                values[key] = Imprint.from_table(value, path)
                continue
            values[key] = _parse_value(key, value, path.parent, error_at)
        for entry in fields(cls):
            if entry.default is MISSING and entry.default_factory is MISSING and entry.name not in values:
                raise InputError(f"the key {entry.name!r} is missing", path=path)
        study = cls(**values, path=path, keys_in_file=frozenset(table))
        study._check(error_at)
        return study

    @property
    def response_files(self) -> tuple[Path, ...]:
        """The files of responses; empty if there are none."""
        return _as_paths(self.responses)

    @property
    def verdict_files(self) -> tuple[Path, ...]:
        """The files of verdicts that exist already; empty if there are none."""
        return _as_paths(self.verdicts)

    @property
    def _has_only_rubrics(self) -> bool:
        """The criteria of rubrics define the ballots."""
        other_specs = [spec for spec in self.judges or (*self.panels, *self.cascades) if not spec.startswith(RUBRIC)]
        return bool(self.rubrics) and not other_specs

    def _check(self, error_at: Any) -> None:
        if not self.name.strip() or not self.name.isprintable():
            raise error_at("name", f'a study has a name in one line, such as "photos"; found {self.name!r}')
        if self.kind != JUDGING:
            check_kind_requirements(self, error_at)
            if self.cases is not None and self.kind != "experiment":
                raise error_at("cases", f"a study of kind {self.kind!r} chooses its own cases: leave out this key")
            return
        if (self.benchmark is None) == (self.items is None):
            raise InputError("a study needs either a benchmark or a file of items", path=self.path)
        has_judges = bool(self.judges or self.panels or self.cascades or not self.verdicts)
        if self.items is not None and not self.ballots and not self._has_only_rubrics and has_judges:
            raise InputError('a study of your own items needs ballots, such as ["score:1-5"]', path=self.path)
        if self.items is not None and not (self.responses or self.contestants):
            raise InputError("a study needs responses: a file, or contestants that answer", path=self.path)
        if self.benchmark is not None and self.ballots:
            raise error_at("ballots", f"the benchmark {self.benchmark!r} brings its own ballots: leave out this key")
        if self.protocol and self.benchmark is None:
            raise InputError("[protocol] is for benchmarks; a study of your own items needs ballots", path=self.path)
        kinds = {PANEL: self.panels, CASCADE: self.cascades, RUBRIC: self.rubrics}
        defined_views = {f"{kind}{name}" for kind, views_by_name in kinds.items() for name in views_by_name}
        for spec in self.judges:
            if is_view(spec) and spec not in defined_views:
                there = f"; named here: {', '.join(sorted(defined_views))}" if defined_views else ""
                raise error_at(
                    "judges", f"there is no {spec!r}: name it under {_SECTIONS[spec.partition(':')[0]]}{there}"
                )
        for kind in self.leave_out:
            if kind not in EXCLUSION_KINDS:
                raise error_at(
                    "leave_out", f"unknown answers to leave out: {kind!r}; known: {', '.join(EXCLUSION_KINDS)}"
                )
        self._check_ballots(error_at)

    def _check_ballots(self, error_at: Any) -> None:
        for spec in self.ballots:
            try:
                ballot(spec)
            except InputError as error:
                raise error_at("ballots", str(error)) from error
        if self.strong != 1 and not any(map(is_graded, self.ballots)):
            raise error_at("strong", "strong counts 'much better' of a graded choice: add a ballot such as choice:5")


def _as_paths(value: Path | tuple[Path, ...] | None) -> tuple[Path, ...]:
    return (value,) if isinstance(value, Path) else value or ()


_KEY_TYPES: dict[str, tuple[type, str]] = {
    "protocol": (dict, "'paper', or a table, [protocol]"),
    "names": (dict, "a table, [names]"),
    "without_pictures": (bool, "true or false"),
    "unverified": (bool, "true or false"),
    "fetch_urls": (bool, "true or false"),
}

_NUMBERS: dict[str, tuple[Callable[[float], bool], str]] = {
    "budget": (lambda value: value > 0, "budget is a number of dollars above 0"),
    "strong": (lambda value: 1 <= value < math.inf, "strong is how often 'much better' counts, a number from 1"),
}


def _parse_value(key: str, value: Any, folder: Path, error_at: Any) -> Any:
    if key in VIEWS:
        return parse_views(key, value, error_at)
    if key in _LISTS or (key in _FILE_LISTS and isinstance(value, list)):
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise error_at(key, f"{key} is a list of texts; found {value!r}")
        if len(set(value)) < len(value):
            raise error_at(key, f"{key} names something twice: {value}")
        return tuple(folder / entry for entry in value) if key in {"pictures_from", *_FILE_LISTS} else tuple(value)
    if key == "protocol" and value == "paper":
        return PAPER_PROTOCOL
    if key in _KEY_TYPES:
        kind, words = _KEY_TYPES[key]
        if not isinstance(value, kind):
            raise error_at(key, f"{key} is {words}; found {value!r}")
        return value
    if key in {"trials", "samples", "seed", "limit"}:
        if not isinstance(value, int) or isinstance(value, bool) or value < (key != "seed"):
            raise error_at(key, f"{key} is a whole number{' from 1' if key != 'seed' else ''}; found {value!r}")
        return value
    if key in _NUMBERS:
        is_allowed, words = _NUMBERS[key]
        if not isinstance(value, int | float) or isinstance(value, bool) or not is_allowed(value):
            raise error_at(key, f"{words}; found {value!r}")
        return float(value)
    if not isinstance(value, str):
        raise error_at(key, f"{key} is a text; found {value!r}")
    if key == "orders" and value not in get_args(Orders):
        raise error_at(key, f"unknown orders {value!r}; known: {', '.join(ORDERS)}")
    if key == "sample_pairing" and value not in {"aligned", "crossed"}:
        raise error_at(key, f"sample_pairing is 'aligned' or 'crossed'; found {value!r}")
    return folder / value if key in _PATHS and "://" not in value else value


def responses_per_case(form: Ballot) -> int | None:
    """Return the default number of responses per case for a ballot: 1, 2, or None for all of an item."""
    if isinstance(form, Choice | GradedChoice):
        return 2
    return None if isinstance(form, Ranking) else 1


def own_cases(
    items: Sequence[Item],
    responses: Iterable[Response],
    ballots: Sequence[str],
    *,
    criteria: Sequence[str] = ("overall",),
    orders: Orders = "both",
    trials: int = 1,
    seed: int = 0,
    sample_pairing: SamplePairing = "aligned",
) -> Iterator[Case]:
    """Yield the cases of the user's own data, for every ballot and criterion.

    Args:
        items: The items.
        responses: Their responses.
        ballots: Specs of ballots, such as `score:1-5`.
        criteria: What the responses are judged by.
        orders: Orders in which responses are shown; see `cases`.
        trials: Number of times that each case is judged.
        seed: Seed of shuffled orders.
        sample_pairing: Which samples are shown together; see `samples` of `cases`.
    """
    answers = list(responses)
    if trials < 1:
        raise InputError(f"the number of trials is at least 1; found {trials}")
    for criterion in criteria:
        if not isinstance(criterion, str) or not criterion.strip():
            raise InputError(f"a criterion has a name, such as 'overall' or 'accuracy'; found {criterion!r}")
        if names_turns(criterion):
            check_answers_by_turn(items, answers)
    for spec in ballots:
        form = ballot(spec)
        for criterion in criteria:
            for turn_criterion, chosen_items in criteria_of_items(criterion, items):
                yield from cases_of(
                    chosen_items, answers, form, size=responses_per_case(form), orders=orders,
                    criterion=turn_criterion, trials=trials, seed=seed, samples=sample_pairing,
                )  # fmt: skip
