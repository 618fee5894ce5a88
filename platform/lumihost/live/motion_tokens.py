"""Short-lived tokens with which a client watches or drives the host of one session over DMCP."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from lumihost.config.secret_files import read_or_create
from lumihost.core import audit, clock
from lumihost.core.audit import Actor
from lumihost.core.problems import Conflict, Missing, Unavailable, register
from lumihost.live import state
from lumihost.live.models import LiveSession
from workers.contracts.motion import GATEWAY_FACT, SUBPROTOCOL, Role, SigningKey, jwk_set

log = logging.getLogger(__name__)

TOKEN_LIFE_S = 900
NOT_LIVE = register("session_not_live", "该场次不在直播中", "The session is not live")
NO_GATEWAY = register("motion_gateway_unavailable", "该节点没有动作网关", "The node has no motion gateway")
_keys: dict[Path, SigningKey] = {}


class GatewayAway(Unavailable):
    """503: the session's node has no gateway that could be connected to."""

    code = NO_GATEWAY


@dataclass(frozen=True, slots=True)
class MotionToken:
    """A token and where it opens a connection."""

    token: str
    role: Role
    session: str
    url: str
    protocol: str
    expires_at: datetime


@transaction.atomic
def issue_motion_token(*, session_id: str, role: Role, actor: Actor) -> MotionToken:
    """A token for one session and role; the audit trail keeps its nonce, never the token.

    Raises:
        Missing: no such session. Conflict: it is over. GatewayAway: it is on no node or on one without a gateway, or
            this installation has no key to sign with.
    """
    session = LiveSession.objects.select_related("node", "tenant").filter(pk=session_id).first()
    if session is None:
        raise Missing(f"there is no session '{session_id}'")
    if session.state in state.FINAL:
        raise Conflict(f"session {session_id} is {session.state}: only a session on the air has a host to move", code=NOT_LIVE)
    url = str(session.node.hardware.get(GATEWAY_FACT, "")) if session.node is not None else ""
    if not url:
        raise GatewayAway("the session is not on a node with a motion gateway: try again once it is live")
    key = signing_key()
    if key is None:
        raise GatewayAway("this installation cannot sign motion tokens: its log says why")
    now = clock.now()
    token, claims = key.issue(
        session=session.pk, tenant=session.tenant_id, role=role, life_s=TOKEN_LIFE_S, now_s=now.timestamp()
    )
    expires_at = datetime.fromtimestamp(claims.expires_s, UTC)
    audit.record(
        actor=actor, action="session.motion_token_issued", target=session,
        after={"role": role, "nonce": claims.nonce, "expires_at": expires_at.isoformat()},
    )  # fmt: skip
    return MotionToken(token, role, session.pk, url, SUBPROTOCOL, expires_at)


def public_keys() -> dict[str, Any]:
    """What nodes are given to check tokens with: a JWK set of public keys, empty when there is no key."""
    key = signing_key()
    return jwk_set(key) if key is not None else {}


def signing_key() -> SigningKey | None:
    """The installation's key, made on first use; ``None`` when its file can be neither read nor made.

    That is logged and no error: a node must be able to run shows without motion tokens.
    """
    file = Path(settings.MOTION_KEY_FILE)
    if file not in _keys:
        try:
            _keys[file] = SigningKey.from_text(read_or_create(file, lambda: SigningKey.generate().to_text()))
        except (OSError, ValueError) as error:
            log.error("no motion tokens: %s: %s: put a key at LUMIHOST_MOTION_KEY_FILE", file, error)
            return None
    return _keys[file]
