"""A run on many machines: one coordinator, and the laboratories of workers of Dask distributed."""
