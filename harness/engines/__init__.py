"""Browsers: one package each, what steers it, and its log of the network as a proof of what it did."""
