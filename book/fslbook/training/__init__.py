"""Training: recipes, and the loop that runs them."""

from .paper_networks import train_paper
from .recipes import RECIPES, Recipe, split_classes
from .run import train

__all__ = ["RECIPES", "Recipe", "split_classes", "train", "train_paper"]
