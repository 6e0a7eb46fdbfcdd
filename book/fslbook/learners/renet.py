"""Relational embedding network (Kang et al., 2021)."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fslcore.learners.common import class_means

from .common import OnMaps

__all__ = ["RENet"]


class RENet(OnMaps):
    """Cosine of a query and a class, from self-correlated maps, weighted where they match.

    Self-correlation (SCR): the products of each unit descriptor with those of its 5×5 neighbours go
    through convolutions that shrink the neighbourhood to one place; the result is added to the map.
    Cross-correlation (CCA): the cosines of all places of a query with all places of a support image
    are refined by 4-D convolutions; softmaxes over the places of one image, averaged over those of
    the other, weight the places. With several shots the attended embeddings of the pairs are
    averaged.

    Unlike the paper: layer normalisation (over one place's neighbourhood) instead of batch
    normalisation, so that a score depends only on its own pair; the 4-D convolutions are two
    separable ones of one channel with a rectifier between them, where the paper has 16 channels; 16
    channels in the self-correlation of a map of 64. Unlike the released code: no rectifier after
    the map and its self-correlation are added, no normalisation and rectifier in the convolution
    that reduces channels before the cross-correlation, and the latter is not made symmetric in
    query and support. With equal weights, 63 % of answers are those of the released code.

    Parameters
    ----------
    map : (C, H, W)
        Of the network.
    temperature : float
        τ of the cosines (paper: 0.2).
    attention_temperature : float
        γ of the attention's softmax (paper: 5, and 2 on fine-grained classes).
    """

    name = "renet"
    settings = ("temperature", "attention_temperature")
    pairs = 2**12  # so that their correlations stay in the cache of a core

    def __init__(
        self,
        map: tuple[int, int, int] = (64, 4, 4),
        temperature: float = 0.2,
        attention_temperature: float = 5.0,
    ) -> None:
        super().__init__(map)
        self.temperature = temperature
        self.attention_temperature = attention_temperature
        channels = map[0]
        width = max(16, map[0] // 10)

        shapes = [(channels, width, 1), (width, width, 3), (width, width, 3), (width, channels, 1)]
        layers = []
        for before, after, side in shapes:
            convolution = nn.Conv2d(before, after, side, bias=False)
            layers += [nn.ReLU(), convolution, nn.GroupNorm(1, after)]
        self.self_correlation = nn.Sequential(*layers[1:])
        self.reduce = nn.Linear(channels, width, bias=False)
        # (first and last, over support and query places, ...)
        kernels = torch.zeros(2, 2, 1, 1, 3, 3)
        kernels[..., 1, 1] = 1  # initially the correlations themselves
        self.kernels = nn.Parameter(kernels)
        self.threshold = nn.Parameter(torch.zeros(()))

    def embed(self, features: Tensor) -> Tensor:
        """The map plus its self-correlation, centred over the channels of each place."""
        channels, height, width = self.map
        maps = super().embed(features)  # (..., P, C)
        unit = F.normalize(maps.flatten(0, -3).relu(), dim=-1)  # (B, P, C)
        around = F.unfold(unit.mT.unflatten(-1, (height, width)), 5, padding=2)
        around = around.unflatten(1, (channels, 25))
        products = (around * unit.mT[:, :, None]).permute(0, 3, 1, 2)  # (B, P, C, 25)
        structure = self.self_correlation(products.reshape(-1, channels, 5, 5))  # (BP, C, 1, 1)
        maps = maps + structure.view(maps.shape)
        return maps - maps.mean(dim=-1, keepdim=True)

    def descriptors(self, embedded: Tensor) -> Tensor:
        return embedded.mean(dim=-2, keepdim=True)

    def forward(self, support: Tensor, members: Tensor, query: Tensor) -> Tensor:
        a, b = (F.normalize(self.reduce(maps), dim=-1) for maps in (query, support))
        correlation = self.refine(a, b)  # (T, q, P of query, n, P of support)
        to_query = self.attention(correlation, dim=2).mean(dim=4)  # (T, q, P, n)
        to_support = self.attention(correlation, dim=4).mean(dim=2)  # (T, q, n, P)
        # Means over the shots of each class: of the weights of queries, and of attended supports.
        to_query = class_means(to_query.movedim(3, 1), members).transpose(1, 2)  # (T, q, K, P)
        attended_support = class_means(to_support.transpose(1, 2) @ support, members)
        return (
            F.cosine_similarity(to_query @ query, attended_support.transpose(1, 2), dim=-1)
            / self.temperature
        )

    def refine(self, a: Tensor, b: Tensor) -> Tensor:
        """4-D convolutions of the products of descriptors (T, q, P, c) and (T, n, P, c), twice.

        They go over both places. The first is linear in the descriptors, and goes over these.
        """
        _, height, width = self.map
        places = torch.eye(height * width, device=a.device).view(-1, 1, height, width)
        # As products (P, P).
        matrices = F.conv2d(places, self.kernels.flatten(0, 2), padding=1).flatten(2)
        first_b, first_a, last_b, last_a = matrices.unbind(1)
        products = (first_a.mT @ a).flatten(1, 2) @ (first_b.mT @ b).flatten(1, 2).mT
        correlation = (products - self.threshold).relu().view(*a.shape[:3], *b.shape[1:3])
        return (last_a.mT @ (correlation @ last_b).flatten(3)).view(correlation.shape)

    def attention(self, correlation: Tensor, dim: int) -> Tensor:
        """Softmax over the places of an image of correlations with mean 0 and variance 1."""
        off = correlation - correlation.mean(dim, keepdim=True)
        variance = off.square().mean(dim, keepdim=True)
        return torch.softmax(
            off * (torch.rsqrt(variance + 1e-5) / self.attention_temperature), dim=dim
        )
