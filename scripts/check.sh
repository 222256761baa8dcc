#!/bin/sh
# Style, types and layers: what a machine can check without running anything.
set -e
ruff check src tests scripts
ruff format --check src tests scripts
# While one core looks at the types, the other looks at the layers, and whether every test can be collected: its modules
# are compiled then, which each worker of the tests would do for itself in a fresh clone.
layers=$(mktemp) tests=$(mktemp)
trap 'rm -f "$layers" "$tests"' EXIT
lint-imports --no-cache >"$layers" 2>&1 &
linting=$!
pytest -q --collect-only -m "not slow" tests src >"$tests" 2>&1 &
collecting=$!
typed=0 layered=0 collected=0
mypy || typed=$?
wait $linting || layered=$?
wait $collecting || collected=$?
cat "$layers"
[ "$collected" = 0 ] || cat "$tests"
[ "$typed" = 0 ] && [ "$layered" = 0 ] && [ "$collected" = 0 ]
