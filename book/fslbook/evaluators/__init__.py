"""Chapters on *Evaluating the evaluators*: can a task judge itself?"""
