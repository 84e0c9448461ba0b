"""Parse base URLs, find the proxy for a URL, and merge headers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address, ip_network

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
    if not proxy_text or any(_matches(pattern.strip(), url) for pattern in exempt.lower().split(",")):
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


def _matches(pattern: str, url: URL) -> bool:
    """Return whether a URL matches a `no_proxy` entry: `*` or a domain, IP address or network with an optional port."""
    host = (url.host or "").lower()
    with suppress(ValueError):  # the `no_proxy` entry is not a network, or the host is not an IP address
        return ip_address(host) in ip_network(pattern.strip("[]"), strict=False)
    name, colon, port = pattern.rpartition(":")
    if colon and port.isdigit():
        return url.port == int(port) and _matches(name, url)
    suffix = pattern.lstrip(".")
    return bool(suffix) and (suffix in ("*", host) or host.endswith(f".{suffix}"))


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
