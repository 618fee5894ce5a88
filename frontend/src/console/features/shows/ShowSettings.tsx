import { useQuery } from "@tanstack/react-query";
import { Checkbox, Input, InputNumber, Select } from "antd";
import { request } from "../../../shared/api/client";
import type { Lang, Page, Voice } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { useAvatars } from "../../../shared/api/presenters";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import type { Draft } from "./draft";
import { LookChoice } from "./LookChoice";

/** Title, language, voices, pace, presenter, studio, loop. */
export function ShowSettings({
  draft,
  disabled,
  onChange,
}: {
  draft: Draft;
  disabled: boolean;
  onChange: (change: Partial<Draft>) => void;
}) {
  const { t, lang } = useT();
  const presenter = useAvatars().data?.find((avatar) => avatar.id === draft.avatar);
  const hint = (of: "voice_zh" | "voice_en") =>
    presenter && draft[of] !== presenter[of]
      ? t("show.voice.other", { name: presenter.name[lang] || presenter.name.zh || presenter.id })
      : "";
  return (
    <section className="lh-card" aria-labelledby="show-settings">
      <h2 id="show-settings">{t("show.settings")}</h2>
      <div className="lh-fields">
        <div className="lh-field">
          <label htmlFor="show-title">{t("show.title")}</label>
          <Input
            id="show-title"
            value={draft.title}
            maxLength={200}
            disabled={disabled}
            onChange={(event) => onChange({ title: event.target.value })}
          />
        </div>
        <div className="lh-field">
          <label htmlFor="show-language">{t("show.language")}</label>
          <Select<Lang>
            id="show-language"
            value={draft.language}
            disabled={disabled}
            onChange={(language) => onChange({ language })}
            options={[
              { value: "zh", label: t("lang.zh") },
              { value: "en", label: t("lang.en") },
            ]}
          />
        </div>
        <StockSelect
          id="show-voice-zh"
          what="voices"
          language="zh"
          label={t("show.voice_zh")}
          value={draft.voice_zh}
          hint={hint("voice_zh")}
          disabled={disabled}
          onChange={(voice_zh) => onChange({ voice_zh })}
        />
        <StockSelect
          id="show-voice-en"
          what="voices"
          language="en"
          label={t("show.voice_en")}
          value={draft.voice_en}
          hint={hint("voice_en")}
          disabled={disabled}
          onChange={(voice_en) => onChange({ voice_en })}
        />
        <div className="lh-field">
          <label htmlFor="show-speed">{t("show.speed")}</label>
          <InputNumber
            id="show-speed"
            min={0.5}
            max={2}
            step={0.05}
            value={draft.speed}
            disabled={disabled}
            onChange={(speed) => onChange({ speed: speed ?? 1 })}
          />
        </div>
      </div>
      <LookChoice draft={draft} disabled={disabled} onChange={onChange} />
      <p>
        <Checkbox
          checked={draft.loop}
          disabled={disabled}
          onChange={(event) => onChange({ loop: event.target.checked })}
        >
          {t("show.loop")}
        </Checkbox>
      </p>
    </section>
  );
}

function StockSelect({
  id,
  what,
  language,
  label,
  value,
  hint,
  disabled,
  onChange,
}: {
  id: string;
  what: "voices";
  language: Lang;
  label: string;
  value: string;
  hint: string;
  disabled: boolean;
  onChange: (value: string) => void;
}) {
  const { lang } = useT();
  const { tenant, path } = useWorkspace();
  const stock = useQuery({
    queryKey: keys.stock(tenant.id, what),
    queryFn: async () => (await request<Page<Voice>>(path(`/${what}`))).items,
    staleTime: 10 * 60_000,
  });
  const fitting = (stock.data ?? []).filter((item) => item.language === language);
  const options = fitting.map((item) => ({ value: item.id, label: item.name[lang] || item.name.zh || item.id }));
  if (!options.some((option) => option.value === value)) options.unshift({ value, label: value });
  return (
    <div className="lh-field">
      <label htmlFor={id}>{label}</label>
      <Select id={id} value={value} options={options} disabled={disabled} onChange={onChange} />
      <span className="lh-meta" role="status">
        {hint}
      </span>
    </div>
  );
}
