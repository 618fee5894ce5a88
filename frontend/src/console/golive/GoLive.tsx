import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Button, Checkbox, Form, Modal, Select } from "antd";
import { useEffect, useState } from "react";
import { useNavigate } from "react-router";
import { listAll, newIdempotencyKey, request } from "../../shared/api/client";
import type { Channel, Session, Show } from "../../shared/api/contract";
import { keys } from "../../shared/api/keys";
import { patchSession } from "../../shared/api/sessions";
import { useWorkspace } from "../../shared/auth/session";
import { useT } from "../../shared/i18n";
import { ProblemAlert } from "../../shared/ui/Problem";

/** The button and its sheet: which show, which channel, record or not. One sheet starts at most one session. */
export function GoLive({
  show,
  label,
  disabledReason,
  primary = false,
}: {
  show?: { id: string; title: string };
  label?: string;
  disabledReason?: string;
  primary?: boolean;
}) {
  const { t } = useT();
  const { can } = useWorkspace();
  const [key, setKey] = useState<string | null>(null);
  if (!can("sessions:start")) return null;
  return (
    <>
      <Button
        type={primary ? "primary" : "default"}
        aria-label={label}
        disabled={disabledReason !== undefined}
        title={disabledReason}
        onClick={() => setKey(newIdempotencyKey())}
      >
        {t("goLive")}
      </Button>
      {key ? <Sheet key={key} idempotencyKey={key} show={show} onClose={() => setKey(null)} /> : null}
    </>
  );
}

interface Choice {
  show: string;
  channel: string | null;
  record: boolean;
}

function Sheet({
  show,
  idempotencyKey,
  onClose,
}: {
  show?: { id: string; title: string };
  idempotencyKey: string;
  onClose: () => void;
}) {
  const { t } = useT();
  const { tenant, path } = useWorkspace();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [form] = Form.useForm<Choice>();
  const shows = useQuery({
    queryKey: keys.shows(tenant.id),
    queryFn: () => listAll<Show>(path("/shows")),
    enabled: show === undefined,
  });
  const channels = useQuery({
    queryKey: keys.channels(tenant.id),
    queryFn: () => listAll<Channel>(path("/channels")),
  });
  // The newest show is what is most likely meant; with one show there is nothing to choose.
  const newest = shows.data?.[0]?.id;
  useEffect(() => {
    if (newest && !form.getFieldValue("show")) form.setFieldValue("show", newest);
  }, [newest, form]);
  const start = useMutation({
    mutationFn: (choice: Choice) =>
      request<Session>(path("/sessions"), {
        method: "POST",
        json: { show: choice.show, channel: choice.channel || null, record: choice.record },
        idempotencyKey,
      }),
    onSuccess: (session) => {
      patchSession(client, tenant.id, session);
      void navigate(`/live/${session.id}`);
    },
  });
  const options = show
    ? [{ value: show.id, label: show.title }]
    : (shows.data ?? []).map((s) => ({ value: s.id, label: s.title }));
  return (
    <Modal
      open
      title={t("goLive")}
      okText={t("goLive.confirm")}
      cancelText={t("do.cancel")}
      confirmLoading={start.isPending}
      onOk={() => form.submit()}
      onCancel={onClose}
      destroyOnHidden
    >
      <Form
        form={form}
        layout="vertical"
        initialValues={{ show: show?.id, channel: "", record: true }}
        onFinish={(choice) => start.mutate(choice)}
      >
        <Form.Item name="show" label={t("goLive.show")} rules={[{ required: true, message: t("required") }]}>
          <Select options={options} loading={shows.isLoading} disabled={show !== undefined} />
        </Form.Item>
        <Form.Item name="channel" label={t("goLive.channel")}>
          <Select
            loading={channels.isLoading}
            options={[
              { value: "", label: t("goLive.channel.none") },
              ...(channels.data ?? []).map((c) => ({ value: c.id, label: c.name })),
            ]}
          />
        </Form.Item>
        <Form.Item name="record" valuePropName="checked">
          <Checkbox>{t("goLive.record")}</Checkbox>
        </Form.Item>
      </Form>
      <p className="lh-meta">{t("goLive.price")}</p>
      {start.error ? <ProblemAlert error={start.error} /> : null}
    </Modal>
  );
}
