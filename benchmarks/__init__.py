"""Ratios of costs, measured side by side; `python -m benchmarks` lists them."""
