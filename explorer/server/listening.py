"""Where the page listens: an address of this machine and a port that is free, or a sentence on why there is none."""

from __future__ import annotations

import errno
import os
import socket

from trainers.errors import UserError

FIRST = 7860
"""The port that is tried first where none was asked for, and how many after it, as Gradio has it."""
TRIED = 100
_PORTS = 65_535


def given_address(text: str) -> str:
    """Read the address to listen at, a name or number without its brackets.

    Raises:
        UserError: it is none of this machine's.
    """
    host = text.strip()
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    try:
        _listen(host, 0)
    except (OSError, UnicodeError) as error:
        raise UserError(
            f"--host needs a name or number of this machine without a port, say 127.0.0.1, ::1 or 0.0.0.0 for every "
            f"network; {text!r} is none."
        ) from error
    return host


def free_port(host: str, asked: int | None) -> int:
    """Return the port that was asked for, or the first that is free.

    Args:
        host: see :func:`given_address`.
        asked: 0 takes any that is free; None, one from ``GRADIO_SERVER_PORT`` or 7860 on.

    Raises:
        UserError: it is no port, it is taken, or none is free.
    """
    first = _of_environment("GRADIO_SERVER_PORT", FIRST)
    last = min(first + _of_environment("GRADIO_NUM_PORTS", TRIED), _PORTS + 1) - 1
    if asked is not None:
        _check(asked, "--port")
        try:
            return _listen(host, asked)
        except OSError as error:
            raise UserError(_refused(host, asked, error)) from error
    for port in range(first, last + 1):
        try:
            return _listen(host, port)
        except OSError:
            continue
    raise UserError(f"No port from {first} to {last} of {host} is free. Name another one with --port.")


def in_address(host: str) -> str:
    """Return a host as it stands in the address of a page: a number of IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def _of_environment(name: str, otherwise: int) -> int:
    text = os.environ.get(name) or str(otherwise)
    if not (text.isascii() and text.isdigit()):
        raise UserError(f"{name} in the environment needs a whole number; got {text!r}.")
    _check(int(text), name)
    return int(text)


def _check(port: int, name: str) -> None:
    if not 0 <= port <= _PORTS:
        raise UserError(f"{name} needs a number from 0 (any that is free) to {_PORTS}; got {port}.")


def _refused(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} of {host} is taken, perhaps by a page of this program that still runs. End what holds it, or "
            "leave --port out: then the next free one is taken."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} may be opened by the administrator alone. Choose one from 1024 on."
    return f"Port {port} of {host} cannot be opened: {error.strerror}. Choose another one."


def _listen(host: str, port: int) -> int:
    """Listen as the server will, end it, and return the port.

    Raises:
        OSError: it cannot.
    """
    if not host or host != host.strip():
        raise OSError(errno.EADDRNOTAVAIL, "no address")
    for place in (host, "127.0.0.1"):  # Gradio takes no port that is taken there
        for family, kind, protocol, _, address in socket.getaddrinfo(place, port, type=socket.SOCK_STREAM):
            with socket.socket(family, kind, protocol) as probe:
                if os.name == "posix":
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind(address)
                probe.listen(1)
                port = port or probe.getsockname()[1]
    return port
