"""Running: every case is asked, none is lost, and what was paid for is never asked again."""
