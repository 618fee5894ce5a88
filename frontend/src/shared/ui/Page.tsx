/** The frame of every page: one `h1`, a lead sentence, actions, the document's title. */

import { type ReactNode, useEffect } from "react";
import { useT } from "../i18n";

export function Page({
  title,
  lead,
  actions,
  children,
}: {
  title: string;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  const { t } = useT();
  useEffect(() => {
    document.title = `${title} · ${t("app.name")}`;
  }, [title, t]);
  return (
    <div className="lh-page">
      <header className="lh-page-head">
        <div>
          <h1>{title}</h1>
          {lead ? <p className="lh-lead">{lead}</p> : null}
        </div>
        {actions ? <div className="lh-actions">{actions}</div> : null}
      </header>
      {children}
    </div>
  );
}

export function EmptyState({ text, action }: { text: string; action?: ReactNode }) {
  return (
    <div className="lh-empty">
      <p>{text}</p>
      {action}
    </div>
  );
}
