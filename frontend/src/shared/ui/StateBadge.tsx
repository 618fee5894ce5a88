/** The state of a session: mark, word and colour together, since colour is never the only sign. */

import type { SessionState } from "../api/contract";
import { useT } from "../i18n";

const LOOK: Record<SessionState, { mark: string; tone: string }> = {
  requested: { mark: "◷", tone: "idle" },
  assigned: { mark: "◐", tone: "info" },
  starting: { mark: "◐", tone: "info" },
  live: { mark: "●", tone: "live" },
  interrupted: { mark: "↻", tone: "warn" },
  stopping: { mark: "◔", tone: "info" },
  ended: { mark: "■", tone: "idle" },
  failed: { mark: "✖", tone: "danger" },
};

export function StateBadge({ state }: { state: SessionState }) {
  const { tCode } = useT();
  const look = LOOK[state] ?? { mark: "?", tone: "idle" };
  return (
    <span className={`lh-badge lh-${look.tone}`}>
      <span aria-hidden="true" className={state === "live" ? "lh-dot-live" : undefined}>
        {look.mark}
      </span>{" "}
      {tCode("state", state)}
    </span>
  );
}
