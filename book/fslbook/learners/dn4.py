"""Deep nearest neighbour neural network (Li et al., 2019)."""

import torch
from torch import Tensor
from torch.nn import functional as F

from fslcore.errors import whole

from .common import OnMaps, places_by_class

__all__ = ["DN4"]


class DN4(OnMaps):
    """Sum over the places of a query of the ``neighbours`` highest cosines to a class.

    A class is the pool of the local descriptors of all its shots. Only the network is trained. The
    paper's map is 21×21, of a network that pools twice; here it has the size of the network's last
    map.

    Parameters
    ----------
    map : (C, H, W)
        Of the network.
    neighbours : int
        k, 3 in the paper.

    Raises
    ------
    InputError
        More neighbours than one support image has places.
    """

    name = "dn4"
    settings = ("neighbours",)

    def __init__(self, map: tuple[int, int, int] = (64, 4, 4), neighbours: int = 3) -> None:
        super().__init__(map)
        places = map[1] * map[2]
        self.neighbours = whole("neighbours", neighbours, 1, places)

    def forward(self, support: Tensor, members: Tensor, query: Tensor) -> Tensor:
        index, filled = places_by_class(members)  # (T, K, s)
        task = torch.arange(len(index), device=index.device)[:, None, None]
        pools = F.normalize(support, dim=-1)[task, index]  # (T, K, s, P, C)
        places = F.normalize(query, dim=-1).flatten(1, 2)  # (T, qP, C)
        # (T, K, s, P, qP)
        cosines = (pools.flatten(1, 3) @ places.mT).unflatten(1, pools.shape[1:4])
        if not filled.all():
            cosines = cosines.masked_fill(~filled[..., None, None], -torch.inf)
        nearest = self._nearest(cosines.flatten(2, 3)).mT.contiguous()  # (T, qP, K)
        return nearest.unflatten(1, query.shape[1:3]).sum(dim=2)

    def _nearest(self, cosines: Tensor) -> Tensor:
        """Sum (T, K, qP) of the highest cosines (T, K, sP, qP)."""
        if torch.is_grad_enabled():
            return cosines.topk(self.neighbours, dim=2, sorted=False).values.sum(dim=2)
        best = list(cosines[:, :, : self.neighbours].sort(dim=2, descending=True).values.unbind(2))
        # Much faster than topk, which works row by row.
        for cosine in cosines[:, :, self.neighbours :].unbind(2):
            for i, highest in enumerate(best):
                best[i] = torch.maximum(highest, cosine)
                cosine = torch.minimum(highest, cosine)
        return sum(best[1:], best[0])
