"""A limit on money that is never passed by more than the calls in flight."""

from __future__ import annotations

from collections import defaultdict

from ragbed.errors import RagbedError
from ragbed.runs.multi_call import calls_made, usage_made
from ragbed.runs.prices import Price, find_price
from ragbed.schema import Completion


class BudgetSpent(RagbedError):
    """The run may cost no more; what was asked is kept."""


class Budget:
    """Adds up what replies cost and says stop.

    Args:
        limit: Dollars for this run, those of earlier sessions included.
        prices: Price of each model, by name; of others, which earlier sessions asked, the listed one is taken.
    """

    def __init__(self, limit: float, prices: dict[str, Price]) -> None:
        self._limit, self._spent = limit, 0.0
        self._cost: defaultdict[str, float] = defaultdict(float)
        self._calls: defaultdict[str, int] = defaultdict(int)
        self._prices: dict[str, Price | None] = {**prices}
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
                f"the budget of {self._limit:g} $ is spent ({self._spent:.4f} $); everything asked is kept. "
                "Go on with a larger --budget, in the same folder (--out; of a build -o)."
            )

    def pay(self, model: str, completion: Completion) -> bool:
        """Counts what one reply cost; false where no price is known, so that it counts as nothing."""
        if model not in self._prices:
            self._prices[model] = find_price(model)
        price, usage = self._prices[model], usage_made(completion) or {}
        if price is not None:
            self.charge(model, price(usage.get("in", 0), usage.get("out", 0)), calls_made(completion))
        return price is not None

    def charge(self, model: str, dollars: float, calls: int) -> None:
        """Add the cost of calls to a model."""
        self._spent += dollars
        self._cost[model] += dollars
        self._calls[model] += calls

    def spending(self) -> dict[str, tuple[float, int]]:
        """Return the dollars and the calls so far, by model."""
        return {model: (dollars, self._calls[model]) for model, dollars in self._cost.items()}

    def suspect(self, model: str, calls: int) -> bool:
        """Counts calls that may have been paid, and of which nothing came, as so many average ones of their model.

        False where none of its calls came back, so that nobody knows what one costs.
        """
        if not self._calls[model]:
            return False
        self._spent += calls * self._cost[model] / self._calls[model]
        return True
