"""Enforce a cost limit, which can be exceeded only by the cost of cases in progress, including repeated calls."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from pathlib import Path

from ragbed.errors import RagbedError
from ragbed.runs.multi_call import calls_made
from ragbed.runs.prices import Price, cost_of, find_price
from ragbed.schema import Completion


class BudgetSpent(RagbedError):
    """Raised when the budget has been spent; all results are stored."""


class Budget:
    """Adds up the cost of responses and denies further calls once the limit is reached.

    Args:
        limit: Maximum cost of this run in dollars, including earlier sessions.
        prices: Prices by model name. For models from earlier sessions that are missing here, the price list is used.
    """

    def __init__(self, limit: float, prices: dict[str, Price]) -> None:
        self._limit, self._spent, self._denied = Decimal(str(limit)), Decimal(0), False
        self._reserved = Decimal(0)  # the maximum cost of the batches in progress
        self._abandoned = Decimal(0)  # the maximum cost of batches whose results this session does not collect
        self._cost: defaultdict[str, Decimal] = defaultdict(Decimal)
        self._calls: defaultdict[str, int] = defaultdict(int)
        self._prices: dict[str, Price | None] = {**prices}
        self.counted: set[Path] = set()  # the runs whose earlier calls have been charged

    def allows(self) -> bool:
        """Return whether another call may be sent."""
        self._denied = self._denied or self._spent >= self._limit
        return not self._denied

    def check(self) -> None:
        """Raise an error at the end of a run if a call was denied.

        Raises:
            BudgetSpent: A call was denied.
        """
        if self._denied:
            is_spent = self._spent >= self._limit
            state = "has been used up" if is_spent else "does not cover the maximum cost of the next batch request"
            raise BudgetSpent(
                f"the budget of ${float(self._limit):g} {state} (${self._spent:.4f} spent); all results are stored. To "
                "resume, rerun the same command with a larger `budget`; for a run, set `out` to its folder."
            )

    def pay(self, model: str, completion: Completion) -> bool:
        """Add the cost of a response; return False if the price is unknown, in which case the cost counts as 0."""
        if model not in self._prices:
            self._prices[model] = find_price(model)
        cost = cost_of(completion, self._prices[model])
        if cost is None:
            return False
        self.charge(model, cost, calls_made(completion))
        return True

    def charge(self, model: str, dollars: Decimal, calls: int) -> None:
        """Record the cost and number of calls to one model."""
        self._spent += dollars
        self._cost[model] += dollars
        self._calls[model] += calls

    def reserve(
        self, model: str, usage: dict[str, int], *, is_last_chance: bool = False, is_forced: bool = False
    ) -> bool:
        """Try to reserve the maximum cost of a batch request, and return whether the budget is sufficient.

        Args:
            model: The model's name.
            usage: The maximum number of tokens that the request can use.
            is_last_chance: Whether no more reservations will be released, so that a denial ends the run.
            is_forced: Whether the request was already submitted.
        """
        price = self._prices.get(model)
        cost = Decimal(0) if price is None else price(usage)
        if not is_forced and self._spent + self._reserved + self._abandoned + cost > self._limit:
            self._denied = self._denied or (is_last_chance and not self._reserved)
            return False
        self._reserved += cost
        return True

    def abandon(self, model: str, usage: dict[str, int]) -> None:
        """Keep the amount reserved for a request whose result this session will not collect."""
        price = self._prices.get(model)
        self.release(model, usage)
        self._abandoned += Decimal(0) if price is None else price(usage)

    @property
    def is_denied(self) -> bool:
        """Whether a call was denied because of the budget, which ends the run."""
        return self._denied

    def release(self, model: str, usage: dict[str, int]) -> None:
        """Release the amount reserved for a request."""
        price = self._prices.get(model)
        self._reserved -= Decimal(0) if price is None else price(usage)

    def spending(self) -> dict[str, tuple[Decimal, int]]:
        """Return the dollars spent and the number of calls so far, by model."""
        return {model: (dollars, self._calls[model]) for model, dollars in self._cost.items()}

    def suspect(self, model: str, calls: int) -> bool:
        """Charge the model's average cost per call for calls that have no response but may have been billed.

        Return False if the model has no other calls, in which case the cost is unknown.
        """
        if not self._calls[model]:
            return False
        self._spent += calls * self._cost[model] / self._calls[model]
        return True
