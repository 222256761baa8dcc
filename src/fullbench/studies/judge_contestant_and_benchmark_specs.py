"""Build judges, contestants, benchmarks, worked examples and correlation judges from their specs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fullbench.core.ballot import ballot as ballot_of
from fullbench.core.benchmark import PAPER_PROTOCOL, Benchmark
from fullbench.core.judge import Judge, explain_missing_parts
from fullbench.core.model import Model
from fullbench.core.plugin_entry_points import load_plugin, plugin_names, suggest_spec
from fullbench.errors import InputError
from fullbench.files.row_fields import Fields
from fullbench.files.row_readers import read_rows
from fullbench.judges.answer_picture_fit_judge import Correlation, build_clip_correlation
from fullbench.judges.prompt_templates import Example
from fullbench.plugin_specs import Spec, judge_names
from fullbench.plugin_specs import build_model as model_of
from fullbench.plugin_specs import load_benchmark as benchmark_named

JUDGE_OPTIONS = {
    "mode", "picture_mode", "reference", "language", "steps", "resample", "form", "constrained", "max_pictures",
    "benchmark_template", "prompt_style",
    "template", "label", "reader", "reader_template", "examples", "together", "confidence", "marks",
    "check_code",
}  # fmt: skip


def benchmark_from_name(name: str, protocol: Mapping[str, Any] | None = None) -> Benchmark:
    """Return the benchmark with this name, configured by `protocol` if there is one."""
    bench = benchmark_named(name)
    if not bench.asks:
        raise InputError(
            f"the benchmark {name!r} has no items: its questions were not released, so no model can be called"
        )
    if not protocol or protocol == PAPER_PROTOCOL:  # the defaults are the paper's
        return bench
    if bench.protocol is None:
        raise InputError(f"the benchmark {name!r} has only one protocol; leave out [protocol]")
    return bench.protocol(protocol)


def bundled_sample_message(name: str, data: Path | None) -> str:
    """Return a sentence if a benchmark is read from the sample in its package; empty for released or own data."""
    if data is not None or name == "synthetic":
        return ""
    return (
        f"Data: the small sample of {name} in fullbench, not the paper's data. For the paper's data, add --data FOLDER "
        "(data in a study file)."
    )


def contestant_from_spec(spec: str) -> Model:
    """Return the model of a spec such as `openai:gpt-4o?temperature=0`.

    The option `asking` puts its questions into a template: a file, or the name of a benchmark with a contestant prompt.
    """
    parsed_spec = Spec.parse(spec)
    if "asking" not in parsed_spec.options:
        return model_of(parsed_spec, spec)
    from fullbench.judges.contestant_with_templated_questions import SLOTS, PromptedContestant
    from fullbench.judges.prompt_templates import Template

    model_options = {key: value for key, value in parsed_spec.options.items() if key != "asking"}
    words = parsed_spec.options["asking"]
    if words in plugin_names("benchmarks"):
        bench = benchmark_from_name(words)
        if bench.asking is None:
            raise InputError(f"the benchmark {words!r} has no texts for contestants; give a file to the option asking")
        template = Template.parse(bench.asking(), SLOTS, path=words)
    else:
        template = Template.read(words, SLOTS)
    return PromptedContestant(model_of(Spec(parsed_spec.kind, parsed_spec.name, model_options), spec), template)


def judge_from_spec(spec: str) -> Judge:
    """Return the judge of a spec: an installed judge (`length`), a metric, or a model with a judge prompt.

    A model takes its own options and these: mode, picture_mode, reference, language, steps, resample, form,
    constrained, max_pictures, template, label. Further options:

    - examples: a file of worked examples (text, marks, ballot)
    - benchmark_template: the benchmark whose prompt template is used, or `plain` for our own
    - prompt_style: one of the prompt styles of that benchmark
    - check_code: `no` requests no random word with the verdict; prompts of benchmarks request none by default
    - together: ratings and a choice on the same responses in one call
    - confidence: `stated` (the judge writes how sure it is) or `logprobs` (token probabilities of the server)
    - marks: `expected` is the mean of all possible marks, weighted by their probabilities
    - reader: the spec of a second, cheaper model that reads replies that the parser cannot read
    - reader_template: `examples` shows two worked examples to the reader
    """
    parsed_spec = Spec.parse(spec)
    if parsed_spec.kind in plugin_names("judges"):
        plugin = load_plugin("judges", parsed_spec.kind)(parsed_spec.name, parsed_spec.options)
        if not isinstance(plugin, Judge):
            raise InputError(f"The plugin {parsed_spec.kind!r} returned no judge. {explain_missing_parts(plugin)}")
        return plugin
    if parsed_spec.kind in plugin_names("metrics"):
        from fullbench.judges.metrics.metric_judges import build_metric_judge

        return build_metric_judge(
            parsed_spec.kind, load_plugin("metrics", parsed_spec.kind), parsed_spec.name, parsed_spec.options
        )
    if parsed_spec.kind not in plugin_names("models"):
        installed_names = sorted({*judge_names(), *plugin_names("models")})
        hint = suggest_spec(parsed_spec.kind, installed_names) or "."
        raise InputError(
            f"there is no judge or model {parsed_spec.kind!r} (in {spec!r}){hint} Installed: "
            f"{', '.join(installed_names)}"
        )
    judging_options = {key: value for key, value in parsed_spec.options.items() if key in JUDGE_OPTIONS}
    model_options = {key: value for key, value in parsed_spec.options.items() if key not in JUDGE_OPTIONS}
    return _build_prompted_judge(
        model_of(Spec(parsed_spec.kind, parsed_spec.name, model_options), spec), judging_options
    )


def spec_for_benchmark(
    name: str, spec: str, *, prompt_style: str = "", reader: str = "", together: bool | None = None
) -> str:
    """Return the spec of a judge in a benchmark: a model gets the benchmark's prompt template if there is one.

    `together` overrides the benchmark's own setting.

    >>> spec_for_benchmark("mjbench", "offline:echo"), spec_for_benchmark("mjbench", "picture:noise")
    ('offline:echo?benchmark_template=mjbench&together=yes', 'picture:noise')
    >>> spec_for_benchmark("visitbench", "offline:echo?mode=direct", prompt_style="ref-free")
    'offline:echo?mode=direct&benchmark_template=visitbench&prompt_style=ref-free'
    """
    parsed_spec = Spec.parse(spec)
    if parsed_spec.kind in judge_names():
        if prompt_style or reader:
            raise InputError(f"the judge {spec!r} takes no prompt style and no reader here; leave them out")
        return spec
    has_own_template = {"benchmark_template", "template"} & parsed_spec.options.keys() or benchmark_from_name(
        name
    ).prompt_template is None
    is_joint_call = not has_own_template and "together" not in parsed_spec.options and not reader
    is_joint_call = is_joint_call and (benchmark_from_name(name).together if together is None else together)
    new_options = {
        "benchmark_template": "" if has_own_template else name, "prompt_style": prompt_style, "reader": quote(reader,
        safe=":/@"),
        "together": "yes" if is_joint_call else "",
    }  # fmt: skip
    option_text = "&".join(f"{option}={value}" for option, value in new_options.items() if value)
    return f"{spec.removesuffix('?')}{'&' if parsed_spec.options else '?'}{option_text}" if option_text else spec


def default_style_message(bench: Benchmark, judges: Mapping[str, str]) -> str:
    """Return a message if judges (specs by name) use the default prompt style instead of the paper's; else ""."""
    if not bench.prompt_style_of_paper:
        return ""
    options = {name: Spec.parse(spec).options for name, spec in judges.items()}
    default_style_names = [
        name
        for name, spec_options in options.items()
        if spec_options.get("benchmark_template") == bench.name
        and not {"prompt_style", "picture_mode", "reference"} & spec_options.keys()
    ]
    if not default_style_names:
        return ""
    names_text = default_style_names[0] + (
        f" and {len(default_style_names) - 1} more" if len(default_style_names) > 1 else ""
    )
    return (
        f"Asked in the prompt style {bench.prompt_styles[0]!r}, the usual one of {bench.name} here: {names_text}. The "
        "paper's judge was "
        f"asked in {bench.prompt_style_of_paper!r}; 'prompt_style={bench.prompt_style_of_paper}' in a judge's "
        f"spec does that."
    )


def _build_prompted_judge(model: Model, options: Mapping[str, str]) -> Judge:
    from fullbench.judges.fallback_reader import SecondReader
    from fullbench.judges.prompted_judge import PromptedJudge, read_template
    from fullbench.judges.rating_and_choice_judge import RatingAndChoiceJudge

    settings = _benchmark_settings(options.get("benchmark_template", PLAIN), options.get("prompt_style", ""))
    settings |= {key: options[key] for key in ("mode", "picture_mode", "language", "form", "label") if key in options}
    settings |= {key: _parse_yes_no(options[key], key) for key in _YES_NO_OPTIONS if key in options}
    settings |= {key: _parse_whole_number(options[key], key) for key in ("resample", "max_pictures") if key in options}
    if "steps" in options:
        settings["steps"] = tuple(options["steps"].split(","))
    if "template" in options:
        settings["template"] = read_template(Path(options["template"]))
    if "examples" in options:
        settings["examples"] = read_examples(Path(options["examples"]))
    if confidence_options := {key: options[key] for key in ("confidence", "marks") if key in options}:
        from fullbench.judges.judge_with_confidence import ConfidentJudge

        source = "logprobs" if confidence_options.get("marks") == "expected" else "stated"
        prompted_judge: PromptedJudge = ConfidentJudge(model, **{"confidence": source} | settings | confidence_options)
    else:
        prompted_judge = PromptedJudge(model, **settings)
    if _parse_yes_no(options.get("together", "no"), "together"):
        if "reader" in options:
            raise InputError("a second reader reads one verdict at a time; leave out reader, or use together=no")
        return RatingAndChoiceJudge(prompted_judge)
    if "reader" not in options:
        return prompted_judge
    words = options.get("reader_template", "plain")
    if words not in READERS:
        raise InputError(f"unknown reader_template {words!r}; known: {', '.join(READERS)}")
    return SecondReader(prompted_judge, contestant_from_spec(options["reader"]), READERS[words])


_YES_NO_OPTIONS = ("reference", "constrained", "check_code")
READERS = {"plain": "reader", "examples": "reader_examples"}
PLAIN = "plain"
"""The prompt template of this package; no benchmark has this name."""


def _benchmark_settings(name: str, prompt_style: str) -> dict[str, Any]:
    if name == PLAIN:
        if prompt_style:
            raise InputError(f"prompt_style={prompt_style} belongs to a benchmark; add benchmark_template=NAME")
        return {}
    bench = benchmark_from_name(name)
    if bench.prompt_template is None:
        raise InputError(f"the benchmark {name!r} has no prompt template of its own; leave out benchmark_template")
    if not prompt_style:
        return dict(bench.prompt_template())
    if prompt_style not in bench.prompt_styles:
        raise InputError(
            f"{name!r} has no prompt style {prompt_style!r}; known: {', '.join(bench.prompt_styles) or 'none'}"
        )
    return dict(bench.prompt_template(prompt_style))


def _parse_yes_no(value: str, name: str) -> bool:
    if value.lower() in {"1", "yes", "true", "on"}:
        return True
    if value.lower() in {"0", "no", "false", "off"}:
        return False
    raise InputError(f"the option {name} is yes or no; found {value!r}")


def _parse_whole_number(value: str, name: str) -> int:
    try:
        return int(value)
    except ValueError as error:
        raise InputError(f"the option {name} is a whole number; found {value!r}") from error


def refuse_duplicates(what: str, names: Sequence[str]) -> None:
    """Refuse names that occur twice."""
    repeated_names = sorted({name for name in names if names.count(name) > 1})
    if repeated_names:
        raise InputError(f"two of the {what} are the same: {', '.join(repeated_names)}; leave one out")


def read_examples(path: Path) -> tuple[Example, ...]:
    """Read worked examples for judges: `text`, `marks` (a number or a list) and `ballot`."""
    return tuple(_parse_example(Fields(path, line, row, {"marks": ("mark", "score")})) for line, row in read_rows(path))


def _parse_example(fields: Fields) -> Example:
    raw_marks = fields.json("marks")
    marks = raw_marks if isinstance(raw_marks, list) else [raw_marks]
    if not marks or not all(isinstance(mark, int | float) for mark in marks):
        raise fields.error(f"an example's 'marks' are numbers, one for each response; found {raw_marks!r}")
    form = fields.text("ballot") or ""
    if form and not ballot_of(form).allows(tuple(map(float, marks))):
        raise InputError(f"the marks {marks} are not allowed for {form}", path=fields.path, line=fields.line)
    return Example(fields.name("text"), tuple(map(float, marks)), form)


def correlation_from_spec(spec: str) -> Correlation:
    """Return the correlation judge of a spec: `clip:FOLDER?device=cuda`, `tools` or `colours`.

    It rates how well answers fit their pictures. This module connects the measures of `models.tools` with the peer
    review, so that neither imports the other.
    """
    from fullbench.models.tools.text_image_fit_from_notes import ColourMeasure, ToolMeasure

    kind, _, folder_and_options = spec.partition(":")
    folder, _, options = folder_and_options.partition("?")
    if kind == "clip" and folder:
        name, _, device = options.partition("=")
        if options and (name != "device" or not device):
            raise InputError(f"a CLIP correlation has one option, as in clip:FOLDER?device=cuda; found {spec!r}")
        return build_clip_correlation(folder, device or "auto")
    if spec == "tools":
        return Correlation(ToolMeasure())
    if spec == "colours":
        return Correlation(ColourMeasure())
    raise InputError(f"a correlation is clip:FOLDER, tools or colours; found {spec!r}")
