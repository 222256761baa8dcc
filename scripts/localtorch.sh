#!/bin/sh
# Torch and transformers for the tests of score models. By pip, which takes a CPU build of torch from this machine where
# there is one; without the constraint it would take the newest CUDA build. Never fails.
python -c 'import torch, transformers, safetensors' 2>/dev/null && exit 0
echo "[fullbench] installing torch and transformers for the tests of score models (1 GB, some minutes)" >&2
python -m pip --version >/dev/null 2>&1 || uv pip install --quiet pip
python -m pip install --quiet --disable-pip-version-check torch==2.13.0 'transformers>=5' 'safetensors>=0.5' && exit 0
echo "[fullbench] no torch here: its tests will be skipped" >&2
exit 0
