"""Body only update in inner loop (Oh et al., 2021)."""

from typing import Any

from torch import Tensor, nn

from fslcore.datasets.bank import Bank
from fslcore.errors import InputError
from fslcore.models.backbone import Backbone
from fslcore.tasks import Tasks

from .maml import MAML

__all__ = ["BOIL"]


class BOIL(MAML):
    """MAML whose inner loop updates only the network, under a fixed head trained with it.

    So the features of a task must adapt to the head, not the head to the features. The head has a
    fixed number of classes, from its training, and their order matters. The statistics of batch
    normalisation are those of the support, as in our `MAML`; released code uses those of the
    queries.

    Parameters
    ----------
    backbone : Backbone, optional
        Trained by BOIL, with its head; needed for `scores`.
    dim, ways : int
        Features and classes of the head, without a backbone.
    **settings
        Of `MAML`.

    Raises
    ------
    InputError
        As `MAML`; a backbone without a head; in `scores` and `on_images`, tasks with another number
        of classes.
    """

    name = "boil"
    needs_dim = True
    head: nn.Linear

    def __init__(
        self, backbone: Backbone | None = None, *, dim: int = 128, ways: int = 5, **settings: Any
    ) -> None:
        super().__init__(backbone, **settings)
        if backbone is not None:
            if "weight" not in backbone.head:
                raise InputError(
                    f"{backbone.name}: no head; the checkpoint of a training with boil has one"
                )
            ways, dim = backbone.head["weight"].shape
        self.head = nn.Linear(dim, ways)
        if backbone is not None:
            self.head.load_state_dict(backbone.head)

    def scores(self, bank: Bank, tasks: Tasks) -> Tensor:
        self.head.to(bank.data.device)
        return super().scores(bank, tasks)

    def _start(self, features: Tensor, ways: int) -> tuple[Tensor, Tensor]:
        if ways != self.head.out_features:
            raise InputError(
                f"ways must be {self.head.out_features}, those that BOIL's head was trained with, "
                f"got {ways}"
            )
        return self.head.weight, self.head.bias
