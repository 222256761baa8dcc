"""A study: a TOML file that names what is asked, who answers, who judges, and for how much."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, get_args

from fullbench.core.ballot import Ballot, Choice, Ranking, ballot
from fullbench.core.case import ORDERS, Case, Meetings, Orders
from fullbench.core.case import cases as cases_of
from fullbench.core.item import Item
from fullbench.core.panel import CASCADE, PANEL, is_view
from fullbench.core.plugin_entry_points import did_you_mean
from fullbench.core.response import Response
from fullbench.core.rubric import RUBRIC
from fullbench.errors import InputError
from fullbench.files.toml_files import read_toml
from fullbench.reports.display_names import ShownNames
from fullbench.reports.site_info import Imprint
from fullbench.studies.run.excluded_answers import LEFT_OUT
from fullbench.studies.study_file_tables import JUDGING, KINDS, OPTIONS, VIEWS, check, options, views

_LISTS = {"ballots", "criteria", "contestants", "judges", "pictures_from", "leave_out"}
_SECTIONS = {"panel": "[panels.NAME]", "cascade": "[cascades.NAME]", "rubric": "[rubrics.NAME]"}
_PATHS = {"data", "items", "responses", "labels", "about", "cases", "ledger", "pictures", "report", "tables"}


@dataclass(frozen=True)
class Study:
    """What a study file says.

    Paths are taken from the folder of the file; `ledger` and `pictures` may be URLs. Pictures that data files name are
    read from the data's own folders and from those in `pictures_from`, and with `fetch_urls` from the web; with
    `without_pictures`, items whose pictures are not there are asked about without them, and every table counts these.
    Items that are marked as not verified are judged only with `unverified`.

    Either `benchmark` (with `data`, its released files, where it needs them) or `items`: a file, or a folder of
    pictures with a `question` to ask about each. With a `limit`, only so many of the first items are taken.

    Responses come from the file `responses`, from the `contestants`, or from both; where neither is named, from a
    benchmark that brings some, with people's labels. `labels` are people's verdicts. With a file of `cases` (rows with
    `item` and `contestants`), only the sets of responses that it lists are heard. `about` is a file of what is known of
    contestants, such as their size, which boards then show.

    Contestants answer every item `samples` times; with `meetings = "crossed"` every sample meets every other
    contestant's, else sample i meets sample i. `engine` says where the asking is done: `here`, or on a Ray
    cluster (`ray`, `ray:auto`, `ray:HOST:PORT`). A benchmark that brings judges and contestants of its own, as the
    court does, is heard by these where the study names none.

    Of a benchmark, `orders` and `criteria` take the place of its own where the file says them. `leave_out` names
    answers that are not judged and are counted: `refusals` (of the contestant, or of a filter), `short` (fewer than
    three words), as papers clean what models answered.
    `[protocol]` says how a benchmark is asked where it can be asked in several ways; its own way where left out.

    `kind` is `judging`, or one of those in `studies.study_kinds`, whose own `options` stand in a table that bears its
    name. `[panels.NAME]` is a judge `panel:NAME` made of others (`members`, `rule`, `quorum`), `[cascades.NAME]` one
    `cascade:NAME` that hears a `small` judge first (`large`, `people`, `threshold`). Where the study lists `judges`,
    the members of those among them are asked, too; where it lists none, the members of all. `[rubrics.NAME]` has a
    `judge` mark every response by several criteria, in one call or one `calls = "each"`; the criteria stand in a
    `file`, in `criteria`, or in the items' own column `rubric`. Its weighted total is the judge `rubric:NAME`.
    `[names."FULL NAME"]` has the `name` that pages show a judge or contestant by, its `organisation`, `date` and
    `logo`. `[site]` says what pages tell of the results: `title`, `description`, `authors`, `licence` and more.
    """

    name: str
    kind: str = JUDGING
    benchmark: str | None = None
    data: Path | None = None
    items: Path | None = None
    question: str | None = None
    limit: int | None = None
    responses: Path | None = None
    labels: Path | None = None
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
    meetings: Meetings = "aligned"
    seed: int = 0
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
    names: ShownNames = field(default_factory=ShownNames, compare=False)
    site: Imprint = field(default_factory=Imprint, compare=False)
    path: Path = field(default=Path("study.toml"), compare=False)
    said: frozenset[str] = field(default=frozenset(), compare=False)
    """The keys that the file has: what it leaves out, a benchmark settles by its paper."""

    @classmethod
    def read(cls, path: str | Path) -> Study:
        """The study in a TOML file."""
        path = Path(path)
        table, text = read_toml(path, "the study")
        return cls._of(table, path, text)

    @classmethod
    def _of(cls, table: Mapping[str, Any], path: Path, text: str) -> Study:
        known = {entry.name for entry in fields(cls)} - {"path", "options", "said"}
        kind = table.get("kind", JUDGING)
        if kind not in KINDS:
            raise InputError(f"unknown kind {kind!r}; known: {', '.join(KINDS)}", path=path)

        def wrong(key: str, sentence: str) -> InputError:
            match = re.search(rf"^\s*{re.escape(key)}\s*=", text, re.MULTILINE)
            line = text.count("\n", 0, match.start()) + 1 + match[0].count("\n") if match else None
            return InputError(sentence, path=path, line=line)

        values: dict[str, Any] = {}
        for key, value in table.items():
            if key in OPTIONS and key == kind:
                values["options"] = options(key, value, path.parent, wrong)
                continue
            if key not in known:
                raise wrong(
                    key, f"unknown key {key!r}{did_you_mean(key, known) or ';'} known: {', '.join(sorted(known))}"
                )
            if key == "names" and isinstance(value, dict):
                values[key] = ShownNames.of(value, path)
                continue
            if key == "site":
                values[key] = Imprint.of(value, path)
                continue
            values[key] = _value(key, value, path.parent, wrong)
        for entry in fields(cls):
            if entry.default is MISSING and entry.default_factory is MISSING and entry.name not in values:
                raise InputError(f"the key {entry.name!r} is missing", path=path)
        study = cls(**values, path=path, said=frozenset(table))
        study._check(wrong)
        return study

    @property
    def _only_rubrics(self) -> bool:
        """Whether nobody judges but those who fill in rubrics, whose criteria bring their ballots."""
        others = [spec for spec in self.judges or (*self.panels, *self.cascades) if not spec.startswith(RUBRIC)]
        return bool(self.rubrics) and not others

    def _check(self, wrong: Any) -> None:
        if not self.name.strip() or not self.name.isprintable():
            raise wrong("name", f'a study has a name in one line, such as "photos"; found {self.name!r}')
        if self.kind != JUDGING:
            check(self, wrong)
            if self.cases is not None and self.kind != "experiment":
                raise wrong("cases", f"a study of kind {self.kind!r} chooses its own cases: leave out this key")
            return
        if (self.benchmark is None) == (self.items is None):
            raise InputError("a study names either a benchmark or a file of items", path=self.path)
        if self.items is not None and not self.ballots and not self._only_rubrics:
            raise InputError('a study of one\'s own items names its ballots, such as ["score:1-5"]', path=self.path)
        if self.items is not None and not (self.responses or self.contestants):
            raise InputError("a study needs responses: a file, or contestants that answer", path=self.path)
        if self.benchmark is not None and self.ballots:
            raise wrong("ballots", f"the benchmark {self.benchmark!r} brings its own ballots: leave out this key")
        if self.protocol and self.benchmark is None:
            raise InputError(
                "[protocol] is a benchmark's; a study of one's own items names its ballots", path=self.path
            )
        kinds = {PANEL: self.panels, CASCADE: self.cascades, RUBRIC: self.rubrics}
        known = {f"{kind}{name}" for kind, named in kinds.items() for name in named}
        for spec in self.judges:
            if is_view(spec) and spec not in known:
                there = f"; named here: {', '.join(sorted(known))}" if known else ""
                raise wrong("judges", f"there is no {spec!r}: name it under {_SECTIONS[spec.partition(':')[0]]}{there}")
        for kind in self.leave_out:
            if kind not in LEFT_OUT:
                raise wrong("leave_out", f"unknown answers to leave out: {kind!r}; known: {', '.join(LEFT_OUT)}")
        for spec in self.ballots:
            try:
                ballot(spec)
            except InputError as error:
                raise wrong("ballots", str(error)) from error


_TYPED: dict[str, tuple[type, str]] = {
    "protocol": (dict, "a table, [protocol]"),
    "names": (dict, "a table, [names]"),
    "without_pictures": (bool, "true or false"),
    "unverified": (bool, "true or false"),
    "fetch_urls": (bool, "true or false"),
}


def _value(key: str, value: Any, folder: Path, wrong: Any) -> Any:
    """A value of a study, checked for its type."""
    if key in VIEWS:
        return views(key, value, wrong)
    if key in _LISTS:
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise wrong(key, f"{key} is a list of texts; found {value!r}")
        if len(set(value)) < len(value):
            raise wrong(key, f"{key} names something twice: {value}")
        return tuple(folder / entry for entry in value) if key == "pictures_from" else tuple(value)
    if key in _TYPED:
        kind, words = _TYPED[key]
        if not isinstance(value, kind):
            raise wrong(key, f"{key} is {words}; found {value!r}")
        return value
    if key in {"trials", "samples", "seed", "limit"}:
        if not isinstance(value, int) or isinstance(value, bool) or value < (key != "seed"):
            raise wrong(key, f"{key} is a whole number{' from 1' if key != 'seed' else ''}; found {value!r}")
        return value
    if key == "budget":
        if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
            raise wrong(key, f"budget is a number of dollars above 0; found {value!r}")
        return float(value)
    if not isinstance(value, str):
        raise wrong(key, f"{key} is a text; found {value!r}")
    if key == "orders" and value not in get_args(Orders):
        raise wrong(key, f"unknown orders {value!r}; known: {', '.join(ORDERS)}")
    if key == "meetings" and value not in {"aligned", "crossed"}:
        raise wrong(key, f"meetings are 'aligned' or 'crossed'; found {value!r}")
    return folder / value if key in _PATHS and "://" not in value else value


def panel_size(form: Ballot) -> int | None:
    """How many responses a ballot is filled in for, where the user does not say: one, two, or all of an item's."""
    if isinstance(form, Choice):
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
    meetings: Meetings = "aligned",
) -> Iterator[Case]:
    """The cases of one's own data, for every ballot and criterion."""
    answers = list(responses)
    if trials < 1:
        raise InputError(f"a case is heard in 1 trial or more; found {trials}")
    for criterion in criteria:
        if not isinstance(criterion, str) or not criterion.strip():
            raise InputError(f"a criterion has a name, such as 'overall' or 'accuracy'; found {criterion!r}")
    for spec in ballots:
        form = ballot(spec)
        for criterion in criteria:
            yield from cases_of(
                items, answers, form, size=panel_size(form), orders=orders, criterion=criterion, trials=trials,
                seed=seed, samples=meetings,
            )  # fmt: skip
