"""From the words of a command line or a study to judges, contestants and benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fullbench.core.ballot import ballot as ballot_of
from fullbench.core.benchmark import Benchmark
from fullbench.core.judge import Judge
from fullbench.core.model import Model
from fullbench.core.plugin_entry_points import spec_meant
from fullbench.errors import InputError
from fullbench.files.readers import read_rows
from fullbench.files.row_fields import Fields
from fullbench.judges.image_text_correlation import Correlation, clip
from fullbench.judges.prompt_examples import Example
from fullbench.plugin_registry import Spec, judging, load, names
from fullbench.plugin_registry import benchmark as benchmark_named
from fullbench.plugin_registry import model as model_of

JUDGING = {
    "mode", "sight", "reference", "language", "steps", "resample", "form", "constrained", "sees", "wording", "manner",
    "template", "label", "reader", "reader_wording", "examples", "together", "confidence", "marks",
}  # fmt: skip


def benchmark(name: str, protocol: Mapping[str, Any] | None = None) -> Benchmark:
    """The benchmark of that name, asked by a protocol where one is given."""
    bench = benchmark_named(name)
    if not bench.asks:
        raise InputError(f"the benchmark {name!r} has no items: its questions were not released; nothing can be asked")
    if not protocol:
        return bench
    if bench.protocol is None:
        raise InputError(f"the benchmark {name!r} is asked in one way only: leave out [protocol]")
    return bench.protocol(protocol)


def contestant(spec: str) -> Model:
    """The model that a spec such as `openai:gpt-4o?temperature=0` names.

    `asking` puts its questions into a template: a file, or the name of a benchmark that has words for contestants.
    """
    parsed = Spec.parse(spec)
    if "asking" not in parsed.options:
        return model_of(parsed, spec)
    from fullbench.judges.prompt_templates import Template
    from fullbench.judges.prompted_contestant import SLOTS, Asked

    rest = {key: value for key, value in parsed.options.items() if key != "asking"}
    words = parsed.options["asking"]
    if words in names("benchmarks"):
        bench = benchmark(words)
        if bench.asking is None:
            raise InputError(f"the benchmark {words!r} has no words for contestants; give a file to the option asking")
        template = Template.parse(bench.asking(), SLOTS, path=words)
    else:
        template = Template.read(words, SLOTS)
    return Asked(model_of(Spec(parsed.kind, parsed.name, rest), spec), template)


def judge(spec: str) -> Judge:
    """The judge that a spec names: one that is installed (`length`), or a model asked to rule.

    A model takes these options beside its own: mode, sight, reference, language, steps, resample, form, constrained,
    sees, examples (a file of worked examples: text, marks, ballot), wording (the name of a benchmark, in whose words it
    is asked, or `plain` for our own), manner (one of the benchmark's ways of asking), template, label, together
    (ratings and a choice on the same responses in one call), confidence (stated: it is asked how sure it is; logprobs:
    its server tells the chances of its tokens), marks (expected: the mean of all marks that it might have written, by
    their chances), and reader (the spec of a second, cheaper model that reads
    what the first one's reply could not make plain; with reader_wording=examples it is shown two worked examples).
    """
    parsed = Spec.parse(spec)
    if parsed.kind in names("judges"):
        plugin = load("judges", parsed.kind)(parsed.name, parsed.options)
        if not isinstance(plugin, Judge):
            raise InputError(f"the plugin {parsed.kind!r} made no judge: it lacks one of name, settings, hear")
        return plugin
    if parsed.kind in names("metrics"):
        from fullbench.judges.metrics.metric_judges import judge_by

        return judge_by(parsed.kind, load("metrics", parsed.kind), parsed.name, parsed.options)
    if parsed.kind not in names("models"):
        known = sorted({*judging(), *names("models")})
        hint = spec_meant(parsed.kind, known) or "."
        raise InputError(
            f"there is no judge or model {parsed.kind!r} (in {spec!r}){hint} Installed: {', '.join(known)}"
        )
    judging_options = {key: value for key, value in parsed.options.items() if key in JUDGING}
    rest = {key: value for key, value in parsed.options.items() if key not in JUDGING}
    return _prompted(model_of(Spec(parsed.kind, parsed.name, rest), spec), judging_options)


def in_words_of(name: str, spec: str, *, manner: str = "", reader: str = "", together: bool | None = None) -> str:
    """The spec of a judge in a benchmark: a model is asked in the benchmark's words, where it has some.

    `together` is the protocol's, where it is not the benchmark's own.

    >>> in_words_of("mjbench", "offline:echo"), in_words_of("mjbench", "picture:noise")
    ('offline:echo?wording=mjbench&together=yes', 'picture:noise')
    >>> in_words_of("visitbench", "offline:echo?mode=direct", manner="ref-free")
    'offline:echo?mode=direct&wording=visitbench&manner=ref-free'
    """
    parsed = Spec.parse(spec)
    if parsed.kind in judging():
        if manner or reader:
            raise InputError(f"the judge {spec!r} takes no manner and no reader here; leave them out")
        return spec
    own = {"wording", "template"} & parsed.options.keys() or benchmark(name).wording is None
    joined = not own and "together" not in parsed.options and not reader
    joined = joined and (benchmark(name).together if together is None else together)
    more = {
        "wording": "" if own else name, "manner": manner, "reader": quote(reader, safe=":/@"),
        "together": "yes" if joined else "",
    }  # fmt: skip
    added = "&".join(f"{option}={value}" for option, value in more.items() if value)
    return f"{spec.removesuffix('?')}{'&' if parsed.options else '?'}{added}" if added else spec


def unmannered(bench: Benchmark, judges: Mapping[str, str]) -> str:
    """A sentence where judges (specs by name) name no manner and so are not asked as the paper's judge was."""
    if not bench.manner_of_paper:
        return ""
    options = {name: Spec.parse(spec).options for name, spec in judges.items()}
    usual = [name for name, said in options.items()
             if said.get("wording") == bench.name and not {"manner", "sight", "reference"} & said.keys()]  # fmt: skip
    if not usual:
        return ""
    named = usual[0] + (f" and {len(usual) - 1} more" if len(usual) > 1 else "")
    return (
        f"Asked in the manner {bench.manners[0]!r}, the usual one of {bench.name} here: {named}. The paper's judge was "
        f"asked in {bench.manner_of_paper!r}; 'manner={bench.manner_of_paper}' in a judge's spec does that."
    )


def _prompted(model: Model, options: Mapping[str, str]) -> Judge:
    from fullbench.judges.fallback_reader import SecondReader
    from fullbench.judges.prompted import PromptedJudge, read_template
    from fullbench.judges.rating_and_choice import Together

    settings = _worded(options.get("wording", PLAIN), options.get("manner", ""))
    settings |= {key: options[key] for key in ("mode", "sight", "language", "form", "label") if key in options}
    settings |= {key: _yes(options[key], key) for key in ("reference", "constrained") if key in options}
    settings |= {key: _whole(options[key], key) for key in ("resample", "sees") if key in options}
    if "steps" in options:
        settings["steps"] = tuple(options["steps"].split(","))
    if "template" in options:
        settings["template"] = read_template(Path(options["template"]))
    if "examples" in options:
        settings["examples"] = read_examples(Path(options["examples"]))
    if sure := {key: options[key] for key in ("confidence", "marks") if key in options}:
        from fullbench.judges.verdict_confidence import ConfidentJudge

        source = "logprobs" if sure.get("marks") == "expected" else "stated"
        prompted: PromptedJudge = ConfidentJudge(model, **{"confidence": source} | settings | sure)
    else:
        prompted = PromptedJudge(model, **settings)
    if _yes(options.get("together", "no"), "together"):
        if "reader" in options:
            raise InputError("a second reader reads one ruling at a time; leave out reader, or say together=no")
        return Together(prompted)
    if "reader" not in options:
        return prompted
    words = options.get("reader_wording", "plain")
    if words not in READERS:
        raise InputError(f"unknown reader_wording {words!r}; known: {', '.join(READERS)}")
    return SecondReader(prompted, contestant(options["reader"]), READERS[words])


READERS = {"plain": "reader", "examples": "reader_examples"}
"""The wordings of a second reader."""
PLAIN = "plain"
"""The wording that ships with the package; no benchmark has this name."""


def _worded(name: str, manner: str) -> dict[str, Any]:
    """What a benchmark, asked about in one of its manners, gives to a `PromptedJudge`."""
    if name == PLAIN:
        if manner:
            raise InputError(f"manner={manner} is a benchmark's way of asking; name the benchmark by wording=NAME")
        return {}
    bench = benchmark(name)
    if bench.wording is None:
        raise InputError(f"the benchmark {name!r} has no wording of its own; leave out the option wording")
    if not manner:
        return dict(bench.wording())
    if manner not in bench.manners:
        raise InputError(f"{name!r} has no manner {manner!r}; known: {', '.join(bench.manners) or 'none'}")
    return dict(bench.wording(manner))


def _yes(value: str, name: str) -> bool:
    if value.lower() in {"1", "yes", "true", "on"}:
        return True
    if value.lower() in {"0", "no", "false", "off"}:
        return False
    raise InputError(f"the option {name} is yes or no; found {value!r}")


def _whole(value: str, name: str) -> int:
    try:
        return int(value)
    except ValueError as error:
        raise InputError(f"the option {name} is a whole number; found {value!r}") from error


def distinct(what: str, names: Sequence[str]) -> None:
    """Refuse names of which two are the same."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"two of the {what} are the same: {', '.join(twice)}; leave one out")


# Worked examples for judges, out of a file.


def read_examples(path: Path) -> tuple[Example, ...]:
    """Examples of a file: `text`, `marks` (a number or a list) and `ballot`."""
    return tuple(_example(Fields(path, line, row, {"marks": ("mark", "score")})) for line, row in read_rows(path))


def _example(fields: Fields) -> Example:
    given = fields.json("marks")
    marks = given if isinstance(given, list) else [given]
    if not marks or not all(isinstance(mark, int | float) for mark in marks):
        raise fields.error(f"an example's 'marks' are numbers, one for each response; found {given!r}")
    form = fields.text("ballot") or ""
    if form and not ballot_of(form).allows(tuple(map(float, marks))):
        raise InputError(f"the marks {marks} fit no ruling of {form}", path=fields.path, line=fields.line)
    return Example(fields.name("text"), tuple(map(float, marks)), form)


# From a word to a judge of how well answers fit their pictures: `clip:FOLDER?device=cuda`, `tools`, `colours`.
#
# Here the measures of tools, which are models' business, meet the peer review that uses them; neither knows the other.


def correlation(named: str) -> Correlation:
    """The judge of correlation that a word names."""
    from fullbench.models.tools.text_image_fit import ColourMeasure, ToolMeasure

    kind, _, rest = named.partition(":")
    folder, _, options = rest.partition("?")
    if kind == "clip" and folder:
        name, _, device = options.partition("=")
        if options and (name != "device" or not device):
            raise InputError(f"a CLIP correlation has one option, as in clip:FOLDER?device=cuda; found {named!r}")
        return clip(folder, device or "auto")
    if named == "tools":
        return Correlation(ToolMeasure())
    if named == "colours":
        return Correlation(ColourMeasure())
    raise InputError(f"a correlation is clip:FOLDER, tools or colours; found {named!r}")
