#!/bin/sh
# Ray for the tests of the cluster engine, at the version they were written with. Never fails.
python -c 'import ray' 2>/dev/null && exit 0
echo "[fullbench] installing Ray for the tests of the cluster engine (90 MB to download)" >&2
uv pip install --quiet -c requirements.lock 'ray[default]==2.60.0' && exit 0
echo "[fullbench] no Ray here: its tests will be skipped" >&2
exit 0
