"""Set-up as a stranger does it, in bare trees of each release: `make test-releases`."""
