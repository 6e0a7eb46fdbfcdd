"""Training on images without labels: two views of each, and the objectives.

An objective is a module: its ``forward(network, views)`` is a loss of normalised images (2B, 3, H,
W), the first views of B images and then their second views. It contains the heads that are
discarded after training and, as buffers, all its state, so that a stopped training resumes to the
same weights. After each step of the optimiser ``follow(network)`` updates the momentum copies."""

from __future__ import annotations

import itertools
from copy import deepcopy

import torch
from torch import nn
from torch.nn import functional as F

from ..learners.opta import transport

__all__ = ["BECLR", "OBJECTIVES", "PsCo", "UniSiam", "two_views"]

# Of Sinkhorn's algorithm on cosines: ε of BECLR's released code, iterations of PsCo's.
EPSILON = 0.05
ITERATIONS = 3
ROUNDS = 10  # of k-means


def two_views(images: torch.Tensor) -> torch.Tensor:
    """(2B, 3, H, W): two random views of each of (B, 3, H, W) images in -1 … 1, all first ones
    before all second ones.

    A view is rotated by up to 20°, magnified by a factor of 0.8 to 1.6 and shifted by up to a tenth
    of the side. Half of the views are recoloured: the mean colour is replaced, deviations from it
    are mixed by a random matrix, and half of these views have lost the channel of lightness before.
    All randomness is torch's."""
    x = images.repeat(2, 1, 1, 1)
    return _recoloured(_moved(x))


def _moved(x: torch.Tensor) -> torch.Tensor:
    uniform = torch.rand(len(x), 4, device=x.device) * 2 - 1
    angle, scale = uniform[:, 0] * torch.pi / 9, 0.88 * (1.42 ** uniform[:, 1])
    return warped(x, angle, scale, 0.2 * uniform[:, 2:], "reflection")


def warped(
    x: torch.Tensor, angle: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor, padding: str
) -> torch.Tensor:
    """Images (B, 3, H, W), each rotated by its angle (B,), reduced by its scale (B,), and shifted.

    Shifts (B, 2) are in halves of the side; ``padding`` fills the edges (as for ``F.grid_sample``).
    """
    cos, sin = torch.cos(angle) * scale, torch.sin(angle) * scale
    affine = torch.stack([cos, -sin, shift[:, 0], sin, cos, shift[:, 1]], dim=1).view(-1, 2, 3)
    grid = F.affine_grid(affine, list(x.shape), align_corners=False)
    return F.grid_sample(x, grid, padding_mode=padding, align_corners=False)


def _recoloured(x: torch.Tensor) -> torch.Tensor:
    mix = torch.randn(len(x), 3, 3, device=x.device)
    uniform = torch.rand(len(x), 5, device=x.device)
    changed, dropped = ((uniform[:, i] < 0.5)[:, None, None] for i in (0, 1))
    mix = torch.where(dropped, mix - mix.mean(2, keepdim=True), mix)
    mean = uniform[:, 2:, None, None] - 0.5
    mixed = torch.einsum("bij,bjhw->bihw", mix, x - x.mean((2, 3), keepdim=True)) + mean
    return torch.where(changed[..., None], mixed.clamp(-1, 1), x)


def _projector(*widths: int) -> nn.Sequential:
    """Linear layers, each with batch normalisation, and ReLU between them."""
    layers: list[nn.Module] = []
    for narrow, wide in itertools.pairwise(widths):
        layers += [nn.Linear(narrow, wide, bias=False), nn.BatchNorm1d(wide), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def _predictor(width: int, hidden: int) -> nn.Sequential:
    """From projections to projections, through a hidden layer."""
    return nn.Sequential(*_projector(width, hidden), nn.ReLU(), nn.Linear(hidden, width))


def uniformity(embedded: torch.Tensor, temperature: float) -> torch.Tensor:
    """Log of the mean of exp(cosine / τ) over ordered pairs of views (2B, D) of different images.

    The mean is inside the logarithm: one estimate of the whole batch, where InfoNCE takes a
    logarithm for each image (Lu et al., 2022)."""
    z = F.normalize(embedded, dim=1)
    others = ~torch.eye(len(z) // 2, dtype=torch.bool, device=z.device).repeat(2, 2)
    return ((z @ z.T)[others] / temperature).exp().mean().log()


class UniSiam(nn.Module):
    """Siamese network with a uniform term (Lu et al., 2022, *Self-supervision can be a good
    few-shot learner*).

    Minus the mean cosine of each view's prediction with the projection of the image's other view,
    through which no gradient flows, and ``weight`` times `uniformity` of the projections. No larger
    teacher is used.

    Parameters
    ----------
    network : nn.Module
        Images to (B, dim) features.
    dim, width : int
        Features of the network; width of the projector, whose predictor has a bottleneck of a
        quarter.
    weight, temperature : float
        λ and τ of the uniform term (released code: 0.1 and 2).
    """

    def __init__(
        self,
        network: nn.Module,
        dim: int,
        width: int = 256,
        weight: float = 0.1,
        temperature: float = 2.0,
    ):
        super().__init__()
        self.weight = weight
        self.temperature = temperature
        self.projector = _projector(dim, width, width, width)
        self.predictor = _predictor(width, width // 4)

    def forward(self, network: nn.Module, views: torch.Tensor) -> torch.Tensor:
        z = self.projector(network(views))
        others = z.detach().roll(len(z) // 2, 0)  # the other view of each image
        similarity = F.cosine_similarity(self.predictor(z), others, dim=1).mean()
        return self.weight * uniformity(z, self.temperature) - similarity

    def follow(self, network: nn.Module) -> None:
        """Nothing: no network follows another."""


class _Momentum(nn.Module):
    """An objective with a slowly updated momentum copy of network and projector."""

    def copy(self, network: nn.Module, momentum: float) -> None:
        """Begin with these weights, and follow them with this factor."""
        self.momentum = momentum
        self.slow = deepcopy(nn.Sequential(network, self.projector)).requires_grad_(False)

    @torch.no_grad()
    def slowly(self, views: torch.Tensor) -> torch.Tensor:
        """Unit projections (B, D) by the momentum copy."""
        return F.normalize(self.slow(views), dim=1)

    @torch.no_grad()
    def follow(self, network: nn.Module) -> None:
        """Update the copy after a step of the optimiser."""
        weights = (*network.parameters(), *self.projector.parameters())
        for slow, fast in zip(self.slow.parameters(), weights, strict=True):
            slow.lerp_(fast.detach(), 1 - self.momentum)


class PsCo(_Momentum):
    """Pseudo-supervised contrast (Jang et al., 2023), combined with momentum contrast (He et al.,
    2020).

    A queue contains projections of earlier images by a momentum network. Each batch is a task of B
    classes: the shots of an image's class are the members of the queue to which optimal transport
    assigns most of its second view; its first view is the query. The loss is that of supervised
    contrast of queries with all shots, plus MoCo, in which an image's second view is distinguished
    from the whole queue.

    Its features are tested by logistic regression, like those of `UniSiam`. The paper's test within
    a domain compares projections with class means; the projector is discarded here, so that one
    bank of features serves every learner.

    Parameters
    ----------
    network : nn.Module
        Images to (B, dim) features.
    dim, width, out : int
        Features of the network; hidden width of projector and predictor; length of their output.
    queue : int
        Number of stored projections (released code: 16,384, for batches of 256).
    shots : int
        K, of each pseudo-class (released code: 4).
    momentum : float
        Factor of the copy (released code: 0.99).
    temperature, shot_temperature : float
        τ of MoCo and of the pseudo-supervised contrast (released code: 0.2 and 1).
    """

    def __init__(
        self,
        network: nn.Module,
        dim: int,
        width: int = 512,
        out: int = 128,
        queue: int = 4096,
        shots: int = 4,
        momentum: float = 0.99,
        temperature: float = 0.2,
        shot_temperature: float = 1.0,
    ):
        super().__init__()
        self.shots = shots
        self.temperature = temperature
        self.shot_temperature = shot_temperature
        self.projector = _projector(dim, width, out)
        self.predictor = _predictor(out, width)
        self.copy(network, momentum)
        self.register_buffer("queue", F.normalize(torch.randn(queue, out), dim=1))

    def forward(self, network: nn.Module, views: torch.Tensor) -> torch.Tensor:
        first, second = views.chunk(2)
        query = F.normalize(self.predictor(self.projector(network(first))), dim=1)
        key, queue = self.slowly(second), self.queue
        shots = self._shots_of(key)  # (B, K, D)
        self.queue = torch.cat([key, queue])[: len(queue)]
        logits = query @ shots.flatten(0, 1).T / self.shot_temperature  # (B, B K)
        shot_logits = torch.einsum("bd,bkd->bk", query, shots) / self.shot_temperature
        pseudo = (logits.logsumexp(1) - shot_logits.mean(1)).mean()
        positive = (query * key).sum(1, keepdim=True)
        contrast = torch.cat([positive, query @ queue.T], dim=1) / self.temperature
        first_column = contrast.new_zeros(len(contrast), dtype=torch.long)
        return pseudo + F.cross_entropy(contrast, first_column)

    @torch.no_grad()
    def _shots_of(self, key: torch.Tensor) -> torch.Tensor:
        """The members of the queue to which optimal transport assigns most of each projection."""
        plan = transport(-(key @ self.queue.T), EPSILON, iterations=ITERATIONS)
        return self.queue[plan.topk(self.shots, dim=1).indices]


class BECLR(_Momentum, UniSiam):
    """Batch-enhanced contrast with a dynamic clustered memory, DyCE (Poulakakis-Daktylidis and
    Jamali-Rad, 2024).

    Like `UniSiam`, with a momentum network in place of the stopped gradient, and more positives: a
    view's prediction is attracted to the other view and to the ``neighbours`` nearest to that view
    in the memory, from one partition, that of the nearest prototype. The memory has the latest
    projections of the momentum network. When it is full for the first time, k-means partitions it;
    from then on optimal transport distributes each batch evenly over the prototypes, which are the
    means of their partitions.

    Unlike the released code: one memory, of the momentum network, not three (the neighbours of a
    student's projection come from a memory without gradients there, so that pairs of neighbours
    teach nothing); neighbours are looked up before the batch is stored, so that none is the view
    itself; a prototype is the mean itself.

    Parameters
    ----------
    network : nn.Module
        Images to (B, dim) features.
    dim, width : int
        As for `UniSiam`.
    weight, temperature : float
        As for `UniSiam`.
    momentum : float
        Factor of the copy (released code: 0.996).
    memory, prototypes : int
        Number of stored projections; number of partitions.
    neighbours : int
        k, for each view (released code: 5, for classes of 600 images; those of the glyphs have some
        50).
    start : int
        Views that are stored before neighbours are used, so that partitions are meaningful.
    """

    def __init__(
        self,
        network: nn.Module,
        dim: int,
        width: int = 256,
        weight: float = 0.1,
        temperature: float = 2.0,
        momentum: float = 0.99,
        memory: int = 8192,
        prototypes: int = 128,
        neighbours: int = 1,
        start: int = 200_000,
    ):
        super().__init__(network, dim, width, weight, temperature)
        self.neighbours = neighbours
        self.start = start
        self.copy(network, momentum)
        self.register_buffer("memory", torch.zeros(memory, width))
        self.register_buffer("partition", torch.zeros(memory, dtype=torch.long))
        self.register_buffer("prototypes", torch.zeros(prototypes, width))
        self.register_buffer("seen", torch.zeros((), dtype=torch.long))  # views that were stored

    def forward(self, network: nn.Module, views: torch.Tensor) -> torch.Tensor:
        z, slow = self.projector(network(views)), self.slowly(views)
        positives = self.enhanced(slow).roll(len(z) // 2, 0)  # those of the other view
        self.remember(slow)
        predictions = F.normalize(self.predictor(z), dim=1)
        similarity = torch.einsum("bd,bkd->bk", predictions, positives).mean()
        return self.weight * uniformity(z, self.temperature) - similarity

    @torch.no_grad()
    def enhanced(self, slow: torch.Tensor) -> torch.Tensor:
        """(2B, 1 + k, D): unit projections (2B, D), each with its neighbours, alone before
        ``start``."""
        if self.seen < max(self.start, len(self.memory)):
            return slow[:, None]
        candidates = self.partition == (slow @ self.prototypes.T).argmax(1, keepdim=True)  # (2B, M)
        few = candidates.sum(1, keepdim=True) < self.neighbours
        candidates = candidates | few  # then the whole memory is searched
        similarity = (slow @ self.memory.T).masked_fill(~candidates, -torch.inf)
        nearest = similarity.topk(self.neighbours, dim=1).indices
        return torch.cat([slow[:, None], self.memory[nearest]], dim=1)

    @torch.no_grad()
    def remember(self, slow: torch.Tensor) -> None:
        """Store unit projections (2B, D) in the memory, in place of the oldest."""
        size, full = len(self.memory), self.seen >= len(self.memory)
        self.seen = self.seen + len(slow)
        partition = transport(-(slow @ self.prototypes.T), EPSILON, iterations=ITERATIONS).argmax(1)
        self.memory = torch.cat([slow, self.memory])[:size]
        self.partition = torch.cat([partition, self.partition])[:size]
        if full:
            self.prototypes = _means(self.memory, self.partition, self.prototypes)
        elif self.seen >= size:
            self.prototypes, self.partition = _k_means(self.memory, len(self.prototypes))


def _k_means(points: torch.Tensor, clusters: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Unit means (P, D) of unit points (M, D), and the nearest mean of each (M,); starts at random
    points."""
    means = points[torch.randperm(len(points))[:clusters].to(points.device)]
    for _ in range(ROUNDS):
        means = _means(points, (points @ means.T).argmax(1), means)
    return means, (points @ means.T).argmax(1)


def _means(points: torch.Tensor, partition: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    """Unit means (P, D) of the points (M, D) in each partition; the previous mean if it is
    empty."""
    members = F.one_hot(partition, len(before)).to(points.dtype)
    means = F.normalize(members.T @ points, dim=1)
    return torch.where((members.sum(0) > 0)[:, None], means, before)


OBJECTIVES = {"unisiam": UniSiam, "psco": PsCo, "beclr": BECLR}
