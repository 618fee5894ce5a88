import { Button } from "antd";
import { useRevalidator } from "react-router";
import { useT } from "../shared/i18n";
import { EmptyState, Page } from "../shared/ui/Page";

/** A page that could not be loaded or drawn (for example after a new version was installed). */
export function RouteFailed() {
  const { t } = useT();
  const { revalidate } = useRevalidator();
  return (
    <Page title={t("app.broken")} lead={t("app.broken.detail")}>
      <EmptyState
        text={t("problem.unexpected")}
        action={
          <>
            <Button onClick={() => void revalidate()}>{t("do.retry")}</Button>{" "}
            <a href={window.location.pathname}>{t("do.refresh")}</a>
          </>
        }
      />
    </Page>
  );
}
