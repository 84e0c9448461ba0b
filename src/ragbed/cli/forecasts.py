"""Print the table of `ragbed run --dry-run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragbed.runs.execution import Job
    from ragbed.runs.forecast import Forecast


def print_forecasts(job: Job, *, to_json: bool) -> None:
    """Evaluate a few cases and print a forecast for each model."""
    from ragbed.api.runs import forecast_job
    from ragbed.cli.console import print_json, print_table, say
    from ragbed.cli.results import tell_truncated
    from ragbed.runs.display_names import short_names

    forecasts = forecast_job(job)
    names = short_names([model.name for model in job.models], job.names)
    rows = [
        (
            names[row.model],
            row.calls,
            row.tokens_in,
            row.tokens_out,
            _show_cost(row),
            f"{row.minutes:.1f}",
        )
        for row in forecasts
    ]
    columns = ("model", "calls", "input tokens", "output tokens", "cost", "minutes")
    print_table("Forecast", columns, rows, to_stderr=to_json)
    if job.rule is not None:
        say("--until may stop the run before it has made all of these calls.")
    for row in forecasts:
        if row.truncated:
            say(f"{names[row.model]}: {tell_truncated(row.truncated, job.settings['max_tokens'])}")
    if to_json:
        print_json({"forecasts": forecasts})


def _show_cost(row: Forecast) -> str:
    if row.dollars is None or row.dollars_low is None or row.dollars_high is None:
        return "–"
    return f"{row.dollars:.2f} $ [{row.dollars_low:.2f}, {row.dollars_high:.2f}]"
