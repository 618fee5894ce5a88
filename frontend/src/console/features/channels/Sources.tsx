import { useQuery } from "@tanstack/react-query";
import { Button, Checkbox, Form, Input, Modal } from "antd";
import { useState } from "react";
import { listAll } from "../../../shared/api/client";
import type { Channel, CommentSource } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { ProblemAlert } from "../../../shared/ui/Problem";
import { useRemove } from "../../../shared/ui/useRemove";
import { useSave } from "../../../shared/ui/useSave";

/** Where a channel's comments come from. */
export function Sources({ channel }: { channel: Channel }) {
  const { t } = useT();
  const { tenant, path, can } = useWorkspace();
  const [open, setOpen] = useState<CommentSource | "new" | null>(null);
  const list = path(`/channels/${channel.id}/sources`);
  const queryKey = keys.channelParts(tenant.id, channel.id, "sources");
  const sources = useQuery({ queryKey, queryFn: () => listAll<CommentSource>(list) });
  const remove = useRemove(queryKey);
  const writes = can("channels:write");
  return (
    <>
      <h3>{t("sources.title")}</h3>
      {sources.error ? <ProblemAlert error={sources.error} /> : null}
      {sources.data?.length === 0 ? <p className="lh-meta">{t("sources.none")}</p> : null}
      <ul className="lh-plain">
        {(sources.data ?? []).map((one) => (
          <li key={one.id} className="lh-row lh-wrap lh-part">
            <span className="lh-grow lh-address">{one.url}</span>
            {one.enabled ? null : <span className="lh-badge lh-idle">○ {t("destination.off")}</span>}
            {writes ? (
              <span className="lh-actions">
                <Button size="small" aria-label={t("source.edit.of", { name: one.url })} onClick={() => setOpen(one)}>
                  {t("do.edit")}
                </Button>
                <Button
                  size="small"
                  danger
                  aria-label={t("source.delete.of", { name: one.url })}
                  onClick={() => remove(`${list}/${one.id}`, one.url)}
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
          {t("sources.add")}
        </Button>
      ) : null}
      {open ? (
        <SourceForm
          list={list}
          queryKey={queryKey}
          source={open === "new" ? null : open}
          onClose={() => setOpen(null)}
        />
      ) : null}
    </>
  );
}

function SourceForm({
  list,
  queryKey,
  source,
  onClose,
}: {
  list: string;
  queryKey: readonly unknown[];
  source: CommentSource | null;
  onClose: () => void;
}) {
  const { t } = useT();
  const [form] = Form.useForm<{ url: string; enabled: boolean }>();
  const save = useSave<CommentSource>({ listPath: list, id: source?.id ?? null, queryKey, form, done: onClose });
  return (
    <Modal
      open
      title={t("sources.add")}
      okText={t("do.save")}
      cancelText={t("do.cancel")}
      confirmLoading={save.isPending}
      onOk={() => form.submit()}
      onCancel={onClose}
    >
      {save.error ? <ProblemAlert error={save.error} /> : null}
      <Form
        form={form}
        layout="vertical"
        initialValues={{ url: source?.url ?? "", enabled: source?.enabled ?? true }}
        onFinish={(values) => save.mutate(values)}
      >
        <Form.Item name="url" label={t("source.url")} rules={[{ required: true, message: t("required") }]}>
          <Input placeholder="wss://" maxLength={500} />
        </Form.Item>
        <Form.Item name="enabled" valuePropName="checked">
          <Checkbox>{t("destination.enabled")}</Checkbox>
        </Form.Item>
      </Form>
    </Modal>
  );
}
