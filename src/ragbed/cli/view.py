"""`ragbed view`: show the cases of one or more runs in the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragbed.cli.options import command

if TYPE_CHECKING:
    from ragbed.api.job_specs import ViewSpec


@command()
def view(spec: ViewSpec) -> None:
    """View every case of one or more runs in the browser.

    The page has filters and full-text search in English and Chinese, compares models side by side, and shows for each
    case the prompt as sent, documents with relevance labels, marked answers, verdicts of all scorers with their
    evidence, and judgements. Labels that you assign are stored in RUN/labels.jsonl, for `ragbed judge RUN --labels`.
    The page follows runs in progress and shows new runs. Without a path, it shows the `runs` folder.

    Only this machine can open the page, and only with the printed URL.

    \b
    Examples:
      ragbed view
      ragbed view runs/qwen runs/llama --open
    """
    from ragbed.api.serving import open_viewer
    from ragbed.cli.pages import serve_page

    serve_page(open_viewer(spec), "New runs appear on the page as they start.", open_=spec.open_)
