import { useQuery } from "@tanstack/react-query";
import { Button, Checkbox, Drawer, Form, Input } from "antd";
import { useState } from "react";
import { listAll } from "../../../shared/api/client";
import type { Channel, Destination } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { ProblemAlert } from "../../../shared/ui/Problem";
import { useRemove } from "../../../shared/ui/useRemove";
import { useSave } from "../../../shared/ui/useSave";

/** Where a channel is pushed to. A stored key is never shown, only replaced. */
export function Destinations({ channel }: { channel: Channel }) {
  const { t } = useT();
  const { tenant, path, can } = useWorkspace();
  const [open, setOpen] = useState<Destination | "new" | null>(null);
  const list = path(`/channels/${channel.id}/destinations`);
  const queryKey = keys.channelParts(tenant.id, channel.id, "destinations");
  const destinations = useQuery({ queryKey, queryFn: () => listAll<Destination>(list) });
  const remove = useRemove(queryKey);
  const writes = can("channels:write");
  return (
    <>
      <h3>{t("destinations.title")}</h3>
      {destinations.error ? <ProblemAlert error={destinations.error} /> : null}
      {destinations.data?.length === 0 ? <p className="lh-meta">{t("destinations.none")}</p> : null}
      <ul className="lh-plain">
        {(destinations.data ?? []).map((one) => (
          <li key={one.id} className="lh-row lh-wrap lh-part">
            <span className="lh-grow">
              {one.name} <span className="lh-meta lh-address">{one.url}</span>
            </span>
            <span className={`lh-badge ${one.has_stream_key ? "lh-ok" : "lh-warn"}`}>
              {one.has_stream_key ? `✔ ${t("destination.key.stored")}` : `▲ ${t("destination.key.none")}`}
            </span>
            {one.enabled ? null : <span className="lh-badge lh-idle">○ {t("destination.off")}</span>}
            {writes ? (
              <span className="lh-actions">
                <Button
                  size="small"
                  aria-label={t("destination.edit.of", { name: one.name })}
                  onClick={() => setOpen(one)}
                >
                  {t("do.edit")}
                </Button>
                <Button
                  size="small"
                  danger
                  aria-label={t("destination.delete.of", { name: one.name })}
                  onClick={() => remove(`${list}/${one.id}`, one.name)}
                >
                  {t("do.delete")}
                </Button>
              </span>
            ) : null}
          </li>
        ))}
      </ul>
      {writes ? (
        <Button size="small" onClick={() => setOpen("new")}>
          {t("destinations.add")}
        </Button>
      ) : null}
      {open ? (
        <DestinationDrawer
          list={list}
          queryKey={queryKey}
          destination={open === "new" ? null : open}
          onClose={() => setOpen(null)}
        />
      ) : null}
    </>
  );
}

interface DestinationForm {
  name: string;
  url: string;
  stream_key: string;
  enabled: boolean;
}

function DestinationDrawer({
  list,
  queryKey,
  destination,
  onClose,
}: {
  list: string;
  queryKey: readonly unknown[];
  destination: Destination | null;
  onClose: () => void;
}) {
  const { t } = useT();
  const [form] = Form.useForm<DestinationForm>();
  const save = useSave<Destination>({ listPath: list, id: destination?.id ?? null, queryKey, form, done: onClose });
  const required = [{ required: true, message: t("required") }];
  return (
    <Drawer
      open
      title={destination ? t("destination.edit.of", { name: destination.name }) : t("destinations.add")}
      onClose={onClose}
      footer={
        <div className="lh-actions">
          <Button type="primary" loading={save.isPending} onClick={() => form.submit()}>
            {t("do.save")}
          </Button>
          <Button onClick={onClose}>{t("do.cancel")}</Button>
        </div>
      }
    >
      {save.error ? <ProblemAlert error={save.error} /> : null}
      <Form
        form={form}
        layout="vertical"
        autoComplete="off"
        initialValues={{
          name: destination?.name ?? "",
          url: destination?.url ?? "",
          stream_key: "",
          enabled: destination?.enabled ?? true,
        }}
        onFinish={({ stream_key, ...rest }) => save.mutate(stream_key ? { ...rest, stream_key } : rest)}
      >
        <Form.Item name="name" label={t("destination.name")} rules={required}>
          <Input maxLength={120} />
        </Form.Item>
        <Form.Item name="url" label={t("destination.url")} rules={required} extra={t("destination.url.hint")}>
          <Input placeholder="rtmp://" maxLength={500} />
        </Form.Item>
        <Form.Item
          name="stream_key"
          label={t("destination.key")}
          extra={destination?.has_stream_key ? t("destination.key.set") : undefined}
        >
          <Input.Password autoComplete="new-password" maxLength={500} />
        </Form.Item>
        <Form.Item name="enabled" valuePropName="checked">
          <Checkbox>{t("destination.enabled")}</Checkbox>
        </Form.Item>
      </Form>
    </Drawer>
  );
}
