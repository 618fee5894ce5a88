"""Is a port free, and if not, who has it?"""

from __future__ import annotations

import errno
import socket

import psutil


def why_not_free(host: str, port: int) -> str | None:
    """None when ``host:port`` can be listened on; else a sentence that names the port, its holder if known, and the way out."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except PermissionError:
        return f"port {port} needs root: use another one, e.g. --port 8000"
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            return f"this machine has no address {host}: use --host 127.0.0.1 or --host 0.0.0.0"
        if error.errno != errno.EADDRINUSE:
            return f"cannot listen on {host}:{port}: {error.strerror}"
        holder = _holder(port)
        return f"port {port} is taken{f' by {holder}' if holder else ''}: stop that, or use another one, e.g. --port {port + 1}"
    return None


def _holder(port: int) -> str:
    """Name and pid of the process that listens on ``port``, if this user may know."""
    try:
        for connection in psutil.net_connections(kind="tcp"):
            if (
                connection.status == psutil.CONN_LISTEN
                and connection.laddr
                and connection.laddr.port == port
                and connection.pid
            ):
                return f"'{psutil.Process(connection.pid).name()}' (pid {connection.pid})"
    except psutil.Error:
        pass
    return ""
