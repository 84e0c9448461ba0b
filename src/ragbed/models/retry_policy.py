"""Time limits and maximum numbers of attempts for a case."""

from __future__ import annotations

from msgspec import Struct


class RetryPolicy(Struct, frozen=True):
    """Time limits, listed from the shortest to the longest, and maximum numbers of attempts."""

    connect_s: float = 10  # time limit in seconds for DNS lookup, connection and TLS handshake
    silence_s: float = 30  # maximum pause in seconds within a response; before the first byte, only `attempt_s` applies
    attempt_s: float = 120
    item_s: float = 600  # time limit in seconds per case, including all retries and pauses but not queueing time
    attempts: int = 6
    paid_attempts: int = 3  # maximum number of attempts if responses are unusable, because each response may be billed
    # Pause in seconds before the second attempt. The pause triples before each further attempt, and half of it is
    # random. Six attempts take long enough to outlast a 30-second server restart.
    first_pause_s: float = 0.5
    longest_pause_s: float = 60
    max_bytes: int = 4 << 20  # maximum size of a decoded response in bytes; a streamed response may be larger

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.paid_attempts < 1:
            raise ValueError("`attempts` and `paid_attempts` must be at least 1")
