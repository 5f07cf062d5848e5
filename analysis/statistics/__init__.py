"""Estimates, intervals, tests, verdicts and power. Pure.

The levels and least sizes that they share stand here. To read them imports nothing, so that a plan is quick.
"""

CONFIDENCE = 0.95
# A study that stops as soon as an interval is narrow enough stops a little more often when it is narrow by chance. With
# up to 8 looks, the first that counts at 10 pairs, intervals of 97.5 % cover the truth in over 95 % of the studies, and
# false verdicts stay below 5 %, also where many comparisons pay for each other (benchmarks/simulation).
CONFIDENCE_WITH_LOOKS = 0.975
LEAST_PAIRS_LOOKED = 10
LEAST_PAIRS = 3  # for an interval
LEAST_PAIRS_RANKED = 15
LEAST_LEVELS = 3  # pages or runs that are a sample of their kind; fewer speak of themselves
