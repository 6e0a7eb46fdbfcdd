"""Latent embedding optimisation (Rusu et al., 2019)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fslcore.errors import instance
from fslcore.learners.common import OnFeatures

from .common import descended, support_loss

__all__ = ["LEO"]


class LEO(OnFeatures):
    """Gradient descent on a short code of each class, which is decoded to a linear classifier.

    An encoder and a relation network turn the support into a distribution of codes z, one per
    class; a decoder turns a code into a distribution of weights. ``steps`` of gradient descent on
    the support update the codes, then ``fine_steps`` the weights; both rates are trained. In
    training, codes and weights are sampled; in evaluation they are the means, so that scores are
    reproducible. LibFewShot, with which FewSTAB's rows were made, samples them in evaluation, too:
    two runs of it with the same weights, drawn at random, agreed on 25 % of answers. The network
    for the features is trained before and frozen.

    A rate here is that of the authors' code (DeepMind) times the number of classes, since its loss
    is a sum over classes and ours a mean. The sizes are ours: the paper uses a random search, on a
    wide residual network; the weights of the penalties are those of LibFewShot. Standard deviations
    are exponentials, for the weights times √(2 / (D + 1)), for the codes times a tenth, so that the
    first samples do not dominate the encoding. Features have unit length, as in the paper.

    Parameters
    ----------
    dim : int
        Length D of a feature vector.
    latent : int
        Length of a code.
    steps, fine_steps : int
        Of gradient descent, in the codes and then in the weights.
    dropout : float
        Share of the features that are dropped for the encoder in training.
    kl, drift, correlation : float
        Weights of the penalties in training: divergence of the codes from a standard normal;
        squared distance of the codes from their values after the steps; correlation between rows of
        the decoder. All are means over entries, as in released code.
    """

    name = "leo"
    needs_dim = True
    digested = True
    settings = ("steps", "fine_steps")

    def __init__(
        self,
        dim: int = 256,
        *,
        latent: int = 64,
        steps: int = 5,
        fine_steps: int = 5,
        dropout: float = 0.3,
        kl: float = 1e-3,
        drift: float = 1e-9,
        correlation: float = 1e-3,
    ) -> None:
        super().__init__()
        self.steps = steps
        self.fine_steps = fine_steps
        self.dropout = dropout
        self.weight_of = {"kl": kl, "drift": drift, "correlation": correlation}
        self.encoder = nn.Linear(dim, latent, bias=False)
        layers = []
        for _ in range(3):
            layers += [nn.ReLU(), nn.Linear(2 * latent, 2 * latent, bias=False)]
        self.relation = nn.Sequential(*layers[1:])
        self.decoder = nn.Linear(latent, 2 * dim, bias=False)
        self.rate = nn.Parameter(torch.tensor(1.0))
        self.fine_rate = nn.Parameter(torch.tensor(1.0))
        self.penalties: dict[str, Tensor] = {}

    def forward(self, support: Tensor, members: Tensor, query: Tensor) -> Tensor:
        """As for all learners; in training the ``penalties`` of these tasks are kept for `loss`."""
        x = F.normalize(support, dim=-1)
        mean, log_sd = self._encode(x, members)
        start = mean + torch.randn_like(mean) * log_sd.exp() if self.training else mean

        def loss(weights: Tensor) -> Tensor:
            return support_loss(x @ weights.mT, members)

        def of_code(code: Tensor) -> Tensor:
            return loss(self._decode(code))

        (code,) = descended(of_code, [start.requires_grad_()], self.steps, self.rate, self.training)
        with torch.enable_grad():
            weights = self._decode(code)
        (weights,) = descended(loss, [weights], self.fine_steps, self.fine_rate, self.training)
        if self.training:
            self.penalties = {
                "kl": (mean.square() + (2 * log_sd).exp() - 1 - 2 * log_sd).mean() / 2,
                "drift": (code.detach() - start).square().mean(),
                "correlation": self._correlation(),
            }
        return F.normalize(query, dim=-1) @ weights.mT

    def loss(self, scores: Tensor, target: Tensor) -> Tensor:
        """Cross-entropy of the queries plus the weighted penalties of the last `forward`."""
        return super().loss(scores, target) + sum(
            self.weight_of[name] * p for name, p in self.penalties.items()
        )

    def _encode(self, x: Tensor, members: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log standard deviation (T, K, latent) of codes, over pairs of images."""
        h = self.encoder(F.dropout(x, self.dropout, self.training))
        # Without biases, the first layer is a sum over the two images, and the last may follow a mean.
        first = instance("relation", self.relation[0], nn.Linear)
        left, right = (h @ half.T for half in first.weight.chunk(2, dim=1))
        related = []
        for a, b, weight in zip(left, right, members.sum(dim=-1)):  # one task at a time: n² pairs
            pairs = self.relation[1:-1](a[:, None] + b)
            related.append(self.relation[-1](weight @ pairs / weight.sum()))
        size = members.sum(dim=1).clamp(min=1)[..., None]
        mean, log_sd = (members.mT @ torch.stack(related) / size).chunk(2, dim=-1)
        return mean, log_sd + math.log(0.1)

    def _decode(self, code: Tensor) -> Tensor:
        """Weights (T, K, D), sampled in training."""
        mean, log_sd = self.decoder(code).chunk(2, dim=-1)
        if not self.training:
            return mean
        return mean + torch.randn_like(mean) * log_sd.exp() * (2 / (mean.shape[-1] + 1)) ** 0.5

    def _correlation(self) -> Tensor:
        """Mean squared deviation from orthogonality of the decoder's columns."""
        rows = F.normalize(self.decoder.weight, dim=0)
        return (rows.T @ rows - torch.eye(rows.shape[1], device=rows.device)).square().mean()
