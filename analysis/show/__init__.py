"""`coldload show`: a run as pages of a web server on this machine, made from the run directory alone."""
