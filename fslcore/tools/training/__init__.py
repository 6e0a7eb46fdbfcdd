"""Training: recipes, and the loop that runs them."""

from .recipes import RECIPES, Recipe, checkpoint_name, split_classes
from .run import train
from .whole import train_paper

__all__ = ["RECIPES", "Recipe", "checkpoint_name", "split_classes", "train", "train_paper"]
