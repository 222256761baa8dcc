"""Hooks that a benchmark names by path exist, have the right type and are imported late."""

import subprocess
import sys
from functools import partial

import pytest

from fullbench.core.benchmark import HOOKS, Benchmark, LazyFunction
from fullbench.core.plugin_entry_points import installed_plugins
from fullbench.plugin_specs import load_benchmark


def ours():
    """The benchmarks that come with the package, by name."""
    entries = installed_plugins("benchmarks").values()
    return {entry.name: load_benchmark(entry.name) for entry in entries if entry.value.startswith("fullbench.")}


def late(made: Benchmark) -> dict[str, tuple[LazyFunction, partial]]:
    """The hooks that are named by path, each with what it is called with besides what its callers say."""
    hooks = {hook: getattr(made, hook) for hook in ("items", "cases", "tables", *HOOKS)}
    called = {
        hook: value if isinstance(value, partial) else partial(value)
        for hook, value in hooks.items()
        if callable(value)
    }
    return {hook: (value.func, value) for hook, value in called.items() if isinstance(value.func, LazyFunction)}


def test_what_a_path_names_is_there_and_lies_where_a_benchmark_may_look():
    seen = 0
    for name, made in ours().items():
        own = installed_plugins("benchmarks")[name].module.rpartition(".")[0]
        rooms = (f"{own}.", "fullbench.synthetic.", "fullbench.analysis.", "fullbench.judges.")
        for hook, (path, _) in late(made).items():
            assert callable(path.function), (name, hook)
            assert path.path.startswith(rooms), (name, hook)
            seen += 1
    assert seen > 80


def test_listing_the_benchmarks_imports_nothing_of_what_their_tables_need():
    code = """
import sys
from fullbench.core.plugin_entry_points import plugin_names
from fullbench.plugin_specs import load_benchmark
assert len([load_benchmark(name) for name in plugin_names("benchmarks")]) > 20
print(sorted({"numpy", "scipy", "polars", "PIL", "fullbench.analysis"} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.slow
def test_what_a_path_names_has_the_type_of_its_hook(tmp_path):
    """mypy sees a path as a text: here it sees the functions themselves in their places."""
    names, calls = {}, []
    for name, made in ours().items():
        places = [f"name={name!r}", "paper=''"]
        for hook, (path, call) in late(made).items():
            function = names.setdefault(path.path, f"f{len(names)}")
            more = [*map(repr, call.args), *(f"{key}={value!r}" for key, value in call.keywords.items())]
            places.append(f"{hook}=" + (f"partial({', '.join([function, *more])})" if more else function))
        calls.append(f"Benchmark({', '.join(places)})")
    imports = [f"from {path.replace(':', ' import ')} as {function}" for path, function in names.items()]
    imports += ["from functools import partial", "from fullbench.core.benchmark import Benchmark"]
    file = tmp_path / "hooks.py"

    def said(*lines):
        file.write_text("\n".join([*imports, *lines, ""]))
        return subprocess.run([sys.executable, "-m", "mypy", str(file)], capture_output=True, text=True).stdout

    assert said(*calls).startswith("Success")
    assert "incompatible type" in said("Benchmark(name='', paper='', tables=len)")
