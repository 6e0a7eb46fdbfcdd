"""Training: recipes, and the loop that runs them."""

from .recipes import RECIPES, Recipe, split_classes
from .run import train
from .whole import train_paper

__all__ = ["RECIPES", "Recipe", "split_classes", "train", "train_paper"]
