"""The code of the chapters: what a paper audits, benchmarks and draws. It uses `fslcore`, which never uses it."""
