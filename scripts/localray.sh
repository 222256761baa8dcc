#!/bin/sh
# Ray for the tests of the cluster engine, at the version they were written with. Never fails.
python -c 'import ray' 2>/dev/null && exit 0
echo "[fullbench] installing Ray for the tests of the cluster engine (90 MB to download)" >&2
uv pip install --quiet --require-hashes --no-deps -r "$(dirname "$0")/localray.lock" && exit 0
echo "[fullbench] no Ray here: its tests will be skipped" >&2
exit 0
