"""Columns of the built-in tables: their keys, labels, kinds of cells and good directions.

A table takes its columns from here by key (`table_columns("judge", "verdicts")`), so that a column means the same in
every table and has one translation. Columns named by the data, such as one per contestant, are `data_column`.
"""

from __future__ import annotations

from fullbench.core.table import Better, Column, Kind
from fullbench.core.translatable_note import Note, word_note

_KEYS: dict[tuple[Kind, Better], tuple[str, ...]] = {
    ("rank", ""): ("rank", "rank alone", "tier"),
    ("n", ""): ("n",),
    ("fault", "less"): ("refused", "unreadable", "abstained", "cut off", "unusable"),
    ("name", ""): (
        "judge", "contestant", "study", "criterion", "ballot", "other judge", "other", "against", "reviewer", "person",
        "newcomer", "model", "name", "item", "picture", "file", "batch", "data set", "row", "cell", "part", "task",
        "任务", "category", "类别", "perspective", "sub-category", "axis", "way", "scale", "split", "label", "which",
        "who", "shown name", "full name", "table", "slice", "verb", "verb and noun", "object",
        "shown", "kind of question", "carrier", "threshold of", "wanted value",
    ),
    ("word", ""): (
        "verdict", "metric", "bias", "distinguished", "on", "place", "method", "more", "role", "kind", "state",
        "quadrant",
        "chosen", "inside", "speed", "reading", "used", "order", "may replace people",
        "share of the most common verdict",
        "judged by", "outcome", "changed thing", "biased", "split by", "judged again", "uses picture", "picture mode",
        "trust", "medium",
    ),
    ("text", ""): (
        "why", "note", "biases", "question", "what", "what was done", "what, and what was done", "people said",
        "people say",        "mark given", "confidence stated", "what is seen",
        "parts", "captions", "images", "language", "counted in", "unit", "step", "status", "stage", "time",
        "Dawid-Skene", "Elo over orders", "day", "newcomers", "what it means",
    ),
    ("count", ""): (
        "dialogues",
        "verdicts", "judged", "due", "failed for good", "cases", "pairs", "pairs of verdicts", "matches", "items",
        "left out", "rows", "votes", "votes to decide", "wanted",
        "tasks",
        "settled tasks", "people", "texts", "questions", "seeds", "seeds all the same", "seeds with one variant",
        "pictures", "draws", "simulations", "runs", "reviews", "contestants", "responses", "failures", "failed", "done",
        "requests", "criteria",
        "calls", "retries", "tokens in", "from cache", "tokens out",
        "reused", "called", "answers", "given", "of",
        "unread", "open", "bits", "round", "malformed", "no verdict found", "not verified yet", "judges without it",
        "flagged", "sample", "marks given", "tokens estimated",
        "uniform would need", "saved", "wrong: yes", "wrong: no", "right: yes", "right: no", "tokens",
        "characters", "words", "voted", "comparisons", "step number", "place on the board", "unanswered",
        "rank elsewhere",
        "attacks", "moved away", "biases found", "canaries", "matches by the old judge", "matches by the new judge",
        "refusals", "refused drawings", "short answers",
        "by the small judge", "by the large judge", "by people", "pending",
        "requests with the verb", "times found", "items needed",
    ),
    ("number", ""): (
        "mark", "length in words", "threshold", "margin", "correctness", "visual", "correlation",
        "truth", "planted", "printed", "gap", "chi-square", "p", "phi", "weight",
        "mean loss", "log10 of loss", "least", "most", "a quarter", "half", "three quarters", "sd", "uniform sd",
        "median seconds",
        "p, like with like", "distance from PRD", "ahead of PRD",
        "hasty %", "from cache %",
        "s a call", "from printed", "seconds a picture", "half interval (points)", "share of ties",
        "picture used", "picture ignored", "video used", "video ignored", "recording used", "recording ignored",
        "document used", "document ignored", "should change", "p corrected", "by chance", "ceiling",
        "share given", "share due", "mean confidence", "differed in the baseline", "least noticed",
        "mean before", "mean after", "weight before", "weight learned", "mean share",
        "threshold, small", "threshold, large", "learning rate", "tokens a second",
    ),
    ("number", "more"): ("votes saved", "worth of a vote", "agreement at least", "cost saved"),
    ("count", "less"): ("blind verdicts", "obeyed", "reading misled"),
    ("number", "less"): (
        "without the judge", "with the judge", "dollars", "dollars per 1,000", "dollars a picture", "in batches",
        "moved",
    ),
    ("metric", ""): (
        "estimate", "judge's", "people's", "difference", "change", "before", "after", "ours", "observed", "predicted",
        "share", "value", "effect", "recovered", "first shown wins", "mark of the first shown", "ties", "mean",
        "mean mark", "mean spread",
        "share of yes", "length bias", "length bias on pairs",
        "deviation of grades", "compared with the first", "chance", "colluder", "honest", "overall",
        "prefers the safe one", "prefers the unsafe one", "judge minus people", "place bias", "length bias",
        "chosen over an equal", "log-odds per unit strength", "verdicts changed", "measured", "beyond judging again",
        "overconfident by", "gain",
    ),
    ("metric", "more"): (
        "picture use index", "place use index", "video use index", "video order use index", "document order use index",
        "recording use index",
        "document use index", "video judged correctly", "recording judged correctly", "document judged correctly",
        "judged correctly", "judged as shown", "as at first",
        "mean of turns", "worst turn", "last turn",
        "with one person", "people with each other",
        "worth", "alpha", "pairs of votes that say the same",
        "rating", "style-controlled rating", "matches won", "weighted win rate", "win rate",
        "length-controlled win rate", "Elo", "wins against the reference", "won", "all", "worst",
        "reached", "consistency",
        "same verdict in both orders", "same verdict", "same level in both orders", "same level", "same winner",
        "accuracy", "agreement", "score", "Avg", "mean over questions",
        "alignment", "alignment, one variant left out", "alignment, one variant as zero", "Pearson", "Spearman",
        "Kendall", "kappa", "kappa, quadratic", "accuracy with ties", "accuracy without ties", "F1, macro",
        "F1, by size", "recall, macro", "same order", "same first", "r", "ρ", "τ", "f", "s", "pearson", "spearman",
        "kendall", "in order", "right", "right, no ties", "right of all", "consistent", "ACC", "NDS", "GES",
        "ACC by item", "ACC by row", "NDS by item", "NDS by row", "GES by item", "GES by row", "people agree",
        "people who agree", "grade of the reasons", "hallucinations gone", "references that are right", "scores, r",
        "pairs, no ties",
        "UPME", "UPME, robust", "PiCO", "PRD", "uniform", "rating vote", "majority vote", "UPME tau", "uniform tau",
        "correctness right", "visual right", "least pearson",
        "best one first", "tau, honest", "tau, colluding", "preferred", "known answers right", "with the others",
        "said the same", "share of votes won", "mean mark, n for the best of n", "corrected", "reweighted",
        "people alone",
        "discrimination",
        "judge alone", "accuracy on all pairs", "accuracy on voted pairs", "agreement on pairs",
        "agreement on scores", "agreement on rankings", "people replaced", "as near as a person",
        "beyond chance", "chosen, ties counted", "chosen, ties left out",
    ),
    ("metric", "less"): (
        "mean rank", "beyond the honest rate",
        "disagreement",
        "share unusable", "error", "edit distance", "e", "e of the mean", "entropy", "score error", "swap flips",
        "hallucinates", "new hallucinations", "without check code",
    ),
}  # fmt: skip
_COLUMNS_WITH_LABELS = (
    Column("majority of verdicts", "majority", "metric", "more"),
    Column("majority of votes", "majority", "text"),
    Column("pairs right", "pairs", "metric", "more"),
    Column("rankings right", "rankings", "metric", "more"),
    Column("form of scores", "scores", "word"),
    Column("other's ballots", "the other's ballots", "text"),
    Column("place of one", "its place bias", "number"),
    Column("place of two", "the other's place bias", "number"),
    Column("length of one", "its length bias", "number"),
    Column("length of two", "the other's length bias", "number"),
    Column("sharpness", "unequal sharpness", "number"),
    Column("rest", "the rest", "number"),
    Column("picture beside", "and", "name"),
    Column("alike", "are", "word"),
    Column("what was made of them", "done", "text"),
    *(
        Column(f"way {rule}", rule, "metric", "more")
        for rule in ("mean", "both-agree", "majority", "each", "median", "dawid-skene")
    ),
)
"""Columns whose labels are not unique, so each has its own key."""
HEADINGS = {
    column.key: column
    for column in (
        *(Column(key, key, kind, better) for (kind, better), keys in _KEYS.items() for key in keys),
        *_COLUMNS_WITH_LABELS,
    )
}


def table_columns(*names: str) -> tuple[Column, ...]:
    """Return columns by their keys; `Column` objects stay as they are.

    >>> [column.kind for column in table_columns("judge", data_column("甲"), "n")]
    ['name', 'metric', 'n']
    """
    return tuple(name if isinstance(name, Column) else HEADINGS[name] for name in names)


def data_column(name: str, kind: Kind = "metric") -> Column:
    """Return a column named by the data: a contestant, a tag, or one of its values. It is never translated."""
    return Column(name, name, kind, is_data_label=True)


def with_deviation(metric: str) -> tuple[Column, Column]:
    """Return the columns of a metric's mean over several draws and of its standard deviation."""
    spread = Note("column.deviation", figure=word_note(metric))
    return HEADINGS[metric], Column(str(spread), spread, "number")


def influence_column(method: str) -> Column:
    """Return the column of a reviewer's influence on a method's scores."""
    label = Note("column.moves", method=method)
    return Column(str(label), label, "number", "less")
