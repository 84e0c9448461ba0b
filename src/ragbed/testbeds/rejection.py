"""Negative rejection: no document holds the answer, and the model should say so."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from ragbed.testbeds.noise import NOISE

REJECTION = replace(NOISE, name="rejection", expect="refuse", noise=(Fraction(1),))
