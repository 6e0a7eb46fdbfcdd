# Two commands: `make book` builds the site, `make test` runs the tests. Every target installs what it needs before its work,
# or says in one line what is missing (tests/repo/test_makefile.py).
PYTHON ?= python3
PROFILE ?= profiles/quick.yml
PAPERS := oops evaluators fewstab oops-fetchable evaluators-fetchable fewstab-fetchable
REHEARSED := $(filter-out %-fetchable,$(PAPERS))
BROWSERS := chromium chromium-browser google-chrome chrome
BIN := .venv/bin
ONE_THREAD := OMP_NUM_THREADS=1 MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=4294967296
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: book jupyter lint check paper pdf test test-all cluster-test rerun rehearsal bench measure mutants captions clean

# $(call need,TARGET,COMMAND,WORDS): if the command fails, the target ends with these words before anything is installed.
GOALS := $(or $(MAKECMDGOALS),book)
need = $(if $(filter $(1),$(GOALS)),$(if $(shell $(2) >/dev/null 2>&1 && echo yes),,$(error make $(1): $(3))))
$(call need,book,test -f '$(PROFILE)',PROFILE = $(PROFILE); there is no such file of parameters)
$(call need,paper,test '$(words $(PAPER))$(filter-out $(PAPERS),$(PAPER))' = 1,PAPER must be one of $(PAPERS); got $(PAPER))
$(call need,rehearsal,test -z '$(filter-out $(REHEARSED),$(PAPER))',PAPER must be one of $(REHEARSED); got $(PAPER))
$(call need,check,git rev-parse --git-dir,no Git or no clone; make test works without them)
$(call need,pdf,for name in $(if $(CHROMIUM),'$(CHROMIUM)',$(BROWSERS)); do command -v "$$name" && exit; done; exit 1,no program $(or $(CHROMIUM),$(BROWSERS)); CHROMIUM may name one)
$(call need,pdf,test -f _build/html/index.html -o '$(filter book,$(GOALS))',there is no site to print; make book builds it)

book: .venv/ready
	@test -f _build/html/index.html || rm -f _build/site.done
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(ONE_THREAD) python book/fork_server.py snakemake --cores all --resources estimators=1 bias=1 targets=1 --nolock --rerun-incomplete --keep-going --quiet rules --config profile=$(PROFILE)
	@echo "The book is at $(CURDIR)/_build/html/index.html"

# JupyterLab on the executed chapters, without solutions (book/jupyter.md); notebooks that exist there are kept.
jupyter: .venv/ready .venv/lab
	$(BIN)/fslbook jupyter
	$(BIN)/jupyter lab _build/jupyter

# A paper's own tables on its own data: PAPER=oops (or evaluators, or fewstab) fetches them (ACCEPT=yes accepts the terms that are
# printed), says what the run asks for, trains and captions where the paper does, and builds the chapters of profiles/oops.yml.
# Wants a GPU and a network; stopped, it goes on from where it was. PAPER=oops-fetchable and the like take what nobody has to bring.
CAPTIONED_fewstab := miniimagenet tieredimagenet 'cub?splits=fewstab'
CAPTIONED_fewstab-fetchable := 'cub?splits=meta-dataset'
TRAINED_evaluators-fetchable := cifar-fs 'meta-album?test_set=0' 'meta-album?test_set=1' 'meta-album?test_set=2'
TRAINED_fewstab-fetchable := 'cub?splits=meta-dataset'
paper: .venv/ready $(if $(CAPTIONED_$(PAPER)),.venv/captions)
	$(BIN)/fslcore fetch $(PAPER) --complete $(if $(ACCEPT),--accept-terms)
	$(BIN)/fslbook plan profiles/$(PAPER).yml
	$(if $(filter evaluators fewstab,$(PAPER)),$(BIN)/fslbook train --paper $(PAPER))
	$(if $(TRAINED_$(PAPER)),for on in $(TRAINED_$(PAPER)); do $(BIN)/fslbook train --paper $(PAPER:%-fetchable=%) --dataset "$$on" || exit 1; done)
	$(if $(CAPTIONED_$(PAPER)),for by in vit-gpt2 blip-large; do $(BIN)/fslbook caption $(CAPTIONED_$(PAPER)) --captioner $$by --size 384 || exit 1; done)
	$(MAKE) book PROFILE=profiles/$(PAPER).yml

# The built site as one PDF; wants Chromium.
pdf: .venv/ready
	$(BIN)/python book/pdf.py

# Layout, likely bugs, contracts, types, spelling, schemas, prose: what needs no test. A finding is a line with file and line.
lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYTHONPATH=book $(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/mypy
	$(BIN)/codespell
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/python -m tests.lint

# Linters, then the tests but those marked slow, which take more than two seconds of processor each or open a browser: where
# another takes as long, it is named at the end. test-all runs every one.
PYTEST := $(ONE_THREAD) OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest -n 2 --dist worksteal
test: .venv/ready lint
	$(PYTEST) -m 'not slow' --durations=10 --durations-min=2

test-all: .venv/ready lint
	$(PYTEST)

# For everyday work, in less than a minute: the linters on what is in Git, and the quickest tests.
check: .venv/ready
	$(BIN)/pre-commit run --all-files

# A small Slurm on this machine, a part of the book on it, and the same results; skipped where Slurm cannot be installed.
cluster-test: .venv/ready
	$(BIN)/python tests/cluster/run.py

# Each chapter with other parameters, and a search of what it then says; PART=2/4 is the second quarter of these runs.
rerun: .venv/ready
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/python tests/rerun/rerun.py --part $(or $(PART),1/1) --jobs $(or $(JOBS),2)

# A paper's run from nothing, on miniatures that a server on this machine has: from fetch to pack, with builds that are killed (tests/rehearsal).
rehearsal: .venv/ready .venv/captions
	$(BIN)/python tests/rehearsal/rehearse.py $(PAPER)

bench: .venv/ready
	$(BIN)/python benchmarks/bench.py

# How large and how readable the code is, package by package; nothing fails by it.
measure: .venv/ready
	$(BIN)/python benchmarks/measure.py

# Single faults, and the share that the tests see: seconds each, so with a package and a sample. Not part of the tests.
mutants: .venv/ready _build/mutmut/ready
	$(BIN)/python benchmarks/mutants.py $(or $(PACKAGE),stats) --sample $(or $(SAMPLE),150) --seed $(or $(SEED),0) --jobs $(or $(JOBS),1)

# What three captioners need besides.
captions: .venv/captions

# Markers are written last, so that an interrupted installation starts again: that of .venv from an empty folder.
.venv/ready: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v <= (3, 14) else "Python must be 3.11 to 3.14, got %d.%d (make PYTHON=python3.12 …)" % v)'
	@$(PYTHON) -c 'import sys, importlib.util as u; sys.exit(None if u.find_spec("ensurepip") else "Python has no ensurepip; on Debian and Ubuntu the package python3-venv has it")'
	$(PYTHON) -m venv --clear .venv
	$(INSTALL) --progress-bar on -r requirements.txt
	$(INSTALL) --no-deps --no-build-isolation -e .
	touch $@

.venv/captions .venv/lab: .venv/%: requirements-%.txt .venv/ready
	$(INSTALL) --no-deps -r $<
	touch $@

_build/mutmut/ready: benchmarks/mutants.txt .venv/ready
	$(INSTALL) --no-deps --upgrade --target $(@D) -r $<
	touch $@

clean:
	rm -rf _build .snakemake
