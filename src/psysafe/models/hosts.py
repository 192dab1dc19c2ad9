"""Whether a host is this machine."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether a host name or address (without a port) can only mean this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(url: str) -> tuple[str, bool]:
    """Host with port as people write it, and whether it is this machine.

    Raises:
        ValueError: the URL names no host, or is malformed.
    """
    parts = urlsplit(url)
    if not parts.hostname:
        raise ValueError("it names no host")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return (f"{host}:{parts.port}" if parts.port else host), is_loopback(parts.hostname)
