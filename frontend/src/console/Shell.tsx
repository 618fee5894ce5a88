import {
  CommentOutlined,
  HistoryOutlined,
  ProfileOutlined,
  ShareAltOutlined,
  ShoppingOutlined,
  UserOutlined,
  VideoCameraOutlined,
} from "@ant-design/icons";
import { Spin } from "antd";
import { Suspense, useEffect, useRef } from "react";
import { Link, NavLink, Outlet, useLocation, useNavigation } from "react-router";
import { useWorkspace } from "../shared/auth/session";
import { type MessageKey, useT } from "../shared/i18n";
import { PanelBoundary } from "../shared/ui/Problem";
import { OnAirPill } from "./OnAirPill";
import { Preferences } from "./Preferences";
import { useTenantNews } from "./useTenantNews";

const NAV: { to: string; label: MessageKey; icon: React.ReactNode; needs: string; alone?: true }[] = [
  { to: "/live", label: "nav.live", icon: <VideoCameraOutlined aria-hidden="true" />, needs: "sessions:view" },
  { to: "/shows", label: "nav.shows", icon: <ProfileOutlined aria-hidden="true" />, needs: "shows:view" },
  {
    to: "/presenters",
    label: "nav.presenters",
    icon: <UserOutlined aria-hidden="true" />,
    needs: "avatars:view",
    // A document of its own: only the server's answer can make it cross-origin isolated.
    alone: true,
  },
  { to: "/products", label: "nav.products", icon: <ShoppingOutlined aria-hidden="true" />, needs: "products:view" },
  { to: "/faq", label: "nav.faq", icon: <CommentOutlined aria-hidden="true" />, needs: "products:view" },
  { to: "/channels", label: "nav.channels", icon: <ShareAltOutlined aria-hidden="true" />, needs: "channels:view" },
  { to: "/sessions", label: "nav.sessions", icon: <HistoryOutlined aria-hidden="true" />, needs: "sessions:view" },
];

export function Shell({ onSignOut }: { onSignOut: () => void }) {
  const { t } = useT();
  const { tenant, memberships, switchTenant, can } = useWorkspace();
  const { pathname } = useLocation();
  const navigation = useNavigation();
  const main = useRef<HTMLElement>(null);
  useTenantNews(tenant.id);
  const first = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new address is what moves the focus, as a page load would.
  useEffect(() => {
    if (first.current) first.current = false;
    else main.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [pathname]);
  return (
    <div className="lh-shell">
      <a className="lh-skip" href="#main">
        {t("app.skip")}
      </a>
      <header className="lh-top">
        <Link to="/live" className="lh-brand">
          {t("app.name")}
        </Link>
        {memberships.length > 1 ? (
          <select
            className="lh-tenant"
            aria-label={t("app.tenant")}
            value={tenant.id}
            onChange={(event) => switchTenant(event.target.value)}
          >
            {memberships.map((m) => (
              <option key={m.tenant.id} value={m.tenant.id}>
                {m.tenant.name}
              </option>
            ))}
          </select>
        ) : (
          <span className="lh-tenant-name">{tenant.name}</span>
        )}
        <span className="lh-spring" />
        {can("sessions:view") ? <OnAirPill /> : null}
        <Preferences onSignOut={onSignOut} />
      </header>
      <nav className="lh-nav" aria-label={t("app.menu")}>
        {NAV.filter((item) => can(item.needs)).map((item) => (
          <NavLink key={item.to} to={item.to} reloadDocument={item.alone} className="lh-nav-item">
            {item.icon}
            <span>{t(item.label)}</span>
          </NavLink>
        ))}
      </nav>
      <main id="main" ref={main} tabIndex={-1} className="lh-main" aria-busy={navigation.state === "loading"}>
        <PanelBoundary key={pathname}>
          <Suspense fallback={<Spin />}>
            <div key={tenant.id}>
              <Outlet />
            </div>
          </Suspense>
        </PanelBoundary>
      </main>
    </div>
  );
}
