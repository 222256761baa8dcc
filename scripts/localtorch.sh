#!/bin/sh
# Torch and what trains with it, for the tests of score models and critics. By uv with the folder of files that pip is
# told to look into, where there is one: it holds a CPU build of torch, and without the exact version the newest CUDA
# build would be taken. Goes into .venv, also when it is called outside of it. Never fails.
[ -n "${VIRTUAL_ENV:-}" ] || exec python3 "$(dirname "$0")/launch.py" dev sh "$0"
python -c 'import torch, transformers, safetensors, accelerate, peft, trl, datasets, diffusers' 2>/dev/null && exit 0
echo "[fullbench] installing torch, transformers and trl for the tests of score models and critics (1 GB)" >&2
needs="torch==2.13.0 transformers>=5 safetensors>=0.5 accelerate>=1.10 peft>=0.18 trl>=1 datasets>=4 diffusers>=0.35"
links="${PIP_FIND_LINKS:-$(python3 -m pip config get global.find-links 2>/dev/null)}"
if [ -n "$links" ] && command -v uv >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    uv pip install --quiet --find-links "$links" $needs && exit 0
fi
python -m pip --version >/dev/null 2>&1 || uv pip install --quiet pip
# shellcheck disable=SC2086
python -m pip install --quiet --disable-pip-version-check $needs && exit 0
echo "[fullbench] no torch here: its tests will be skipped" >&2
exit 0
