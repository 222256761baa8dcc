#!/bin/sh
# Style, types and layers: what a machine can check without running anything.
set -e
ruff check src tests scripts
ruff format --check src tests scripts
# The layers are looked at while the types are: each has use for one core.
layers=$(mktemp)
trap 'rm -f "$layers"' EXIT
lint-imports --no-cache >"$layers" 2>&1 &
typed=0 layered=0
mypy || typed=$?
wait $! || layered=$?
cat "$layers"
[ "$typed" = 0 ] && [ "$layered" = 0 ]
