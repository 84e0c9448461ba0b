"""Pure functions that compute confidence intervals, tests and sample sizes from counts and scores.

Each file contains one family of methods. Rates are fractions between 0 and 1. Intervals have a confidence level of 95%
by default. Functions that draw random numbers take a seed. docs/explanation/statistics.md has the definitions.

The functions use `scipy.special`, not `scipy.stats`. Importing `scipy.stats` takes five times as long as importing
`scipy.special` (2.8 s versus 0.5 s on a busy machine), and every report would pay for it. It gives the same
results, but its calls are much slower: `false_discovery_control` by a factor of 6, `fisher_exact` 19,
`binomtest` 87, its intervals 400, and `permutation_test` 2,000. It has no Holm adjustment, no clustered rates and
no minimum-effect test. The tests use it as the reference.
"""
