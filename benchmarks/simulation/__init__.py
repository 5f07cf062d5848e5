"""Made-up load times, and how often the report's statistics are right about them (`benchmarks.simulation`)."""
