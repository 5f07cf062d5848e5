"""Hosts, link, names and servers together, and whether they are what they should be."""
