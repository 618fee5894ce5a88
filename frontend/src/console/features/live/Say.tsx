import { useQuery } from "@tanstack/react-query";
import { Button, Checkbox, Input, Select } from "antd";
import { type FormEvent, useState } from "react";
import { listAll } from "../../../shared/api/client";
import type { Product, Session } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { useAction } from "./useAction";

const MOST_CHARS = 200;

/** Take-over: give the host words, cut the present line, choose the product card. */
export function Say({ session }: { session: Session }) {
  const { t } = useT();
  const { can } = useWorkspace();
  const [text, setText] = useState("");
  const [cutFirst, setCutFirst] = useState(false);
  const say = useAction(session.id, "say", () => {
    setText("");
    return t("say.done");
  });
  const cut = useAction<{ result?: { accepted?: boolean } }>(session.id, "cut", (answer) =>
    answer?.result?.accepted === false ? t("act.done.cut.no") : t("act.done.cut"),
  );
  if (!can("sessions:say")) return null;
  const running = session.state === "live";
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const words = text.trim();
    if (!words) return;
    if (cutFirst) await cut.mutateAsync({ reason: "operator" }).catch(() => {});
    say.mutate({ text: words });
  };
  return (
    <section className="lh-card lh-say" aria-labelledby="say-title">
      <h2 id="say-title">{t("say.title")}</h2>
      <form onSubmit={(event) => void submit(event)}>
        <label htmlFor="say-text">{t("say.label")}</label>
        <Input.TextArea
          id="say-text"
          value={text}
          maxLength={MOST_CHARS}
          rows={2}
          placeholder={t("say.placeholder")}
          onChange={(event) => setText(event.target.value)}
        />
        <div className="lh-row lh-wrap">
          <Checkbox checked={cutFirst} onChange={(event) => setCutFirst(event.target.checked)}>
            {t("say.cut")}
          </Checkbox>
          <span className="lh-spring" />
          <Button disabled={!running} loading={cut.isPending} onClick={() => cut.mutate({ reason: "operator" })}>
            {t("act.cut")}
          </Button>
          <Button type="primary" htmlType="submit" disabled={!running || text.trim() === ""} loading={say.isPending}>
            {t("say.button")}
          </Button>
        </div>
      </form>
      <Pin session={session} />
    </section>
  );
}

function Pin({ session }: { session: Session }) {
  const { t, lang } = useT();
  const { tenant, path } = useWorkspace();
  const [product, setProduct] = useState<string>();
  const products = useQuery({
    queryKey: keys.products(tenant.id),
    queryFn: () => listAll<Product>(path("/products"), {}, 200),
  });
  const pin = useAction(session.id, "pin", () => t("act.done.pin"));
  return (
    <div className="lh-pin">
      <label htmlFor="pin-product">{t("act.pin.label")}</label>
      <div className="lh-row">
        <Select
          id="pin-product"
          className="lh-grow"
          showSearch={{ optionFilterProp: "label" }}
          placeholder={t("act.pin.choose")}
          value={product}
          onChange={setProduct}
          loading={products.isLoading}
          options={(products.data ?? []).map((p) => ({
            value: p.id,
            label: `${p.link_no ? `${p.link_no} · ` : ""}${p.title[lang] || p.title.zh || p.title.en}`,
          }))}
        />
        <Button
          disabled={!product || session.state !== "live"}
          loading={pin.isPending}
          onClick={() => pin.mutate({ product })}
        >
          {t("act.pin")}
        </Button>
      </div>
    </div>
  );
}
