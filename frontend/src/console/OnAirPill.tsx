import { Link } from "react-router";
import { useSessions } from "../shared/api/sessions";
import { useT } from "../shared/i18n";

/** On every page: how many shows are on the air now, and the way to them. */
export function OnAirPill() {
  const { t } = useT();
  const sessions = useSessions();
  const live = (sessions.data?.items ?? []).filter((s) => s.state === "live" || s.state === "interrupted");
  const only = live.length === 1 ? live[0] : undefined;
  return (
    <Link to={only ? `/live/${only.id}` : "/live"} className={`lh-pill ${live.length > 0 ? "lh-live" : "lh-idle"}`}>
      <span aria-hidden="true" className={live.length > 0 ? "lh-dot-live" : undefined}>
        {live.length > 0 ? "●" : "○"}
      </span>{" "}
      <span>{live.length > 0 ? t("app.onAir", { n: live.length }) : t("app.onAir.none")}</span>
    </Link>
  );
}
