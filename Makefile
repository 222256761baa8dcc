# Two commands matter: `make demo` and `make test`. Both set up all they need.
PYTHON ?= python3
RUN = $(PYTHON) scripts/launch.py
UNIT = tests/test_package_imports.py tests/test_public.py tests/testing tests/core tests/parsing tests/files tests/stats tests/analysis \
  tests/judges --ignore=tests/judges/scorers

COVERED = tests/core tests/parsing tests/stats tests/analysis src/fullbench/core src/fullbench/parsing src/fullbench/stats \
  src/fullbench/analysis

.PHONY: demo docs unit coverage versions test test-slow bench bench-check check lock sbom help

help:
	@echo "make demo       judge models on pictures with known truth, and open the report"
	@echo "make docs       the site of the docs, in build/site; no network is needed once the extra docs is installed"
	@echo "make unit       the fast tests: core, parsing, files, stats, analysis, judges (under 90 seconds)"
	@echo "make coverage   the fast tests once more, with the share of lines that they run; fails below what pyproject.toml says"
	@echo "make versions   types for Python 3.11, 3.12 and 3.13, without running anything"
	@echo "make test       style, types, layers and all tests (under 15 minutes on two idle cores)"
	@echo "make test-slow  proofs that take minutes (many kills, many seeds)"
	@echo "make bench      speed, as ratios against peers measured in the same run; kept in bench/history"
	@echo "make bench-check  the same; exit code 1 where a figure is worse than in earlier runs"
	@echo "make check      style, types and layers only"
	@echo "make lock       pin the newest versions in requirements.lock, with hashes"
	@echo "make sbom       write dist/sbom.cdx.json (CycloneDX) and docs/reference/licences.md from the lock"

demo:
	@FULLBENCH_COMMAND=.venv/bin/fullbench $(RUN) charts fullbench demo

docs:
	@$(RUN) docs python -m scripts.docs
	@NO_MKDOCS_2_WARNING=1 $(RUN) docs mkdocs build --strict -q
	@echo "The site: build/site/index.html (it opens from disk, with search)"

check:
	@$(RUN) dev sh scripts/check.sh

unit:
	@$(RUN) dev python -m pytest -p tests.support.parallel --workers 2 -m "not slow" $(UNIT)

coverage:
	@$(RUN) dev coverage run -m pytest -q -m "not slow" $(COVERED)
	@$(RUN) dev coverage report

versions:
	@for version in 3.11 3.12 3.13; do \
	  echo "Python $$version"; $(RUN) dev mypy --python-version $$version || exit 1; \
	done

test: check
	@$(RUN) dev sh scripts/browser.sh
	@$(RUN) dev sh scripts/localmodel.sh
	@$(RUN) dev sh scripts/localray.sh
	@$(RUN) dev sh scripts/test.sh

test-slow:
	@$(RUN) dev sh scripts/browser.sh
	@$(RUN) dev sh scripts/localmodel.sh
	@$(RUN) dev sh scripts/localtorch.sh
	@$(RUN) dev sh scripts/localray.sh
	@$(RUN) dev sh scripts/test.sh -m slow --timeout 3600 --workers 2

bench:
	@$(RUN) dev python -m scripts.bench

bench-check:
	@$(RUN) dev python -m scripts.bench --check

# uv.txt, build.txt and the locks in scripts were made by the same command from the names that they pin.
lock:
	@$(RUN) '' uv pip compile pyproject.toml --extra dev --extra docs --extra inspect --universal --python-version 3.11 --no-header --no-annotate --generate-hashes -o requirements.lock

sbom:
	@$(RUN) dev python -m scripts.sbom
