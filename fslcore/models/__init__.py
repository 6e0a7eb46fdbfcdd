"""Backbones: networks, where their weights come from, and the features that they give."""
