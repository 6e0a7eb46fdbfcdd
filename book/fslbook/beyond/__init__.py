"""Chapters that go beyond the papers."""
