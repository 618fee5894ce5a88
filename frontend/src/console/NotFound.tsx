import { Link } from "react-router";
import { useT } from "../shared/i18n";
import { EmptyState, Page } from "../shared/ui/Page";

export function NotFound() {
  const { t } = useT();
  return (
    <Page title={t("app.notFound")}>
      <EmptyState text={t("problem.not_found")} action={<Link to="/live">{t("nav.live")}</Link>} />
    </Page>
  );
}
