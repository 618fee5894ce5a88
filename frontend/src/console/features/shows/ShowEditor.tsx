import { useMutation, useQueryClient } from "@tanstack/react-query";
import { App, Button } from "antd";
import { useEffect, useRef, useState } from "react";
import { useBlocker, useNavigate } from "react-router";
import { request } from "../../../shared/api/client";
import type { Show } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { Page } from "../../../shared/ui/Page";
import { ProblemAlert } from "../../../shared/ui/Problem";
import { GoLive } from "../../golive/GoLive";
import { type Draft, draftOf, firstEmptyLine } from "./draft";
import { Outline } from "./Outline";
import { SegmentEditor } from "./SegmentEditor";
import { ShowSettings } from "./ShowSettings";

export function ShowEditor({ id, initial }: { id: string | null; initial: Draft }) {
  const { t } = useT();
  const { tenant, path, can } = useWorkspace();
  const client = useQueryClient();
  const navigate = useNavigate();
  const { message } = App.useApp();
  const [draft, setDraft] = useState(initial);
  const [stored, setStored] = useState(initial);
  const [chosen, setChosen] = useState(0);
  const dirty = draft !== stored;
  const leaving = useLeaveGuard(dirty);
  const writes = can("shows:write");
  const save = useMutation({
    mutationFn: (json: Draft) =>
      request<Show>(id ? path(`/shows/${id}`) : path("/shows"), { method: id ? "PATCH" : "POST", json }),
    onSuccess: async (show, sent) => {
      void message.success(t("do.saved"));
      client.setQueryData(keys.show(tenant.id, show.id), show);
      void client.invalidateQueries({ queryKey: keys.shows(tenant.id), exact: true });
      if (!id) {
        leaving.allow();
        await navigate(`/shows/${show.id}`, { replace: true });
      } else {
        const fresh = draftOf(show);
        setStored(fresh);
        // Words typed while the request was on its way stay, and stay unsaved.
        setDraft((now) => (now === sent ? fresh : now));
      }
    },
  });
  const submit = () => {
    const empty = firstEmptyLine(draft.segments);
    if (!draft.title.trim()) {
      void message.error(`${t("show.title")}: ${t("required")}`);
      document.getElementById("show-title")?.focus();
    } else if (empty) {
      setChosen(empty.segment);
      void message.error(t("line.empty"));
      setTimeout(() => document.getElementById(`line-${empty.line}`)?.focus());
    } else save.mutate(draft);
  };
  const segment = draft.segments[chosen];
  return (
    <Page
      title={draft.title || t("show.untitled")}
      lead={
        <span role="status" className={`lh-badge ${dirty || !id ? "lh-warn" : "lh-ok"}`}>
          {dirty || !id ? `○ ${t("show.unsaved")}` : `✔ ${t("show.allSaved")}`}
        </span>
      }
      actions={
        <>
          {id ? (
            <GoLive show={{ id, title: stored.title }} disabledReason={dirty ? t("show.saveFirst") : undefined} />
          ) : null}
          {writes ? (
            <Button type="primary" loading={save.isPending} disabled={!dirty && id !== null} onClick={submit}>
              {t("do.save")}
            </Button>
          ) : null}
        </>
      }
    >
      {save.error ? <ProblemAlert error={save.error} /> : null}
      <div className="lh-stack">
        <ShowSettings draft={draft} disabled={!writes} onChange={(change) => setDraft({ ...draft, ...change })} />
        <div className="lh-editor">
          <Outline
            draft={draft}
            chosen={chosen}
            disabled={!writes}
            onChoose={setChosen}
            onChange={(segments) => setDraft({ ...draft, segments })}
          />
          {segment ? (
            <SegmentEditor
              key={segment.id}
              segment={segment}
              number={chosen + 1}
              language={draft.language}
              disabled={!writes}
              onChange={(change) =>
                setDraft((now) => ({
                  ...now,
                  segments: now.segments.map((s) => (s.id === segment.id ? { ...s, ...change } : s)),
                }))
              }
            />
          ) : null}
        </div>
      </div>
    </Page>
  );
}

/** Asks before unsaved words are lost, inside the app and when the tab closes. */
function useLeaveGuard(dirty: boolean): { allow: () => void } {
  const { t } = useT();
  const { modal } = App.useApp();
  const allowed = useRef(false);
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) =>
      dirty && !allowed.current && currentLocation.pathname !== nextLocation.pathname,
  );
  useEffect(() => {
    if (blocker.state !== "blocked") return;
    modal.confirm({
      title: t("do.discardAsk"),
      okText: t("do.leave"),
      cancelText: t("do.stay"),
      focusable: { autoFocusButton: "cancel" },
      onOk: () => blocker.proceed(),
      onCancel: () => blocker.reset(),
    });
  }, [blocker, modal, t]);
  useEffect(() => {
    if (!dirty) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", warn);
    return () => window.removeEventListener("beforeunload", warn);
  }, [dirty]);
  return {
    allow: () => {
      allowed.current = true;
    },
  };
}
