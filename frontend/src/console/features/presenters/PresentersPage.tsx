import { DownloadOutlined } from "@ant-design/icons";
import { Skeleton, Spin } from "antd";
import { lazy, Suspense } from "react";
import { useNavigate, useParams } from "react-router";
import type { Avatar } from "../../../shared/api/contract";
import { useAvatars, usePictures } from "../../../shared/api/presenters";
import { useT } from "../../../shared/i18n";
import { EmptyState, Page } from "../../../shared/ui/Page";
import { PanelBoundary, ProblemAlert } from "../../../shared/ui/Problem";
import "./presenters.css";

// three.js comes with it, and with nothing else of the console.
const Preview = lazy(() => import("./Preview"));

export default function PresentersPage() {
  const { t, lang } = useT();
  const { avatarId } = useParams();
  const navigate = useNavigate();
  const avatars = useAvatars();
  const items = avatars.data ?? [];
  const chosen = avatarId ? items.find((avatar) => avatar.id === avatarId) : items[0];
  return (
    <Page title={t("presenters.title")} lead={t("presenters.lead")}>
      {avatars.error ? <ProblemAlert error={avatars.error} onRetry={() => void avatars.refetch()} /> : null}
      {avatars.isPending ? <Skeleton active /> : null}
      {avatars.isSuccess && items.length === 0 ? <EmptyState text={t("presenters.empty")} /> : null}
      {avatarId && avatars.isSuccess && !chosen ? (
        <p role="alert">{t("presenters.unknown", { id: avatarId })}</p>
      ) : null}
      <div className="lh-presenters">
        {chosen ? (
          <div className="lh-presenter-view">
            <PanelBoundary>
              <Suspense fallback={<Spin />}>
                <Preview avatar={chosen} />
              </Suspense>
            </PanelBoundary>
            <Facts avatar={chosen} />
          </div>
        ) : null}
        <ul className="lh-presenter-list" aria-label={t("presenters.list")}>
          {items.map((avatar) => (
            <li key={avatar.id}>
              <Card
                avatar={avatar}
                pressed={avatar === chosen}
                onChoose={() => void navigate(`/presenters/${avatar.id}`, { replace: true, preventScrollReset: true })}
                name={avatar.name[lang] || avatar.id}
              />
            </li>
          ))}
        </ul>
      </div>
    </Page>
  );
}

function Card({
  avatar,
  name,
  pressed,
  onChoose,
}: {
  avatar: Avatar;
  name: string;
  pressed: boolean;
  onChoose: () => void;
}) {
  const { t } = useT();
  const picture = usePictures().portrait(avatar);
  return (
    <button type="button" className="lh-presenter" aria-pressed={pressed} onClick={onChoose}>
      {picture ? (
        <img src={picture} alt={t("presenter.portrait.of", { name })} width={480} height={600} loading="lazy" />
      ) : (
        <span className="lh-presenter-none" aria-hidden="true" />
      )}
      <span className="lh-presenter-name">{name}</span>
      <span className="lh-meta">
        <Presents avatar={avatar} />
      </span>
      <span className="lh-meta">
        {t("presenter.licence")}: {avatar.licence.spdx || t("presenter.consent.unknown")}
      </span>
    </button>
  );
}

/** Who is shown: in the reader's language for the presenters that come with the engine, else in the pack's own words. */
function Presents({ avatar }: { avatar: Avatar }) {
  const { tCode } = useT();
  const words = tCode("presents", avatar.id);
  return words === avatar.id ? <span lang="en">{avatar.presents}</span> : words;
}

function Facts({ avatar }: { avatar: Avatar }) {
  const { t, lang } = useT();
  const { pack } = usePictures();
  const { licence, consent } = avatar;
  const likeness =
    consent.subject === "synthetic"
      ? t("presenter.consent.synthetic")
      : consent.subject === "person"
        ? t("presenter.consent.person", { by: consent.granted_by, on: consent.granted_on })
        : t("presenter.consent.unknown");
  return (
    <section className="lh-card" aria-labelledby="presenter-facts">
      <h2 id="presenter-facts">{avatar.name[lang] || avatar.id}</h2>
      <p>
        <Presents avatar={avatar} />
      </p>
      <dl className="lh-facts">
        <dt>{t("presenter.consent")}</dt>
        <dd>{likeness}</dd>
        <dt>{t("presenter.licence")}</dt>
        <dd>{licence.spdx || t("presenter.consent.unknown")}</dd>
        <dt>{t("presenter.attribution")}</dt>
        <dd lang="en">{licence.attribution || licence.origin || t("presenter.consent.unknown")}</dd>
      </dl>
      <a href={pack(avatar)} download={`${avatar.id}.glb`}>
        <DownloadOutlined aria-hidden="true" /> {t("presenter.download", { size: (avatar.bytes / 1e6).toFixed(1) })}
      </a>
    </section>
  );
}
