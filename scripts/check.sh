#!/bin/sh
# Style, types and layers: what a machine can check without running anything.
set -e
ruff check src tests scripts
ruff format --check src tests scripts
# One core checks types while the other checks layers.
layers=$(mktemp)
trap 'rm -f "$layers"' EXIT
lint-imports --no-cache >"$layers" 2>&1 &
linting=$!
typed=0 layered=0
mypy || typed=$?
wait $linting || layered=$?
cat "$layers"
[ "$typed" = 0 ] && [ "$layered" = 0 ]
