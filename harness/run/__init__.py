"""A plan, run trial by trial into a directory."""
