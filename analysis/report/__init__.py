"""The report of one run or several."""
