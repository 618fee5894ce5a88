import { GlobalOutlined, LogoutOutlined, MoonOutlined, SunOutlined } from "@ant-design/icons";
import { Button, Tooltip } from "antd";
import { changeLanguage, useT } from "../shared/i18n";
import { useThemeMode } from "../shared/ui/theme";

/** Language, theme and the way out. */
export function Preferences({ onSignOut }: { onSignOut?: () => void }) {
  const { t, lang } = useT();
  const { mode, toggle } = useThemeMode();
  const themeLabel = t(mode === "light" ? "app.theme.dark" : "app.theme.light");
  const other = lang === "zh" ? "en" : "zh";
  return (
    <div className="lh-prefs">
      <Tooltip title={t("app.language.other")}>
        <Button
          type="text"
          icon={<GlobalOutlined aria-hidden="true" />}
          aria-label={t("app.language.other")}
          lang={other === "zh" ? "zh-Hans" : "en"}
          onClick={() => changeLanguage(other)}
        >
          <span aria-hidden="true" className="lh-prefs-word">
            {other === "zh" ? "中文" : "English"}
          </span>
        </Button>
      </Tooltip>
      <Tooltip title={themeLabel}>
        <Button
          type="text"
          icon={mode === "light" ? <MoonOutlined aria-hidden="true" /> : <SunOutlined aria-hidden="true" />}
          aria-label={themeLabel}
          onClick={toggle}
        />
      </Tooltip>
      {onSignOut ? (
        <Tooltip title={t("app.signOut")}>
          <Button
            type="text"
            icon={<LogoutOutlined aria-hidden="true" />}
            aria-label={t("app.signOut")}
            onClick={onSignOut}
          />
        </Tooltip>
      ) : null}
    </div>
  );
}
