#!/bin/sh
# Style, types and layers: what a machine can check without running anything.
set -e
ruff check src tests scripts
ruff format --check src tests scripts
mypy
lint-imports --no-cache
