import { PlusOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { Button, Drawer, Form, Input, Select, Skeleton } from "antd";
import { useState } from "react";
import { listAll } from "../../../shared/api/client";
import type { Channel } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { EmptyState, Page } from "../../../shared/ui/Page";
import { ProblemAlert } from "../../../shared/ui/Problem";
import { useRemove } from "../../../shared/ui/useRemove";
import { useSave } from "../../../shared/ui/useSave";
import { Destinations } from "./Destinations";
import { Sources } from "./Sources";

const PLATFORMS = ["custom", "douyin", "taobao", "kuaishou", "bilibili", "tiktok", "youtube"];

export default function ChannelsPage() {
  const { t, tCode } = useT();
  const { tenant, path, can } = useWorkspace();
  const [open, setOpen] = useState<Channel | "new" | null>(null);
  const channels = useQuery({
    queryKey: keys.channels(tenant.id),
    queryFn: () => listAll<Channel>(path("/channels")),
  });
  const remove = useRemove(keys.channels(tenant.id));
  const writes = can("channels:write");
  return (
    <Page
      title={t("channels.title")}
      lead={t("channels.lead")}
      actions={
        writes ? (
          <Button type="primary" icon={<PlusOutlined aria-hidden="true" />} onClick={() => setOpen("new")}>
            {t("channels.new")}
          </Button>
        ) : null
      }
    >
      {channels.error ? <ProblemAlert error={channels.error} onRetry={() => void channels.refetch()} /> : null}
      {channels.isPending ? <Skeleton active /> : null}
      {channels.data?.length === 0 ? <EmptyState text={t("channels.empty")} /> : null}
      <div className="lh-stack">
        {(channels.data ?? []).map((channel) => (
          <section key={channel.id} className="lh-card" aria-label={channel.name}>
            <div className="lh-row lh-wrap">
              <h2>{channel.name}</h2>
              <span className="lh-badge lh-idle">{tCode("platform", channel.platform)}</span>
              <span className="lh-meta">{tCode("lang", channel.language)}</span>
              <span className="lh-spring" />
              {writes ? (
                <span className="lh-actions">
                  <Button
                    size="small"
                    aria-label={t("channel.edit.of", { name: channel.name })}
                    onClick={() => setOpen(channel)}
                  >
                    {t("do.edit")}
                  </Button>
                  <Button
                    size="small"
                    danger
                    aria-label={t("channel.delete.of", { name: channel.name })}
                    onClick={() => remove(path(`/channels/${channel.id}`), channel.name)}
                  >
                    {t("do.delete")}
                  </Button>
                </span>
              ) : null}
            </div>
            <Destinations channel={channel} />
            <Sources channel={channel} />
          </section>
        ))}
      </div>
      {open ? <ChannelDrawer channel={open === "new" ? null : open} onClose={() => setOpen(null)} /> : null}
    </Page>
  );
}

function ChannelDrawer({ channel, onClose }: { channel: Channel | null; onClose: () => void }) {
  const { t, tCode, lang } = useT();
  const { tenant, path } = useWorkspace();
  const [form] = Form.useForm();
  const save = useSave<Channel>({
    listPath: path("/channels"),
    id: channel?.id ?? null,
    queryKey: keys.channels(tenant.id),
    form,
    done: onClose,
  });
  return (
    <Drawer
      open
      title={channel ? t("channel.edit.of", { name: channel.name }) : t("channels.new")}
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
        initialValues={{
          name: channel?.name ?? "",
          platform: channel?.platform ?? "custom",
          language: channel?.language ?? lang,
        }}
        onFinish={(values) => save.mutate(values)}
      >
        <Form.Item name="name" label={t("channel.name")} rules={[{ required: true, message: t("required") }]}>
          <Input maxLength={120} />
        </Form.Item>
        <Form.Item name="platform" label={t("channel.platform")}>
          <Select options={PLATFORMS.map((value) => ({ value, label: tCode("platform", value) }))} />
        </Form.Item>
        <Form.Item name="language" label={t("channel.language")}>
          <Select
            options={[
              { value: "zh", label: t("lang.zh") },
              { value: "en", label: t("lang.en") },
            ]}
          />
        </Form.Item>
      </Form>
    </Drawer>
  );
}
