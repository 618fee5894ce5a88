import { type ReactNode, useId } from "react";
import { useAvatars, useBackdrops, usePictures } from "../../../shared/api/presenters";
import { useT } from "../../../shared/i18n";
import { type Draft, withPresenter } from "./draft";

/** Who presents and where, chosen by picture. */
export function LookChoice({
  draft,
  disabled,
  onChange,
}: {
  draft: Draft;
  disabled: boolean;
  onChange: (change: Partial<Draft>) => void;
}) {
  const { t, lang } = useT();
  const avatars = useAvatars();
  const backdrops = useBackdrops();
  const pictures = usePictures();
  return (
    <div className="lh-looks">
      <Pictures
        legend={t("show.avatar")}
        value={draft.avatar}
        disabled={disabled}
        loaded={avatars.isSuccess}
        onChoose={(avatar) => onChange(withPresenter(draft, avatars.data ?? [], avatar))}
        options={(avatars.data ?? []).map((avatar) => ({
          id: avatar.id,
          name: avatar.name[lang] || avatar.name.zh || avatar.id,
          picture: pictures.portrait(avatar),
        }))}
        shape="lh-look-portrait"
      />
      <Pictures
        legend={t("show.backdrop")}
        value={draft.backdrop}
        disabled={disabled}
        loaded={backdrops.isSuccess}
        onChoose={(backdrop) => onChange({ backdrop })}
        options={(backdrops.data ?? []).map((backdrop) => ({
          id: backdrop.id,
          name: backdrop.name[lang] || backdrop.name.zh || backdrop.id,
          picture: pictures.backdrop(backdrop.id, "wide"),
        }))}
        shape="lh-look-wide"
      />
    </div>
  );
}

interface Option {
  id: string;
  name: string;
  picture: string | null;
}

function Pictures({
  legend,
  value,
  options,
  disabled,
  loaded,
  shape,
  onChoose,
}: {
  legend: ReactNode;
  value: string;
  options: Option[];
  disabled: boolean;
  loaded: boolean;
  shape: string;
  onChoose: (id: string) => void;
}) {
  const { t } = useT();
  const group = useId();
  const known = options.some((option) => option.id === value);
  const gone = loaded && !known ? [{ id: value, name: t("show.gone", { id: value }), picture: null }] : [];
  return (
    <fieldset className="lh-look-group" disabled={disabled}>
      <legend>{legend}</legend>
      {[...gone, ...options].map((option) => (
        <label key={option.id} className={`lh-look ${shape}`}>
          <input
            type="radio"
            name={group}
            value={option.id}
            checked={option.id === value}
            onChange={() => onChoose(option.id)}
          />
          {option.picture ? (
            <img src={option.picture} alt="" loading="lazy" />
          ) : (
            <span className="lh-look-none" aria-hidden="true" />
          )}
          <span>{option.name}</span>
        </label>
      ))}
    </fieldset>
  );
}
