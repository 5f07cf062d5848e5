"""The runner of coldload: model, study, plan, testbed, browser, trial, records, command line."""

import os
import resource
import sys

__version__ = "0.1.0"

if resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY:
    # Python would cut off the compiled modules that it stores, and could not read them ever after.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
