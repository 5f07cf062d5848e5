"""Where loads run: hosts, link, names and servers of one enclosure, and whether they are what they should be."""
