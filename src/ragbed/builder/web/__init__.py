"""The outside world: everything that crosses the network passes here."""
