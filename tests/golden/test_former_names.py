"""Names of the first release: each spec still has its name, or says that it had it, so that verdicts are found.

`first_release_names.json` is what the first release named each spec; it never changes.
"""

from __future__ import annotations

import json
import os
from contextlib import chdir
from pathlib import Path
from unittest.mock import patch

import pytest

from fullbench.nouns.judge import former_names_of
from tests.golden.internals import contestant, judge
from tests.golden.names import ITEMS, KEYS, WORDING

RENAMED = {"bertscore": "spelling"}
"""Specs that are called otherwise now: the metric of letters bore the name of the one that it stood in for."""
FIRST = json.loads(Path(__file__).with_name("first_release_names.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("role", ["judges", "models"])
def test_a_name_of_the_first_release_is_the_name_or_a_former_one(tmp_path, role):
    (tmp_path / "items.jsonl").write_text(ITEMS, encoding="utf-8")
    (tmp_path / "wording.txt").write_text(WORDING, encoding="utf-8")
    (tmp_path / "head.pth").write_bytes(b"a head of the golden files")
    make = judge if role == "judges" else contestant
    changed = worded = 0
    with chdir(tmp_path), patch.dict(os.environ, KEYS):
        for spec, first in FIRST[role].items():
            made = make(RENAMED.get(spec, spec))
            assert made.name not in former_names_of(made), spec
            new_edition = getattr(made, "former_template", None) is not None
            if new_edition or "ends" in made.settings:
                older = make(f"{spec}{'&' if '?' in spec else '?'}{'edition=1' if new_edition else 'wording=plain-1'}")
                expected = (older.name, *former_names_of(older))
                assert former_names_of(made) == expected, spec
                assert first in expected, spec
                made, worded = older, worded + 1
            if made.name != first:
                changed += 1
                assert former_names_of(made) == (first,), spec
            else:
                assert former_names_of(made) == (), spec
    assert changed > 10
    assert (worded > 10) == (role == "judges")


def test_a_server_within_a_composed_contestant_and_a_reader_are_covered(tmp_path):
    """Servers were not part of names; these are computed by the first release's rule, written out by hand."""
    from fullbench.nouns.digests import digest

    made = contestant("composed:none?llm=vllm:qwen@http://a.example/v1")
    speaker = {"name": "qwen", "model": "qwen", "dialect": "openai", "label": "", "sampling": {}}
    (former,) = former_names_of(made)
    assert former == f"qwen+{made.tools.name}#{digest({**made.settings, 'llm': speaker})[:8]}"

    read = judge("vllm:qwen@http://a.example/v1?reader=vllm:small@http://b.example/v1")
    plain = judge("vllm:qwen@http://a.example/v1")
    settings = {**plain.settings, "model": "qwen", "reader": "small", "reader_wording": read.wording.digest}
    del settings["ends"]  # the first release did not say which end of a scale is good
    *_, inner = former_names_of(plain)
    assert f"qwen+analyze+reader#{digest([inner, settings])[:8]}" in former_names_of(read)
