"""Cases of bad and odd input, an area a module: each has ``CASES``. Run by ``benchmarks/misuse.py``."""
