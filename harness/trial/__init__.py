"""One cold load: run, observed, judged."""
