"""A limit on money that is never passed by more than the calls in flight."""

from __future__ import annotations

from ragbed.errors import RagbedError
from ragbed.run.prices import Price
from ragbed.schema import Completion


class BudgetSpent(RagbedError):
    """The run may cost no more; what was asked is kept."""


class Budget:
    """Adds up what replies cost and says stop.

    Args:
        limit: Dollars for this run, those of earlier sessions included.
        prices: Price of each model, by name.
    """

    def __init__(self, limit: float, prices: dict[str, Price]) -> None:
        self._limit, self._prices, self._spent = limit, prices, 0.0
        self._denied = False

    def allows(self) -> bool:
        """Whether another call may be sent."""
        self._denied = self._denied or self._spent >= self._limit
        return not self._denied

    def check(self) -> None:
        """Called when all that was allowed is asked.

        Raises:
            BudgetSpent: Something was not allowed.
        """
        if self._denied:
            raise BudgetSpent(
                f"the budget of {self._limit:.2f} $ is spent ({self._spent:.4f} $); everything asked is kept. "
                "Go on with a larger --budget and the same --out."
            )

    def pay(self, model: str, completion: Completion) -> None:
        """Counts what one reply cost."""
        usage = completion.usage or {}
        self._spent += self._prices[model](usage.get("in", 0), usage.get("out", 0))
