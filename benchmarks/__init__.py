"""What takes too long for a test: each module measures, and prints its figure, its spread and its target."""
