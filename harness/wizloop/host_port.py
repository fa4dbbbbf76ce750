"""HOST:PORT as a user types it, taken apart in one way wherever the command reads it; `sim/core/host_port.hpp` is the same
for the programs in C++."""

from __future__ import annotations


def split_host_port(text: str) -> tuple[str, int] | None:
    """Host (without the brackets of an IPv6 address; empty if there was none) and port, 0 to 65535 in decimal digits.

    None if it is none: no colon, no port, or more colons than one outside of brackets.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 0xFFFF:
        return None
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        return (host, int(port)) if host else None
    return None if ":" in host else (host, int(port))
