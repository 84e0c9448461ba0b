"""Limit the cost and the number of requests of a run.

The highest cost of every request, including repeated ones, is reserved before the request is sent, and replaced by its
cost when the response arrives. A request waits while the rest of the budget is reserved for others. If none of them is
in flight any more, the budget is spent, and no further requests are sent.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from decimal import Decimal
from pathlib import Path

import msgspec

from ragbed.errors import RagbedError, option
from ragbed.models.base import METER, RequestMeter
from ragbed.models.token_limit import MAX_LIMIT
from ragbed.runs.prices import Price, TokenUsage, cost_of, find_price, usages_made
from ragbed.schema import Completion
from ragbed.text import estimate_tokens


class BudgetSpent(RagbedError):
    """Raised at the end of a run if the budget does not cover another request; all results are stored."""


class BudgetDenied(Exception):
    """Raised instead of sending a request that the budget does not cover."""


class Budget:
    """Adds up the cost of responses, and denies requests that might exceed a limit.

    Args:
        dollars: Maximum cost of this run in dollars, including earlier sessions, or None for no limit.
        prices: Prices by model name. For models from earlier sessions that are missing here, the price list is used.
        requests: Maximum number of requests, including earlier sessions, or None for no limit.
    """

    def __init__(self, dollars: float | None, prices: Mapping[str, Price], requests: int | None = None) -> None:
        self._limit = None if dollars is None else Decimal(str(dollars))
        self._max_requests = requests
        self.spent, self._reserved = Decimal(0), Decimal(0)
        self._sent = self._in_flight = 0  # requests
        self._is_denied = False
        self._waiting: list[asyncio.Future[None]] = []
        self._cost: defaultdict[str, Decimal] = defaultdict(Decimal)
        self._calls: defaultdict[str, int] = defaultdict(int)
        self._prices: dict[str, Price | None] = {**prices}
        self.counted: set[Path] = set()  # the runs whose earlier calls have been charged

    def check(self) -> None:
        """Raise an error at the end of a run if a request was denied.

        Raises:
            BudgetSpent: A request was denied.
        """
        if not self._is_denied:
            return
        stored = "all results are stored. To resume, rerun the same command with a larger"
        if self._max_requests is not None and self._sent >= self._max_requests:
            problem, name = f"the limit of {self._max_requests:,} requests has been reached", "max_calls"
        else:
            is_spent = self._limit is not None and self.spent >= self._limit
            state = "has been used up" if is_spent else "does not cover the highest cost of the next request"
            problem, name = f"the budget of ${float(self._limit or 0):g} {state} (${self.spent:.4f} spent)", "budget"
        raise BudgetSpent(f"{problem}; {stored} {option(name)}; for a run, set {option('out')} to its folder.")

    def pay(self, model: str, completion: Completion, unreported: Decimal | None = None) -> bool:
        """Add the cost of a response; return False if the price is unknown, in which case the cost counts as 0.

        Args:
            model: The model's name.
            completion: The response.
            unreported: The cost of a response that does not report its token usage; by default, 0.
        """
        if model not in self._prices:
            self._prices[model] = find_price(model)
        cost = cost_of(completion, self._prices[model]) if completion.usage or unreported is None else unreported
        cached = sum(step.cached > 0 for step in completion.steps)
        self._sent += max(len(usages_made(completion)), completion.attempts - cached)
        if cost is None:
            return self._limit is None
        self.spent += cost
        self._cost[model] += cost
        self._calls[model] += len(usages_made(completion))
        return True

    def include(self, other: Budget) -> None:
        """Add the cost and the requests of another part of the same work."""
        self.spent += other.spent
        self._sent += other._sent
        for model, cost in other._cost.items():
            self._cost[model] += cost
            self._calls[model] += other._calls[model]

    def highest_cost(self, model: str, body: bytes, *, batch: bool = False, repeated: bool = False) -> Decimal:
        """Return the highest cost of a request, assuming that its prompt has no more tokens than estimated.

        Args:
            model: The model's name.
            body: The body of the request.
            batch: Whether the request is part of a batch.
            repeated: Whether the model may repeat the request with a higher token limit on its own.
        """
        price = self._prices.get(model)
        if price is None or self._limit is None:
            return Decimal(0)
        try:
            fields = msgspec.json.decode(body, type=dict[str, object])
        except msgspec.MsgspecError:  # a model object's own description of its request
            fields = {}
        limits = (fields.get("max_completion_tokens"), fields.get("max_tokens"))
        most = next((limit for limit in limits if isinstance(limit, int) and not repeated), MAX_LIMIT)
        usage = {"in": estimate_tokens(body.decode("utf-8", "replace")), "out": most}
        return price(usage | ({"batch": 1} if batch else {})) * (2 if repeated else 1)

    async def reserve(self, cost: Decimal, *, is_repeated: bool = False) -> None:
        """Reserve the highest cost of a request as soon as the budget covers it; repeated requests come first.

        Args:
            cost: The highest cost.
            is_repeated: Whether the call has already sent a request, which was in vain without the next one.

        Raises:
            BudgetDenied: The budget does not cover the request, and no request is in flight.
        """
        while not self.reserve_now(cost):
            if self.deny_if_idle():
                self._wake()
                raise BudgetDenied
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.insert(0 if is_repeated else len(self._waiting), turn)
            await turn

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)

    def reserve_now(self, cost: Decimal, *, is_forced: bool = False) -> bool:
        """Reserve the highest cost of a request if the budget covers it, or in any case if it was already sent."""
        if not is_forced and not self._covers(cost):
            return False
        self._reserved += cost
        self._in_flight += 1
        return True

    def deny_if_idle(self) -> bool:
        """Deny all further requests unless some are in flight, which may release their reservations."""
        self._is_denied = self._is_denied or not self._in_flight
        return self._is_denied

    def release(self, cost: Decimal) -> None:
        """Release the amount reserved for a request, which has been paid or was not sent."""
        self._reserved -= cost
        self._in_flight -= 1
        self._wake()

    def abandon(self) -> None:
        """Keep the amount reserved for a request whose result this session does not collect."""
        self._in_flight -= 1
        self._sent += 1
        self._wake()

    def _covers(self, cost: Decimal) -> bool:
        has_requests = self._max_requests is None or self._sent + self._in_flight < self._max_requests
        has_dollars = self._limit is None or self.spent + self._reserved + cost <= self._limit
        return has_requests and has_dollars and not self._is_denied

    def suspect(self, model: str, calls: int) -> bool:
        """Charge the model's average cost per call for calls that have no response but may have been billed.

        Return False if the model has no other calls, in which case the cost is unknown.
        """
        self._sent += calls
        if not self._calls[model]:
            return False
        self.spent += calls * self._cost[model] / self._calls[model]
        return True


class CallMeter(RequestMeter):
    """Reserves and pays the requests of the calls to one model. Each task makes one call at a time.

    Args:
        budget: The budget of the run.
        model: The model's name.
        tell: Called with messages for the user.
        repeats: Whether the model may repeat a request with a higher token limit without reserving its cost.
    """

    def __init__(self, budget: Budget, model: str, tell: Callable[[str], None], *, repeats: bool) -> None:
        self._budget, self._model, self._tell, self._repeats = budget, model, tell, repeats
        self._reserved: ContextVar[Decimal | None] = ContextVar("reserved", default=None)
        self._usages: ContextVar[list[TokenUsage]] = ContextVar("usages")
        self._lacks_usage = False  # whether the user has been warned of a response without token usage

    async def begin(self, body: bytes) -> None:
        """Begin a call, and reserve the highest cost of its first request.

        Raises:
            BudgetDenied: The budget does not cover the request.
        """
        METER.set(self)
        self._usages.set([])
        await self.reserve(body)

    async def reserve(self, body: bytes) -> None:
        """Reserve the highest cost of a request that is about to be sent, instead of an amount that is reserved for it.

        Raises:
            BudgetDenied: The budget does not cover the request.
        """
        cost, reserved = self._budget.highest_cost(self._model, body, repeated=self._repeats), self._reserved.get()
        if reserved is None or reserved < cost:
            self._release()  # a call that waits must not hold a reservation, for which others may be waiting
            await self._budget.reserve(cost, is_repeated=bool(self._usages.get()))
            self._reserved.set(cost)

    def settle(self, completion: Completion) -> None:
        """Replace a reservation by the cost of the response. A response without token usage has the highest cost."""
        is_answered = completion.outcome in ("ok", "truncated")
        if is_answered and not completion.usage and not self._lacks_usage:
            self._lacks_usage = True
            self._tell(
                f"Warning: a response from {self._model} does not report its token usage. Its cost is unknown; the "
                "budget counts the highest possible cost. Set a spending limit with the provider."
            )
        self._budget.pay(self._model, completion, self._reserved.get() if is_answered else None)
        self._usages.get().append(completion.usage or {})
        self._release()

    def settle_rest(self, completion: Completion) -> None:
        """Pay for a call whose model does not use the meter, e.g. a model on a cluster."""
        if not self._usages.get() and completion.attempts:
            self.settle(completion)

    def end(self) -> list[TokenUsage]:
        """End a call, and return the token usage of its requests."""
        self._release()
        METER.set(RequestMeter())
        return [usage for usage in self._usages.get() if usage]

    def _release(self) -> None:
        if (reserved := self._reserved.get()) is not None:
            self._reserved.set(None)
            self._budget.release(reserved)
