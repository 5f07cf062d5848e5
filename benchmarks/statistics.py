"""How good the report's statistics are, by simulation: coverage of intervals, false verdicts, power.

    .venv/bin/python benchmarks/statistics.py [--quick] [--seed 2012] [--only PART]

The program is `benchmarks/simulation/benchmark.py`, which says more. Programs of this folder that import Python's
module of this name find this file first, and get what they mean.
"""

import sys
import sysconfig
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

if __name__ == "__main__":
    from benchmarks.simulation.benchmark import main

    sys.exit(main())

if __name__ == "statistics":
    spec = PathFinder.find_spec(__name__, [sysconfig.get_path("stdlib")])
    assert spec is not None
    assert spec.loader is not None
    sys.modules[__name__] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[__name__])
