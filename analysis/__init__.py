"""From a run directory to estimates, tables, figures and report.html; nothing else is needed to rebuild them.

`report.build` is the way in. The other modules are pure: values in, values out.
"""
