"""DMCP 1.2, the digital-human motion control protocol: codec, gateway process and client (docs/dmcp.md)."""

VERSION = "1.2"
SUBPROTOCOL = "dmcp.1.2"
SUBPROTOCOLS = (SUBPROTOCOL,)
"""What this implementation speaks, best first."""
