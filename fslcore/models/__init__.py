"""Backbones: networks, the origin of their weights, and their features."""
