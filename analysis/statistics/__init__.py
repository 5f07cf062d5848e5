"""Estimates, intervals, tests and verdicts. Pure."""
