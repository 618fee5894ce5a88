import { ArrowDownOutlined, ArrowUpOutlined, DeleteOutlined, PlusOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { Button, Checkbox, Input, InputNumber, Select } from "antd";
import { useId } from "react";
import { listAll } from "../../../shared/api/client";
import type { Lang, Line, Product, Segment, SegmentKind } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { KINDS, moved, newLine, replaced, without } from "./draft";

/** One segment: what it is, which product, what is said. */
export function SegmentEditor({
  segment,
  number,
  language,
  disabled,
  onChange,
}: {
  segment: Segment;
  number: number;
  language: Lang;
  disabled: boolean;
  onChange: (change: Partial<Segment>) => void;
}) {
  const { t, tCode, lang } = useT();
  const { tenant, path } = useWorkspace();
  const ids = useId();
  const products = useQuery({
    queryKey: keys.products(tenant.id),
    queryFn: () => listAll<Product>(path("/products"), {}, 200),
  });
  const { lines } = segment;
  return (
    <section className="lh-card" aria-labelledby="segment-heading">
      <h2 id="segment-heading">{t("segment.heading", { n: number })}</h2>
      <div className="lh-fields">
        <div className="lh-field">
          <label htmlFor={`${ids}-title`}>{t("segment.title")}</label>
          <Input
            id={`${ids}-title`}
            value={segment.title}
            maxLength={200}
            disabled={disabled}
            onChange={(event) => onChange({ title: event.target.value })}
          />
        </div>
        <div className="lh-field">
          <label htmlFor={`${ids}-kind`}>{t("segment.kind")}</label>
          <Select<SegmentKind>
            id={`${ids}-kind`}
            value={segment.kind}
            disabled={disabled}
            onChange={(kind) => onChange({ kind })}
            options={KINDS.map((kind) => ({ value: kind, label: tCode("segkind", kind) }))}
          />
        </div>
        <div className="lh-field">
          <label htmlFor={`${ids}-product`}>{t("segment.product")}</label>
          <Select
            id={`${ids}-product`}
            showSearch={{ optionFilterProp: "label" }}
            value={segment.product_id ?? ""}
            disabled={disabled}
            onChange={(product) => onChange({ product_id: product || null })}
            options={[
              { value: "", label: t("segment.product.none") },
              ...(products.data ?? []).map((p) => ({
                value: p.id,
                label: p.title[lang] || p.title.zh || p.title.en,
              })),
            ]}
          />
        </div>
        <div className="lh-field">
          <label htmlFor={`${ids}-gap`}>{t("segment.gap")}</label>
          <InputNumber
            id={`${ids}-gap`}
            min={0}
            max={600}
            value={segment.gap_s}
            disabled={disabled}
            onChange={(gap) => onChange({ gap_s: gap ?? 0 })}
          />
        </div>
      </div>
      <p className="lh-meta">{t("line.placeholders")}</p>
      {lines.map((line, at) => (
        <LineEditor
          key={line.id}
          line={line}
          at={at}
          count={lines.length}
          disabled={disabled}
          onChange={(change) => onChange({ lines: replaced(lines, at, change) })}
          onMove={(to) => onChange({ lines: moved(lines, at, to) })}
          onRemove={() => onChange({ lines: without(lines, at) })}
        />
      ))}
      {disabled ? null : (
        <Button
          icon={<PlusOutlined aria-hidden="true" />}
          onClick={() => onChange({ lines: [...lines, newLine(lines.at(-1)?.lang ?? language)] })}
        >
          {t("segment.addLine")}
        </Button>
      )}
    </section>
  );
}

function LineEditor({
  line,
  at,
  count,
  disabled,
  onChange,
  onMove,
  onRemove,
}: {
  line: Line;
  at: number;
  count: number;
  disabled: boolean;
  onChange: (change: Partial<Line>) => void;
  onMove: (to: number) => void;
  onRemove: () => void;
}) {
  const { t } = useT();
  const n = at + 1;
  const name = t("line.name", { n });
  const tag = line.lang === "zh" ? "zh-Hans" : "en";
  return (
    <div className="lh-line">
      <div className="lh-row lh-wrap">
        <label htmlFor={`line-${at}`} className="lh-grow">
          <b>{t("line.text", { n })}</b>
        </label>
        <Select<Lang>
          aria-label={t("line.lang", { n })}
          size="small"
          value={line.lang}
          disabled={disabled}
          onChange={(lang) => onChange({ lang })}
          options={[
            { value: "zh", label: t("lang.zh") },
            { value: "en", label: t("lang.en") },
          ]}
        />
        <Button
          type="text"
          size="small"
          icon={<ArrowUpOutlined aria-hidden="true" />}
          aria-label={t("show.moveUp", { name })}
          disabled={disabled || at === 0}
          onClick={() => onMove(at - 1)}
        />
        <Button
          type="text"
          size="small"
          icon={<ArrowDownOutlined aria-hidden="true" />}
          aria-label={t("show.moveDown", { name })}
          disabled={disabled || at === count - 1}
          onClick={() => onMove(at + 1)}
        />
        <Button
          type="text"
          size="small"
          danger
          icon={<DeleteOutlined aria-hidden="true" />}
          aria-label={t("show.remove", { name })}
          disabled={disabled}
          onClick={onRemove}
        />
      </div>
      <Input.TextArea
        id={`line-${at}`}
        lang={tag}
        value={line.text}
        maxLength={1000}
        disabled={disabled}
        rows={2}
        onChange={(event) => onChange({ text: event.target.value })}
      />
      <Checkbox
        checked={line.interruptible}
        disabled={disabled}
        onChange={(event) => onChange({ interruptible: event.target.checked })}
      >
        {t("line.interruptible")}
      </Checkbox>
      <details open={line.variants.length > 0}>
        <summary>{t("line.variants")}</summary>
        <Input.TextArea
          aria-label={t("line.variants.of", { n })}
          lang={tag}
          value={line.variants.join("\n")}
          disabled={disabled}
          rows={2}
          onChange={(event) => onChange({ variants: event.target.value.split("\n") })}
          onBlur={() => {
            const written = line.variants.map((v) => v.trim()).filter(Boolean);
            if (written.length !== line.variants.length) onChange({ variants: written });
          }}
        />
      </details>
    </div>
  );
}
