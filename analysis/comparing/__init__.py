"""Two runs of a study against each other."""
