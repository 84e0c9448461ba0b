"""Decide which calls in a batch to send again in a later batch.

If a response is truncated, its request is sent once more with a higher token limit. A rejected request is sent again
without the parameter that the server rejects. Direct calls do the same immediately (`token_limit.py`,
`negotiation.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from ragbed.models.base import Batching
from ragbed.models.failures import REJECTED, Failure, failed
from ragbed.models.token_limit import has_reasoned, join_attempts
from ragbed.runs.batch_records import FollowUp
from ragbed.schema import Case, Completion

Call: TypeAlias = tuple[int, int]  # case number and repeat
_MAX_REJECTIONS = 4  # maximum number of rejections per call; each one reveals at most one unsupported parameter


class SentCall(NamedTuple):
    """A call as it was sent in a batch."""

    batch: str
    call: Call
    case: Case
    max_tokens: int
    body: bytes


class FollowUps:
    """The calls to one model that have to be sent again.

    Args:
        model: The model.
        waiting: The calls from earlier sessions that have to be sent again.
    """

    def __init__(self, model: Batching, waiting: Mapping[Call, FollowUp]) -> None:
        self._model, self.waiting = model, dict(waiting)
        for again in self.waiting.values():
            model.negotiation.add(again.learned)
            model.limit.thinks |= again.first is not None and has_reasoned(again.first)

    def is_read(self, sent: SentCall) -> bool:
        """Return whether an earlier session already processed a call's result and queued the call to be sent again."""
        return sent.call in self.waiting and self.waiting[sent.call].after == sent.batch

    def limit_of(self, call: Call) -> int:
        """Return the token limit for a call's next request."""
        return self.waiting[call].max_tokens if call in self.waiting else self._model.limit.start

    def read(self, sent: SentCall, response: bytes | Failure) -> Completion | None:
        """Return the outcome of one request, or None if the server rejected the request and it will be sent again.

        Args:
            sent: The request.
            response: The body of the response, or the failure that the batch reports.
        """
        try:
            if isinstance(response, Failure):
                raise response
            completion = self._model.parse(response, sent.case, sent.body)
        except Failure as failure:
            if self._negotiate(sent, failure):
                return None
            return failed(failure, 1, Counter({**(failure.usage or {}), "batch": 1}) if failure.usage else None)
        usage = None if completion.usage is None else {**completion.usage, "batch": 1}
        return replace(completion, usage=usage)

    def conclude(self, sent: SentCall, done: Completion) -> Completion | None:
        """Return the outcome of a call, or None if the call will be sent again with a different token limit.

        Args:
            sent: The last request.
            done: The outcome of this request.
        """
        limit, earlier = self._model.limit, self._earlier(sent)
        lower = limit.lower_for(done, sent.max_tokens, sent.case)
        if lower is not None:
            rejections = earlier.rejections + done.attempts
            if (first := earlier.first) is not None and lower <= (accepted := first.max_tokens or limit.first):
                return limit.settle(replace(first, attempts=first.attempts + rejections), accepted, sent.case)
            self._send_again(sent, replace(earlier, max_tokens=lower, rejections=rejections))
            return None
        higher = limit.raise_for(done, sent.max_tokens, sent.case) if earlier.first is None else None
        if higher is not None:
            first = limit.settle(done, sent.max_tokens, sent.case)
            self._send_again(sent, replace(earlier, max_tokens=higher, first=first))
            return None
        return self.finish(sent.call, limit.settle(done, sent.max_tokens, sent.case))

    def finish(self, call: Call, done: Completion) -> Completion:
        """Return the last response to a call, with tokens and attempts summed over all responses to the call."""
        earlier = self.waiting.get(call)
        if earlier is None:
            return done
        done = replace(done, attempts=done.attempts + earlier.rejections)
        return done if earlier.first is None else join_attempts(earlier.first, done)

    def _negotiate(self, sent: SentCall, failure: Failure) -> bool:
        """Handle a rejection, and return whether to send the call again with different parameters."""
        earlier, negotiation = self._earlier(sent), self._model.negotiation
        if failure.kind not in REJECTED or earlier.rejections >= _MAX_REJECTIONS:
            return False
        if self._next_body(sent) == sent.body:
            negotiation.learn(failure, msgspec.json.decode(sent.body, type=dict[str, Any]), may_stream=False)
        if self._next_body(sent) == sent.body:
            return False
        self._send_again(sent, replace(earlier, rejections=earlier.rejections + 1))
        return True

    def _next_body(self, sent: SentCall) -> bytes:
        return self._model.batch_request(sent.case, sent.max_tokens, self._model.negotiation.learned)

    def _earlier(self, sent: SentCall) -> FollowUp:
        return self.waiting.get(sent.call) or FollowUp(sent.max_tokens)

    def _send_again(self, sent: SentCall, again: FollowUp) -> None:
        learned = dict(self._model.negotiation.learned)
        self.waiting[sent.call] = replace(again, after=sent.batch, learned=learned)
