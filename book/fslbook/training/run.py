"""Train the learners of the book on base classes: one loop, one recipe per learner.

A recipe names the network and the learner, and whether a batch is images of all base classes, views
of images without labels, or few-shot tasks. After each epoch the learner is tested on tasks of
validation classes; the weights of the best epoch are kept. A stopped run resumes from its last
epoch, to the same weights."""

from __future__ import annotations

import io
import json
import re
import shlex
import zipfile
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F
from tqdm import tqdm

from fslcore import datasets, learners
from fslcore.catalogue import reads_images, registered_learners
from fslcore.datasets.bank import Bank
from fslcore.errors import InputError, choice, flag, instance, number, reason, shown, warn, whole
from fslcore.evaluation import evaluate
from fslcore.learners.common import class_means
from fslcore.models import backbones
from fslcore.models.backbone import Backbone
from fslcore.models.registry import shipped
from fslcore.models.weights import recipe_of
from fslcore.paths import BUILD, check_output, note_replacement, replace_file
from fslcore.tasks import sample_closed

from ..learners import Interventional
from ..learners.maml import with_task_norm
from . import pixels
from .augment import AUGMENTATIONS, window
from .papers import of_paper
from .recipes import RECIPES, WAYS, Recipe, file_name, split_classes
from .schedule import OPTIMISERS, SCHEDULES
from .unlabelled import OBJECTIVES, two_views

__all__ = ["train"]

EPOCHS = 10**6  # the maximum: a larger number is a typing error
VALIDATION = {"features": 1000, "images": 150}  # tasks after each epoch, by what the learner reads


def train(
    name: str,
    output: str | Path | None = None,
    *,
    paper: str | None = None,
    seed: int = 0,
    progress: bool = True,
    **changes,
) -> Path:
    """Train by a recipe and write the checkpoint, with its training curve beside it (.csv).

    A folder of class folders has no splits: some of its classes are for training and the others for
    validation (see `split_classes`), which is reported with ``progress``.

    Some recipes depend on another network: ``frozen`` or ``teacher``. The default was trained on
    the recipe's own data, so for other data it must be given among the changes.

    Parameters
    ----------
    name : str
        A name of `RECIPES`.
    output : path, optional
        A path with the suffix .safetensors. Default: ``_build/NETWORK-NAME.safetensors``, or
        ``NETWORK-1shot-NAME`` for another number of shots than 5; use it as ``NETWORK-NAME:PATH``.
    paper : str, optional
        'evaluators' or 'fewstab': train as that paper does on the data set
        (`fslbook.training.papers`), which must be among the changes. The default output then names
        both.
    seed : int
        The same seed and machine give the same weights.
    progress : bool
        Report the other network that the recipe depends on and the result of each epoch, with a bar
        if one takes longer than five seconds.
    **changes
        Fields of `Recipe` that differ, such as ``epochs``; ``NAME.KEY`` is one key of a field that
        has several, such as ``architecture.side``.

    Returns
    -------
    Path
        The checkpoint, in safetensors format: the network, the learner's own weights, and as
        metadata the recipe, digests of the images for training and selection, and the digest of a
        frozen network or teacher that did not ship.

    Raises
    ------
    InputError
        Unknown name, network or data set; epochs or shots below 1, too many epochs, a seed below 0;
        an output with another suffix or that cannot be written to; shots of a learner that is
        trained on batches of images; another network than that of the frozen backbone; other data
        than the recipe's, without the frozen network or teacher for them; one of these for a recipe
        without it; an auxiliary loss for a learner that reads images; too few or too small classes
        for training and validation. All errors are raised before the work.
    """
    changes = {field: value for field, value in changes.items() if value is not None}
    recipe, notes = _recipe(name, paper, changes)
    seed = whole("seed", seed, 0, 2**53)
    path = check_output(output or _default_path(name, recipe, paper), [".safetensors"])
    check_output(path.with_suffix(".csv"))
    note_replacement(path)
    if progress and paper:
        unverified = "; ".join(notes["unverified"]) or "nothing"
        tqdm.write(f"{path.stem}: as {paper} has it ({'; '.join(notes['source'])})")
        tqdm.write(f"{path.stem}: not verified, or other here: {unverified}")
    run = _Run(path.stem, recipe, seed, progress)
    state = path.with_name(f".{path.stem}.training")
    run.resume(state)
    while run.epoch < recipe.epochs and not run.stalled:
        run.train_epoch(progress)
        run.save(state)
    run.write(path)
    state.unlink(missing_ok=True)  # a second process may have trained the same weights
    return path


def _recipe(name: str, paper: str | None, changes: dict) -> tuple[Recipe, dict]:
    """The recipe with its changes, if it can be trained, and the notes on what the paper says."""
    usual, notes = RECIPES[choice("learner", name, RECIPES)], {}
    if paper is not None:
        dataset = changes.get("dataset", usual.dataset)
        settings, notes = of_paper(paper, name, dataset, changes.get("shots", 5))
        usual = replace(usual, **settings)
    return _checked(name, usual, changes, paper), notes


def _default_path(name: str, recipe: Recipe, paper: str | None) -> Path:
    suffix = f"-{paper}-{re.split('[:?]', recipe.dataset)[0]}" if paper else ""
    return BUILD / f"{file_name(name, recipe)}{suffix}.safetensors"


def _whole_fields(recipe: Recipe, changes: dict) -> dict:
    """The changes as values of whole fields; some name one key of a field."""
    names = [field.name for field in fields(Recipe)]
    values: dict = {}
    for setting, value in changes.items():
        name, dot, key = setting.partition(".")
        usual = getattr(recipe, choice("field of a recipe", name, names))
        has_keys = isinstance(usual, dict)
        if (dot and not has_keys) or (has_keys and not dot and not isinstance(value, dict)):
            raise InputError(
                f"a setting must be a field, architecture.KEY or options.KEY, got {setting} = "
                f"{shown(value)}"
            )
        values[name] = {**values.get(name, usual), key: value} if dot else value
        if isinstance(usual, (str, tuple)):
            instance(name, value, str if isinstance(usual, str) else (list, tuple))
    return values


def _checked(name: str, usual: Recipe, changes: dict, paper: str | None) -> Recipe:
    """The default recipe of this name with its changes, if it can be trained."""
    changes = _whole_fields(usual, changes)
    recipe = _as_frozen(replace(usual, **changes), changes)
    for field in ("learner", "batch"):
        choice(f"{field} of {name}", getattr(recipe, field), [getattr(usual, field)])
    _check_values(recipe)
    if recipe.batch == "views":
        choice("objective", recipe.objective, OBJECTIVES)
    datasets.check_name(recipe.dataset, "base")
    if recipe.batch != "tasks" and "shots" in changes:
        raise InputError(
            f"shots must be left out for {name}, which is trained on batches of images, got "
            f"{recipe.shots}"
        )
    if recipe.auxiliary and reads_images(recipe.learner):
        raise InputError(
            f"auxiliary must be 0 for {recipe.learner}, which reads images, got {recipe.auxiliary}"
        )
    for field in ("frozen", "teacher"):
        if changes.get(field) and not getattr(usual, field):
            raise InputError(f"{field} must be left out for {name}, got {changes[field]}")
    for field in ("frozen", "teacher"):
        if field not in changes:
            _check_usual(name, field, getattr(usual, field), recipe.dataset, paper)
        elif changes[field] and field == "teacher":
            backbones.load(changes[field])
    if _interventional(recipe) and not recipe.frozen:
        raise InputError(
            f"frozen = {recipe.frozen!r}; {recipe.learner} needs a backbone whose classes it "
            "adjusts for"
        )
    return recipe


# The minimum of integer fields.
MINIMUM = dict(steps=0, size=1, ways=2, shots=1, queries=1, patience=0, validation=0)


def _check_values(recipe: Recipe) -> None:
    """Raise `InputError` if a field of a recipe has an invalid value."""
    whole("epochs", recipe.epochs, 1, EPOCHS)
    for name, minimum in MINIMUM.items():
        whole(name, getattr(recipe, name), minimum)
    for name in ("lr", "temperature", "factor"):
        number(name, getattr(recipe, name), over=0)
    for name in ("weight_decay", "auxiliary"):
        number(name, getattr(recipe, name), minimum=0)
    number("taught", recipe.taught, minimum=0, maximum=1)
    choice("optimiser", recipe.optimiser, OPTIMISERS)
    choice("schedule", recipe.schedule, SCHEDULES)
    flag("jitter", recipe.jitter)
    side = recipe.built.side
    for augmentation in recipe.augmentation:
        choice("augmentation", augmentation, AUGMENTATIONS)
    for epoch in recipe.milestones:
        whole("milestones", epoch, 1)
    if recipe.read_at is not None:
        whole("read_at", recipe.read_at, side)
    for value in recipe.mean:
        number("mean", value)
    for value in recipe.std:
        number("std", value, over=0)
    for name in ("mean", "std"):
        values = list(getattr(recipe, name))
        if len(values) != 3:
            raise InputError(f"{name} must have a number for each of the 3 channels, got {values}")


def _as_frozen(recipe: Recipe, changes: dict) -> Recipe:
    """The recipe with the network and the preprocessing of a given frozen backbone, unless these
    were given."""
    if not changes.get("frozen"):
        return recipe
    backbones.load(changes["frozen"])  # before images are read
    original = recipe_of(changes["frozen"])
    names = ["read_at", "mean", "std"]
    if "network" not in changes:
        names += ["network", "architecture"]
    preset = {name: original[name] for name in names if name in original and name not in changes}
    return replace(recipe, **preset)


def _check_usual(name, field, usual, dataset, paper):
    """Raise `InputError` if a recipe depends on a network that was trained on other data than
    these."""
    usual_dataset = RECIPES[name].dataset
    if not usual or (not paper and re.split("[?/]", dataset)[0] == usual_dataset):
        return
    start, option = f"{field}: {name} rests on another network", f"--{field} {usual}"
    quoted = shlex.quote(dataset)
    if paper:
        command = f"fslbook train {usual.partition('-')[2]} --paper {paper} --dataset {quoted}"
        raise InputError(f"{start}; give {option}:FILE (as {command} writes it)")
    raise InputError(
        f"{start}, and its usual one, {usual}, was trained on {usual_dataset}, not on {dataset}; "
        f"give {option}:FILE (as fslbook train baseline --dataset {quoted} writes it), or "
        f"{option} for the usual one"
    )


class _Run:
    """Network, learner, head and optimiser between two epochs."""

    def __init__(self, name: str, recipe: Recipe, seed: int, progress: bool = False):
        self.name, self.recipe, self.seed, self.epoch = name, recipe, seed, 0
        self.settings = json.dumps({"recipe": recipe.plain(), "seed": seed}, sort_keys=True)
        self.where = backbones.device()
        self._read(recipe, progress)
        self._check_tasks(recipe)
        torch.manual_seed(seed)
        try:
            self._build(recipe)
        except TypeError as error:
            raise InputError(
                f"options = {recipe.options}; {recipe.learner} does not take them ({reason(error)})"
            ) from None
        # If there are fewer images than a batch holds, some occur twice in it.
        self.steps = recipe.steps or max(1, len(self.labels) // recipe.size)
        rates = dict(lr=recipe.lr, weight_decay=recipe.weight_decay)
        self.optimiser = OPTIMISERS[recipe.optimiser](self.parts.parameters(), **rates)
        self.schedule = SCHEDULES[recipe.schedule](
            self.optimiser, recipe, recipe.epochs * self.steps
        )
        self.curve: list[dict] = []  # epoch, loss, validation accuracy in percent
        self.kept: dict[str, torch.Tensor] = {}  # `_tensors` of the best epoch

    def _read(self, recipe, progress):
        """The images for training and selection, and their outputs from other networks."""
        base = datasets.load(recipe.dataset, split="base")
        if recipe.dataset.startswith("folder:"):  # without splits and without a size of its own
            side = recipe.read_at or recipe.built.side
            read = base.squeezed_to(side) if recipe.read_at else base.at_size(side)
            base, validation = split_classes(read, recipe.ways)
            if progress:
                splits = "; ".join(
                    f"{len(part.class_names)} classes {purpose} ({', '.join(part.class_names)})"
                    for part, purpose in ((base, "train"), (validation, "validate"))
                )
                remainder = "none is left to test on: evaluate on classes of another folder"
                tqdm.write(
                    f"{recipe.dataset}: read at {side} × {side} pixels; {splits}; {remainder}"
                )
        else:
            validation = datasets.load(recipe.dataset, split="validation")
            if recipe.read_at and base.squeezed_to:
                base, validation = (
                    images.squeezed_to(recipe.read_at) for images in (base, validation)
                )
        self.data = {"base": base.digest, "validation": validation.digest}
        self.labels, self.classes = base.labels, len(base.class_names)
        self.validation = pixels.ready(validation, progress)
        if not recipe.frozen:  # only its features are read
            self.images = pixels.ready(base, progress).images
            if not isinstance(self.images, np.memmap):
                self.images = torch.from_numpy(self.images).to(self.where)
        self.frozen, self.answers = None, None
        if recipe.frozen:
            self.frozen = self._other(
                "frozen", "its network is that of {}, and stays as it is", progress
            )
            banks = (
                backbones.features(images, self.frozen).to(self.where)
                for images in (base, self.validation)
            )
            self.features, self.validation_bank = banks
        if recipe.teacher:
            teacher = self._other("teacher", "it also learns the answers of {}", progress)
            bank = backbones.features(base, teacher).to(self.where)
            self.answers = _logits_of_all(bank, self.classes, self.seed)

    def _other(self, field, role, progress):
        """Another network that the recipe depends on; the digest of one that did not ship goes into
        the metadata."""
        name = getattr(self.recipe, field)
        backbone = backbones.load(name)
        if not shipped(name):
            self.data[field] = backbone.weights
        if progress:
            trained_on = f" (trained on {backbone.base})" if backbone.base else ""
            tqdm.write(f"{self.name}: {role.format(name)}{trained_on}")
        return backbone

    def _check_tasks(self, recipe):
        """Raise `InputError` if the data allow no tasks for training or validation."""
        parts = [("validate", self.validation.labels, dict(shots=recipe.shots, queries=15))]
        if recipe.batch == "tasks":
            parts.append(
                (
                    "train",
                    self.labels,
                    dict(ways=recipe.ways, shots=recipe.shots, queries=recipe.queries),
                )
            )
        for purpose, labels, shape in parts:
            try:
                sample_closed(labels, tasks=2, skip_small_classes=True, **shape)
            except InputError as error:
                raise InputError(
                    f"dataset = {recipe.dataset}; its classes do not do to {purpose} on ({error})"
                ) from None

    def _build(self, recipe):
        """Network, learner and head, in their initial state."""
        kind = recipe.built
        network = kind.build()
        if self.frozen:
            try:
                network.load_state_dict(self.frozen.module.state_dict())
            except RuntimeError:
                raise InputError(
                    f"network must be that of {recipe.frozen}, which stays frozen, got "
                    f"{recipe.network}"
                ) from None
        on_images = reads_images(recipe.learner)
        self.network = (with_task_norm(network) if on_images else network).to(
            self.where, memory_format=torch.channels_last
        )
        self.backbone = Backbone(
            self.name,
            "",
            "",
            kind.dim,
            self.network,
            recipe.mean,
            recipe.std,
            kind.side,
            "bilinear",
            "",
            map=kind.map,
            read_at=recipe.read_at,
        )
        changes = dict(
            mean=(0.5,) * 3, std=(0.5,) * 3, resolution=recipe.read_at or kind.side, read_at=None
        )
        # The input of augmentations: the whole images, in -1 … 1.
        self.shown = replace(self.backbone, **changes)
        if on_images:
            constructor = learners.learner_class(recipe.learner)
            self.learner = constructor(
                **recipe.options,
                **({"dim": kind.dim, "ways": recipe.ways} if constructor.needs_dim else {}),
            )
        else:
            options = {} if recipe.objective else recipe.options
            self.learner = learners.make(recipe.learner, self.backbone, **options)
        if _interventional(recipe):
            head = _head_of_all(self.features, self.classes, self.seed)
            self.learner.set_base_classes(head, _class_means(self.features, self.classes))
        # The trained parts of the learner besides the network: itself, or its head.
        self.own = self.learner.trained and self.learner.trained.to(self.where)
        self.head = None
        if recipe.batch == "classes":
            self.head = nn.Linear(
                self.backbone.dim, self.classes, bias=recipe.learner != "cosine"
            ).to(self.where)
        elif recipe.auxiliary:
            width = self.backbone.map[0] if self.learner.needs_feature_map else self.backbone.dim
            self.head = nn.Linear(width, self.classes).to(self.where)
        self.objective = None
        if recipe.batch == "views":
            constructor = OBJECTIVES[recipe.objective]
            self.objective = constructor(self.network, kind.dim, **recipe.options).to(self.where)
        self.parts = nn.ModuleList(
            [m for m in (self.network, self.head, self.own, self.objective) if m]
        )

    @property
    def stalled(self) -> bool:
        """Whether the validation accuracy has not improved for as many epochs as the recipe's
        patience."""
        accuracies = [row["validation"] for row in self.curve]
        if not accuracies or not self.recipe.patience:
            return False
        return len(accuracies) - accuracies.index(max(accuracies)) > self.recipe.patience

    def train_epoch(self, progress: bool) -> None:
        """One epoch and its test on validation tasks; all randomness depends only on seed and
        epoch."""
        torch.manual_seed(1000 * self.seed + self.epoch)
        self.parts.train()
        total = 0.0
        batches = {
            "classes": self._class_batches,
            "tasks": self._task_batches,
            "views": self._view_batches,
        }
        bar = tqdm(
            batches[self.recipe.batch](),
            desc=f"{self.name} {self.epoch + 1}/{self.recipe.epochs}",
            total=self.steps,
            delay=5,
            disable=not progress,
        )
        for loss in bar:
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
            self.schedule.step()
            total += loss.item()
        accuracy = self._validate()
        self.epoch += 1
        if 100 * accuracy > max((row["validation"] for row in self.curve), default=-1):
            self.kept = {k: v.detach().cpu().clone() for k, v in self._tensors().items()}
        self.curve.append(
            {"epoch": self.epoch, "loss": total / self.steps, "validation": 100 * accuracy}
        )
        if progress:
            tqdm.write(
                f"{self.name} epoch {self.epoch}: loss {total / self.steps:.3f}, validation "
                f"{100 * accuracy:.2f} %"
            )

    def _rows(self):
        """Rows of images, batch after batch, each once before any is repeated."""
        order = np.random.default_rng([self.seed, self.epoch]).permutation(len(self.labels))
        for rows in np.resize(order, (self.steps, self.recipe.size)):
            yield torch.from_numpy(rows).to(self.where)

    def _view_batches(self):
        for rows in self._rows():
            views = self._normalised(two_views(self._seen(rows)))
            yield self.objective(self.network, views.contiguous(memory_format=torch.channels_last))
            self.objective.follow(self.network)  # the optimiser has stepped

    def _class_batches(self):
        labels = torch.from_numpy(self.labels).to(self.where)
        for rows in self._rows():
            x = self.network(self._prepared(rows))
            if self.recipe.learner == "cosine":
                x, weight = (F.normalize(v, dim=1) for v in (x, self.head.weight))
                logits = self.learner.scale * x @ weight.T
            else:
                logits = self.head(x)
            loss = F.cross_entropy(logits, labels[rows])
            if self.answers is not None:
                divergence = _divergence(logits, self.answers[rows], self.recipe.temperature)
                loss = (1 - self.recipe.taught) * loss + self.recipe.taught * divergence
            yield loss

    def _task_batches(self) -> Iterator[torch.Tensor]:
        r = self.recipe
        tasks = sample_closed(
            self.labels,
            tasks=max(2, self.steps * r.size),
            ways=r.ways,
            shots=r.shots,
            queries=r.queries,
            seed=1 + self.seed * r.epochs + self.epoch,
            skip_small_classes=True,
        )
        support_label = torch.from_numpy(tasks.support_label[0].copy())
        members = F.one_hot(support_label, r.ways).float().to(self.where).expand(r.size, -1, -1)
        target = torch.from_numpy(tasks.query_label[0].copy()).to(self.where).expand(r.size, -1)
        for at in range(0, self.steps * r.size, r.size):
            support, query = tasks.support[at : at + r.size], tasks.query[at : at + r.size]
            scores, embedded = self._scores(support, members, query)
            loss = self.learner.loss(scores, target)
            if r.auxiliary:
                loss = loss + r.auxiliary * self._auxiliary(embedded, query)
            yield loss

    def _scores(
        self, support: np.ndarray, members: torch.Tensor, query: np.ndarray
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The learner's scores on the images of tasks, and what it reads of their queries."""
        rows = [torch.from_numpy(i.astype(np.int64)).to(self.where) for i in (support, query)]
        if self.frozen:
            x, z = (self.features.data[i] for i in rows)
            return self.learner(x, members, z), z
        x, z = (self._prepared(i.flatten()).unflatten(0, (len(i), -1)) for i in rows)
        if self.recipe.auxiliary:
            x, z = self.learner.embed_images(self.network, x, z)
            return self.learner(x, members, z), z
        return self.learner.on_images(self.network, x, members, z), z

    def _auxiliary(self, embedded: torch.Tensor, query: np.ndarray) -> torch.Tensor:
        """Cross-entropy over all base classes of embedded queries (T, q, ...), the images ``query``
        (T, q)."""
        logits = self.head(self.learner.descriptors(embedded))  # (T, q, V, classes)
        labels = torch.from_numpy(self.labels[query]).to(self.where)
        target = labels[..., None].expand(logits.shape[:-1])
        return F.cross_entropy(logits.flatten(0, -2), target.flatten())

    def _prepared(self, rows):
        x = self._seen(rows)
        for name in [*(["jitter"] if self.recipe.jitter else []), *self.recipe.augmentation]:
            x = AUGMENTATIONS[name](x)
        return self._normalised(x).contiguous(memory_format=torch.channels_last)

    def _seen(self, rows):
        """The training input of these images, (B, 3, side, side) in -1 … 1, as augmentations take
        it."""
        if isinstance(self.images, np.memmap):
            images = torch.from_numpy(self.images[rows.cpu().numpy()]).to(self.where)
        else:
            images = self.images[rows]
        x = self.shown.preprocess(images)
        return window(x, self.backbone.resolution) if self.recipe.read_at else x

    def _normalised(self, x):
        """Images in -1 … 1 by the recipe's statistics."""
        if {*self.recipe.mean, *self.recipe.std} == {0.5}:
            return x
        mean, std = (
            torch.tensor(v, device=x.device).view(3, 1, 1)
            for v in (self.recipe.mean, self.recipe.std)
        )
        return ((x + 1) / 2 - mean) / std

    def _validate(self):
        """Mean accuracy on 5-way tasks of validation classes, the same in every epoch, with the
        shots of training."""
        self.parts.eval()
        images = self.validation
        tasks = sample_closed(
            images.labels,
            tasks=self.recipe.validation or VALIDATION[self.learner.reads],
            ways=WAYS,
            shots=self.recipe.shots,
            queries=15,
            seed=0,
            skip_small_classes=True,
        )
        if isinstance(images.images, np.memmap) and not self.frozen:
            images, tasks = pixels.only(images, tasks)
        if self.learner.reads == "images":
            self.learner.backbone, self.learner.network = self.backbone, self.network
            bank = Bank(torch.from_numpy(images.images[:]).to(self.where), images.labels, "")
        elif self.frozen:
            bank = self.validation_bank
        else:
            bank = Bank(
                backbones.compute(images, self.backbone).float().to(self.where), images.labels, ""
            )
        return float(evaluate(self.learner, bank, tasks).accuracy().mean())

    def _tensors(self):
        """The content of the checkpoint."""
        learner_state = self.own.state_dict() if self.own else {}
        parts = {"network": self.network.state_dict(), "head": learner_state}
        return {
            f"{part}.{name}": w.detach().cpu().contiguous()
            for part, weights in parts.items()
            for name, w in weights.items()
        }

    def write(self, path: Path) -> None:
        """Write the checkpoint and, beside it, the training curve."""
        curve = pd.DataFrame(self.curve)
        replace_file(path.with_suffix(".csv"), partial(curve.to_csv, index=False))
        # One key: the format does not preserve the order of several, and equal trainings must give
        # equal files.
        settings = json.dumps(json.loads(self.settings) | {"data": self.data}, sort_keys=True)
        replace_file(path, partial(save_file, self.kept, metadata={"training": settings}))

    def save(self, path: Path) -> None:
        """Write everything that the next epoch depends on."""
        state = {
            "settings": self.settings,
            "data": self.data,
            "epoch": self.epoch,
            "curve": self.curve,
            "kept": self.kept,
            "parts": self.parts.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "schedule": self.schedule.state_dict(),
        }
        buffer = io.BytesIO()  # written by Python, which raises the system's own errors
        torch.save(state, buffer)
        replace_file(path, lambda part: part.write_bytes(buffer.getbuffer()))

    def resume(self, path: Path) -> None:
        """Resume from the file of `save`, if it exists, is complete, and has the same settings and
        data."""
        if not path.is_file():
            return
        try:
            # torch.load reads weights with a wrong check sum without an error.
            with zipfile.ZipFile(path) as file:
                if damaged := file.testzip():
                    raise zipfile.BadZipFile(f"bad check sum of {damaged}")
            state = torch.load(path, map_location=self.where, weights_only=True)
            unchanged = state["settings"] == self.settings and state.get("data") == self.data
        except Exception as error:  # of any kind: a text is read as the commands of a pickle
            warn(f"{path} is damaged ({type(error).__name__}); training starts from the beginning")
            return
        if not unchanged:
            return
        self.epoch, self.curve, self.kept = state["epoch"], state["curve"], state["kept"]
        for part in ("parts", "optimiser", "schedule"):
            getattr(self, part).load_state_dict(state[part])


def _interventional(recipe):
    """Whether the learner adjusts for the base classes of a frozen network."""
    return recipe.learner in registered_learners and issubclass(
        learners.learner_class(recipe.learner), Interventional
    )


def _class_means(bank, classes):
    """(classes, D) means of the unit features of each class."""
    unit = F.normalize(bank.data, dim=1)
    members = F.one_hot(torch.from_numpy(bank.labels).to(unit.device), classes).to(unit.dtype)
    return class_means(unit[None], members[None])[0]


def _logits_of_all(bank, classes, seed):
    """(N, classes) logits of `_head_of_all` for the features it was fitted to."""
    head = _head_of_all(bank, classes, seed)
    with torch.no_grad():
        return head(bank.data)


def _head_of_all(bank, classes, seed):
    """A linear head fitted to (N, D) features of known classes, in five epochs."""
    torch.manual_seed(seed)
    x, y = bank.data, torch.from_numpy(bank.labels).to(bank.data.device)
    head = nn.Linear(x.shape[1], classes).to(x.device)
    optimiser = torch.optim.AdamW(head.parameters(), lr=0.01)
    for _ in range(5):
        for rows in torch.randperm(len(x)).to(x.device).split(256):
            optimiser.zero_grad()
            F.cross_entropy(head(x[rows]), y[rows]).backward()
            optimiser.step()
    return head


def _divergence(logits, answers, temperature):
    """Kullback-Leibler divergence of softened (B, classes) logits from the teacher's (Hinton et
    al., 2015)."""
    ours, theirs = (F.log_softmax(v / temperature, dim=1) for v in (logits, answers))
    return temperature**2 * F.kl_div(ours, theirs, reduction="batchmean", log_target=True)
