"""Recorded results: what ragbed sends, scores, reports and prints, to show what a change alters."""
