#!/bin/sh
# Torch and what trains with it, for the tests of score models and critics. Torch comes from the folder of files that
# pip is told to look into, if it has one (such as a CPU build), and else from the index with its hashes. Goes into
# .venv, also when it is called outside of it. Never fails.
[ -n "${VIRTUAL_ENV:-}" ] || exec python3 "$(dirname "$0")/launch.py" dev sh "$0"
python -c 'import torch, transformers, safetensors, accelerate, peft, trl, datasets, diffusers' 2>/dev/null && exit 0
echo "[fullbench] installing torch, transformers and trl for the tests of score models and critics (1 GB)" >&2
cd "$(dirname "$0")" || exit 0
links="${PIP_FIND_LINKS:-$(python3 -m pip config get global.find-links 2>/dev/null)}"
add() { uv pip install --quiet --no-deps "$@"; }
add --require-hashes -r localtorch.lock &&
  { { [ -n "$links" ] && add --no-index --find-links "$links" torch==2.13.0; } || add --require-hashes -r localtorch-index.lock; } &&
  exit 0
echo "[fullbench] no torch here: its tests will be skipped" >&2
exit 0
