"""Cross attention network (Hou et al., 2019)."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fslcore.learners.common import class_means

from .common import OnMaps

__all__ = ["CAN"]


class CAN(OnMaps):
    """Cosine of a class and a query, each weighted where the other resembles it.

    The correlation map contains the cosines between all places of the class (mean map of its shots)
    and all places of the query. A small network reads the mean correlations of a map's places and
    returns a kernel that fuses the correlations of each place into one number; a softmax of these,
    added to 1, weights the places.

    Unlike the paper: the fusion has no batch normalisation, so that a score depends only on its own
    pair; the loss is that of the pooled cosine, as in the paper's test, not of each place of the
    query; the auxiliary classifier reads queries before the attention. The transductive form is not
    implemented.

    Parameters
    ----------
    map : (C, H, W)
        Of the network.
    temperature : float
        τ of the attention's softmax (paper: 0.025).
    scale : float
        Of the cosines, when they are scores (released code: 7).
    """

    name = "can"
    settings = ("temperature", "scale")

    def __init__(
        self, map: tuple[int, int, int] = (64, 4, 4), temperature: float = 0.025, scale: float = 7.0
    ) -> None:
        super().__init__(map)
        self.temperature = temperature
        self.scale = scale
        places = map[1] * map[2]
        hidden = max(4, places // 6)  # the paper's ratio, for maps of 36 places
        self.fusion = nn.Sequential(nn.Linear(places, hidden), nn.ReLU(), nn.Linear(hidden, places))

    def forward(self, support: Tensor, members: Tensor, query: Tensor) -> Tensor:
        classes = class_means(support, members)  # (T, K, P, C)
        places = F.normalize(query, dim=-1).flatten(1, 2)
        cosines = places @ F.normalize(classes, dim=-1).flatten(1, 2).mT  # (T, qP, KP)
        # (T, q, K, P of the query, P of the class)
        correlation = cosines.view(*query.shape[:3], *classes.shape[1:3]).transpose(2, 3)
        attended_query = torch.einsum("tqkp,tqpc->tqkc", self.attention(correlation), query)
        attended_class = torch.einsum("tqkp,tkpc->tqkc", self.attention(correlation.mT), classes)
        return self.scale * F.cosine_similarity(attended_query, attended_class, dim=-1)

    def attention(self, correlation: Tensor) -> Tensor:
        """Weights (..., P) of places, from their correlations (..., P, P') with the other map."""
        kernel = self.fusion(correlation.mean(dim=-2))
        fused = (correlation @ kernel[..., None]).squeeze(-1) / correlation.shape[-1]
        return 1 + torch.softmax(fused / self.temperature, dim=-1)
