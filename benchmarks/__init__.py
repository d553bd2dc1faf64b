"""Benchmarks: ratios measured within one run, never wall-clock limits."""
