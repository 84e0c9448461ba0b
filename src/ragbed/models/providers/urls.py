"""Parse base URLs, find the proxy for a URL, and merge headers."""

from __future__ import annotations

from collections.abc import Mapping

from yarl import URL

from ragbed.errors import UsageError


def valid_url(text: str) -> URL | None:
    """Parse a URL; return None if it is invalid or has no host.

    yarl reports some defects, as in `http://[::zz]` or `http://xn--/`, only when it parses its own output.
    """
    try:
        url = URL(text)
        return url if URL(str(url)).host else None
    except ValueError:
        return None


def proxy_for(url: URL, environ: Mapping[str, str]) -> URL | None:
    """Return the proxy for a URL according to `https_proxy`, `http_proxy` and `no_proxy`.

    Raises:
        UsageError: The proxy is not a valid http:// URL.
    """
    variable, proxy_text = _lower_or_upper(environ, f"{url.scheme}_proxy")
    _, exempt = _lower_or_upper(environ, "no_proxy")
    if not proxy_text:
        return None
    from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # noqa: PLC0415 - slow to import

    if exempt and proxy_bypass_environment(f"{url.host}:{url.port}", {"no": exempt}):
        return None
    proxy = valid_url(proxy_text if "://" in proxy_text else f"http://{proxy_text}")
    if proxy is None:
        raise UsageError(f"{variable} is not set to a valid proxy URL. Use the form http://host:port.")
    if proxy.scheme != "http":
        raise UsageError(
            f"{variable} is set to a {proxy.scheme}:// proxy, but only http:// proxies are supported. Use an "
            "http:// proxy (https requests work through it too), or add the server to no_proxy."
        )
    return proxy


def _lower_or_upper(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    used = name if environ.get(name) else name.upper()
    return used, environ.get(used) or ""


def merge_headers(*groups: Mapping[str, str]) -> dict[str, str]:
    """Merge headers; if a name occurs in several groups, in upper or lower case, the last value counts."""
    return dict({name.lower(): (name, value) for headers in groups for name, value in headers.items()}.values())


def below(base: URL, path: str) -> URL:
    """Append a path to a base URL, keeping the base URL's query (`?api-version=…`)."""
    return base.with_path(f"{base.path.rstrip('/')}/{path}", keep_query=True) if path else base


def read_url(text: str, model: str) -> URL:
    """Parse a model's base URL."""
    url = valid_url(text)
    if url is None or url.scheme not in ("http", "https"):
        # The URL may contain a password, so it is omitted from the message.
        raise UsageError(
            f"the URL of {model} is not valid because it lacks a host or does not start with http:// or https://. "
            "Correct the model string or the base URL variable, e.g. http://host:8000/v1."
        )
    return url
