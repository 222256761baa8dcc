"""Golden files: what the project says today, frozen, so that a change that should change nothing can prove it.

`python -m tests.golden --write` writes the files anew; `python -m tests.golden` only compares. See README.md.
"""
