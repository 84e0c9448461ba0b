"""How long and how often a case is tried before it ends in an error."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RetryPolicy:
    """Four deadlines, from the shortest to the longest, and a number of attempts."""

    connect_s: float = 10
    """To look the address up, connect and agree on encryption."""
    silence_s: float = 30
    """Without a byte in the middle of a reply. Before the first byte a model may think as long as the attempt lasts."""
    attempt_s: float = 120
    item_s: float = 600
    """All attempts and pauses of a case together; waiting for a turn does not count."""
    attempts: int = 6
    paid_attempts: int = 3
    """Where the server answered and the answer is of no use: each of those may have been paid."""
    first_pause_s: float = 0.5
    """Before the second attempt; three times as long before each further one, so that six attempts
    outlast a server that restarts within half a minute; half of it is left to chance."""
    longest_pause_s: float = 60
    max_bytes: int = 4 << 20
    """Of a decoded reply: a thousand times what a model writes for 256 tokens."""

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.paid_attempts < 1:
            raise ValueError("a case is tried at least once")
