"""Statistics: pure functions from counts and scores to intervals, tests and sample sizes, one file per family.

Rates are fractions between 0 and 1. Intervals have a confidence level of 95 % by default. Functions that draw random
numbers take a seed. docs/explanation/statistics.md has the definitions.

The functions use `scipy.special`, not `scipy.stats`. Importing `scipy.stats` takes five times as long as importing
`scipy.special` (2.8 s and 0.5 s on a busy machine), and every report would pay for it. Its functions give the same
results, but one call takes much longer: `false_discovery_control` 6 times, `fisher_exact` 19, `bootstrap` 51,
`binomtest` 87, its intervals 400, and `permutation_test` 2,000 times. It has no Holm adjustment, no clustered rates and
no minimum-effect test. The tests use it as the reference.
"""
