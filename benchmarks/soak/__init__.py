"""A soak: thousands of trials with faults among them, and an audit of what came of it. `python -m benchmarks.soak`."""
