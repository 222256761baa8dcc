"""Short names of judges and contestants are distinct, do not depend on order, and say what differs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench.core.judge_and_contestant_short_names import short_names
from fullbench.models.model_settings import Sampling
from fullbench.studies.judge_contestant_and_benchmark_specs import contestant_from_spec, judge_from_spec

SERVER_A, SERVER_B = "http://127.0.0.1:31877/v1", "http://127.0.0.1:31878/v1"


def names_of_specs(judges=(), contestants=(), chosen=None):
    built_judges = {spec: judge_from_spec(spec) for spec in judges}
    built_models = {spec: contestant_from_spec(spec) for spec in contestants}
    names = short_names(
        {judge.name: judge.settings for judge in built_judges.values()},
        {model.name: model.settings for model in built_models.values()},
        {built_judges[spec].name: name for spec, name in (chosen or {}).items()},
    )
    return [names[built.name] for built in (*built_judges.values(), *built_models.values())]


def test_only_options_that_differ_are_shown():
    assert names_of_specs(["openai:gpt-4o"]) == ["gpt-4o"]
    assert names_of_specs(["openai:gpt-4o?mode=direct&temperature=0.5"]) == ["gpt-4o"]
    assert names_of_specs(["openai:gpt-4o", "openai:gpt-4o?mode=steps", "openai:gpt-4o?picture_mode=none"]) == [
        "gpt-4o", "gpt-4o (steps)", "gpt-4o (no picture)",
    ]  # fmt: skip
    assert names_of_specs(["openai:o3?effort=low", "openai:o3?effort=high&mode=direct"]) == [
        "o3 (effort low)", "o3 (direct, effort high)",
    ]  # fmt: skip
    assert names_of_specs(["openai:gpt-4o", "openai:gpt-4o?reader=openai:gpt-4o-mini"]) == [
        "gpt-4o", "gpt-4o (reader gpt-4o-mini)",
    ]  # fmt: skip


def test_the_address_is_shown_only_if_two_servers_serve_one_model():
    assert names_of_specs([f"openai:judge@{SERVER_A}"]) == ["judge"]
    assert names_of_specs([f"openai:judge@{SERVER_A}", f"openai:judge@{SERVER_B}?mode=steps"]) == [
        "judge@127.0.0.1:31877", "judge@127.0.0.1:31878 (steps)",
    ]  # fmt: skip
    assert names_of_specs(["openai:gpt-4o", f"openai:gpt-4o@{SERVER_A}"]) == ["gpt-4o", "gpt-4o@127.0.0.1:31877"]
    assert names_of_specs(
        ["openai:m@http://127.0.0.1:80/a", "openai:m@http://127.0.0.1:80/b"]
    ) == ["m@127.0.0.1:80/a", "m@127.0.0.1:80/b"]  # fmt: skip


def test_a_judge_and_a_contestant_of_one_model_differ():
    assert names_of_specs(["openai:gpt-4o"], ["openai:gpt-4o"]) == ["gpt-4o (judge)", "gpt-4o"]
    assert names_of_specs(["synthetic:keen"], ["synthetic:keen"]) == ["keen (judge)", "keen"]


def test_a_label_is_shown_as_it_is():
    specs = [f"openai:judge@{SERVER_A}?label=lab", f"openai:judge@{SERVER_A}?label=lab&mode=direct"]
    assert names_of_specs(specs[:1], [f"openai:qwen@{SERVER_A}?label=lab"]) == ["lab", "qwen@lab"]
    assert names_of_specs(specs) == ["lab", "lab (direct)"]


def test_chosen_names_win():
    specs = ["openai:gpt-4o", "openai:gpt-4o?mode=steps", "openai:glm"]
    assert names_of_specs(specs, chosen={specs[2]: "gpt-4o"}) == ["gpt-4o #ff823c5d", "gpt-4o (steps)", "gpt-4o"]
    assert names_of_specs(specs, chosen={specs[0]: "Ann", specs[1]: "Ann"}) == ["Ann", "Ann (steps)", "glm"]


def test_names_from_files_stay_as_they_are():
    names = ["gpt-4o@lab", "claude-3@20240229", "llava+rag", "a?b=1", "human", "panel:trio", "gpt-4o without image"]
    assert short_names(dict.fromkeys(names), dict.fromkeys(names)) == {name: name for name in names}


def test_a_digest_is_the_last_resort():
    same = {f"m+analyze#{n:08x}": {"model": "m", "mode": "analyze", "parts": "0"} for n in range(2)}
    assert list(short_names(same).values()) == ["m #00000000", "m #00000001"]
    noisy = {f"accurate@{n:06x}": {"noise": n} for n in (1, 2)}
    assert list(short_names(noisy).values()) == list(noisy)  # no digest of these settings: part of the name


_WORDS = st.sampled_from(
    ["gpt-4o", "gpt-4o-mini", "glm", "human", "lab", "gpt-4o (steps)", "glm (judge)", "x #0000000a"]
)
_SERVERS = st.sampled_from(["", "@127.0.0.1:80/v1", "@127.0.0.1:81/v1", "@127.0.0.1:81/v2", "@lab"])
_OPTIONS = st.sampled_from(["", "+t0", "+t0.5", "+max5", "+t0+seed3", "+effort-low"])
_MODES = st.sampled_from(["", "+analyze", "+steps", "+direct+zh", "+analyze+reader"])
_NAMES = st.builds(
    lambda word, server, options, mode, digest: f"{word}{server}{options}{mode}" + (f"#{digest:08x}" if mode else ""),
    _WORDS, _SERVERS, _OPTIONS, _MODES, st.integers(0, 12),
)  # fmt: skip


def _settings(name):
    mode = next((mode for mode in ("analyze", "steps", "direct") if f"+{mode}" in name), None)
    if mode is None:
        return st.sampled_from([None, {"model": name.partition("@")[0].partition("+")[0], "dialect": "openai"}])
    settings = {"model": name.partition(f"+{mode}")[0], "mode": mode}
    return st.sampled_from([None, settings, {**settings, "template": name[-8:]}])


@given(st.data())
def test_names_are_distinct_and_do_not_depend_on_order(data):
    judges, contestants = (
        {name: data.draw(_settings(name)) for name in data.draw(st.lists(_NAMES, unique=True, max_size=8))}
        for _ in range(2)
    )
    chosen = {name: f"chosen {n}" for n, name in enumerate(sorted(judges)[:2])}
    names = short_names(judges, contestants, chosen)
    assert names.keys() == {*judges, *contestants}
    assert len(set(names.values())) == len(names)
    assert all(shown == name or shown not in names for name, shown in names.items())
    assert all(names[name] == shown for name, shown in chosen.items())
    shuffled = [dict(data.draw(st.permutations(list(each.items())))) for each in (judges, contestants, chosen)]
    assert short_names(*shuffled) == names


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ({"video": "native"}, "video native"), ({"frames": 8}, "frames 8"), ({"fps": 0.5}, "fps 0.5"),
        ({"pages": 3}, "pages 3"), ({"start": 1.5, "end": 4.0}, "start 1.5, end 4"), ({"sound": False}, "no-sound"),
        ({"effort": "high"}, "effort high"), ({"seed": 4}, "seed 4"), ({"pixels": 512}, "pixels 512"),
    ],
)  # fmt: skip
def test_each_setting_of_a_model_is_an_option_and_no_part_of_its_short_name(settings, shown):
    plain, other = "judge@127.0.0.1:8000/v1+direct#1f3a9c20", Sampling(**settings).tail
    with_settings = f"judge@127.0.0.1:8000/v1{other}+direct#2f3a9c20"
    assert short_names({with_settings: None}) == {with_settings: "judge"}
    assert short_names({plain: None, with_settings: None}) == {plain: "judge", with_settings: f"judge ({shown})"}
