"""The driver of the benchmarks: bench/run.py."""
