"""Chapters on *OOPS, I sampled it again*: how sure is an accuracy?"""
