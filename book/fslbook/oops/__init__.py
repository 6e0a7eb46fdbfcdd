"""Chapters on *OOPS, I sampled it again*: how sure is an accuracy?"""

CAP = 2000  # open tasks at which the released sampler stops
