import { ArrowDownOutlined, ArrowUpOutlined, CopyOutlined, DeleteOutlined, PlusOutlined } from "@ant-design/icons";
import { Button } from "antd";
import { type KeyboardEvent, useState } from "react";
import type { Segment } from "../../../shared/api/contract";
import { useT } from "../../../shared/i18n";
import { type Draft, duplicated, moved, newSegment, without } from "./draft";

/** The segments in order. Every move works by button, and by Alt with an arrow key on a segment. */
export function Outline({
  draft,
  chosen,
  disabled,
  onChoose,
  onChange,
}: {
  draft: Draft;
  chosen: number;
  disabled: boolean;
  onChoose: (index: number) => void;
  onChange: (segments: Segment[]) => void;
}) {
  const { t, tCode } = useT();
  const [said, setSaid] = useState("");
  const { segments } = draft;
  const nameOf = (segment: Segment) => segment.title || tCode("segkind", segment.kind);
  const move = (from: number, to: number) => {
    const segment = segments[from];
    if (!segment || to < 0 || to >= segments.length) return;
    onChange(moved(segments, from, to));
    onChoose(to);
    setSaid(t("show.moved", { name: nameOf(segment), n: to + 1 }));
  };
  const onKeyDown = (event: KeyboardEvent, at: number) => {
    if (!event.altKey || disabled) return;
    if (event.key === "ArrowUp") move(at, at - 1);
    else if (event.key === "ArrowDown") move(at, at + 1);
    else return;
    event.preventDefault();
  };
  return (
    <section className="lh-card" aria-labelledby="outline-title">
      <h2 id="outline-title">{t("show.outline")}</h2>
      {segments.length === 0 ? <p className="lh-meta">{t("show.noSegments")}</p> : null}
      <ol className="lh-outline">
        {segments.map((segment, at) => (
          <li key={segment.id} aria-current={at === chosen ? "true" : undefined}>
            <button
              type="button"
              className="lh-outline-pick"
              onClick={() => onChoose(at)}
              onKeyDown={(event) => onKeyDown(event, at)}
            >
              {at + 1}. {nameOf(segment)}
              <small>
                {tCode("segkind", segment.kind)} · {t("segment.lineCount", { n: segment.lines.length })}
              </small>
            </button>
            {at === chosen && !disabled ? (
              <>
                <Button
                  type="text"
                  size="small"
                  icon={<ArrowUpOutlined aria-hidden="true" />}
                  aria-label={t("show.moveUp", { name: nameOf(segment) })}
                  disabled={at === 0}
                  onClick={() => move(at, at - 1)}
                />
                <Button
                  type="text"
                  size="small"
                  icon={<ArrowDownOutlined aria-hidden="true" />}
                  aria-label={t("show.moveDown", { name: nameOf(segment) })}
                  disabled={at === segments.length - 1}
                  onClick={() => move(at, at + 1)}
                />
                <Button
                  type="text"
                  size="small"
                  icon={<CopyOutlined aria-hidden="true" />}
                  aria-label={t("show.copy", { name: nameOf(segment) })}
                  onClick={() => {
                    onChange(duplicated(segments, at));
                    onChoose(at + 1);
                  }}
                />
                <Button
                  type="text"
                  size="small"
                  danger
                  icon={<DeleteOutlined aria-hidden="true" />}
                  aria-label={t("show.remove", { name: nameOf(segment) })}
                  onClick={() => {
                    onChange(without(segments, at));
                    onChoose(Math.max(0, Math.min(at, segments.length - 2)));
                  }}
                />
              </>
            ) : null}
          </li>
        ))}
      </ol>
      {disabled ? null : (
        <Button
          icon={<PlusOutlined aria-hidden="true" />}
          onClick={() => {
            onChange([...segments, newSegment("points", draft.language)]);
            onChoose(segments.length);
          }}
        >
          {t("show.addSegment")}
        </Button>
      )}
      <p className="lh-visually-hidden" role="status">
        {said}
      </p>
    </section>
  );
}
