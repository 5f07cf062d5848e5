"""Run directories as values: their records, which of them count, what two runs have in common."""
