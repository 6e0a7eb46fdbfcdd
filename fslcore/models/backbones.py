"""Backbones: networks that turn an image into a feature vector, and their pinned weights.

`load` gives one by name; `features` computes the features of images with it.
"""

from .backbone import Backbone, device, match_input_size
from .features import base_mean, compute, feature_key, features, make_shard, shards_of, speed
from .text import names_embedded, names_key
from .weights import load

__all__ = [
    "Backbone",
    "base_mean",
    "compute",
    "device",
    "feature_key",
    "features",
    "load",
    "make_shard",
    "match_input_size",
    "names_embedded",
    "names_key",
    "shards_of",
    "speed",
]
