"""Motion tokens: the platform signs them, a node's DMCP gateway checks them (format: docs/dmcp.md)."""

from gpu_engine.dmcp import SUBPROTOCOL
from gpu_engine.dmcp.token import Claims, Role, SigningKey, VerifyingKeys, jwk_set

GATEWAY_FACT = "motion_gateway"
"""Name under which a node's hardware facts give the address of its gateway, e.g. ``ws://192.0.2.7:8770/dmcp``."""

__all__ = ["GATEWAY_FACT", "SUBPROTOCOL", "Claims", "Role", "SigningKey", "VerifyingKeys", "jwk_set"]
