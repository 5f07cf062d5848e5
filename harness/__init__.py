"""The runner of coldload: model, study, plan, testbed, browser, trial, records, command line."""

__version__ = "0.1.0"
