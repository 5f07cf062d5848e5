"""A run on many machines: one coordinator, and the labs of workers of Dask distributed."""
