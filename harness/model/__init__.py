"""The nouns of a study as frozen, self-validating values. Nothing here touches a clock or the network."""
