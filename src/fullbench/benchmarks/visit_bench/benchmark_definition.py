"""VisIT-Bench as a `Benchmark`: pairs of answers to real-world instructions about images."""

from __future__ import annotations

from fullbench.core.benchmark import Benchmark, LazyFunction

visit_bench = Benchmark(
    name="visitbench",
    paper="Bitton et al., VisIT-Bench, NeurIPS 2023, arXiv:2308.06595",
    items=LazyFunction("fullbench.benchmarks.visit_bench.items_cases_submissions_and_known_verdicts:items"),
    cases=LazyFunction("fullbench.benchmarks.visit_bench.items_cases_submissions_and_known_verdicts:cases"),
    tables=LazyFunction("fullbench.benchmarks.visit_bench.tables:tables"),
    prompt_template=LazyFunction(
        "fullbench.benchmarks.visit_bench.prompt_styles_and_reference_correctness_by_caption:judge_options"
    ),
    prompt_styles=("with-picture", "ref-free", "ref-backed"),
    prompt_style_of_paper="ref-free",
    references=LazyFunction("fullbench.benchmarks.visit_bench.items_and_responses_from_release:reference_responses"),
    submission=LazyFunction(
        "fullbench.benchmarks.visit_bench.items_cases_submissions_and_known_verdicts:load_submission"
    ),
    bring=LazyFunction("fullbench.benchmarks.visit_bench.items_cases_submissions_and_known_verdicts:bring"),
    reproduce=LazyFunction("fullbench.benchmarks.visit_bench.reproduce:reproduce"),
    reproduce_from="a clone of Hritikbansal/visit_bench_sandbox, or of mlfoundations/VisIT-Bench",
)
