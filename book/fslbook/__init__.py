"""The code of the chapters: one folder a paper, and one for what goes beyond them."""
