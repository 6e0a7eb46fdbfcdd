"""What `benchmarks/bench.py` measures, a module a subject; each of their functions gives rows for the stored file."""
