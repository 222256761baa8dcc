#!/bin/sh
# The package of ImageReward's authors in an environment of its own, to compare our scores with theirs:
#     sh scripts/imagereward.sh FOLDER
#     IMAGEREWARD_PYTHON=FOLDER/bin/python pytest -m slow tests/judges/scorers/test_imagereward_authors.py
# It wants an old transformers, and so cannot live beside ours. What it needs to train is left out.
set -eu
folder="${1:?usage: sh scripts/imagereward.sh FOLDER}"
links="${PIP_FIND_LINKS:-$(python3 -m pip config get global.find-links 2>/dev/null || true)}"
python3 "$(dirname "$0")/launch.py" dev uv venv --quiet "$folder"
add() { python3 "$(dirname "$0")/launch.py" dev uv pip install --quiet --python "$folder/bin/python" "$@"; }
# shellcheck disable=SC2086
add ${links:+--find-links "$links"} --no-deps torch==2.13.0 torchvision==0.28.0 timm==0.6.13 image-reward==1.5
add transformers==4.40.2 setuptools numpy pillow sympy networkx jinja2 fsspec typing_extensions filelock
add --no-deps --no-build-isolation fairscale==0.4.13
