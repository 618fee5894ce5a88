import { PlusOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { Button, Drawer, Form, Input, Select, Table } from "antd";
import { useState } from "react";
import { listAll } from "../../../shared/api/client";
import type { Faq, Product, Text } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { EmptyState, Page } from "../../../shared/ui/Page";
import { ProblemAlert } from "../../../shared/ui/Problem";
import { useRemove } from "../../../shared/ui/useRemove";
import { useSave } from "../../../shared/ui/useSave";

export default function FaqPage() {
  const { t, lang } = useT();
  const { tenant, path, can } = useWorkspace();
  const [open, setOpen] = useState<Faq | "new" | null>(null);
  const faq = useQuery({ queryKey: keys.faq(tenant.id), queryFn: () => listAll<Faq>(path("/faq")) });
  const products = useQuery({
    queryKey: keys.products(tenant.id),
    queryFn: () => listAll<Product>(path("/products"), {}, 200),
  });
  const remove = useRemove(keys.faq(tenant.id));
  const writes = can("products:write");
  const words = (text: Text) => text[lang] || text.zh || text.en;
  const titleOf = (id: string | null) => {
    const product = products.data?.find((p) => p.id === id);
    return product ? words(product.title) : "";
  };
  const create = writes ? (
    <Button type="primary" icon={<PlusOutlined aria-hidden="true" />} onClick={() => setOpen("new")}>
      {t("faq.new")}
    </Button>
  ) : null;
  return (
    <Page title={t("faq.title")} lead={t("faq.lead")} actions={create}>
      {faq.error ? <ProblemAlert error={faq.error} onRetry={() => void faq.refetch()} /> : null}
      {faq.data?.length === 0 ? (
        <EmptyState text={t("faq.empty")} />
      ) : (
        <Table<Faq>
          size="middle"
          rowKey="id"
          loading={faq.isPending}
          dataSource={faq.data ?? []}
          pagination={(faq.data?.length ?? 0) > 50 ? { pageSize: 50, showSizeChanger: false } : false}
          scroll={{ x: 640 }}
          columns={[
            { title: t("faq.question"), key: "question", minWidth: 160, render: (_, f) => words(f.question) },
            { title: t("faq.answer"), key: "answer", minWidth: 240, render: (_, f) => words(f.answer) },
            {
              title: t("faq.product"),
              key: "product",
              width: 150,
              render: (_, f) => (f.product_id ? titleOf(f.product_id) : t("faq.product.none")),
            },
            {
              title: t("actions"),
              key: "actions",
              width: 150,
              render: (_, f) =>
                writes ? (
                  <span className="lh-actions">
                    <Button
                      size="small"
                      aria-label={t("faq.edit.of", { q: words(f.question) })}
                      onClick={() => setOpen(f)}
                    >
                      {t("do.edit")}
                    </Button>
                    <Button
                      size="small"
                      danger
                      aria-label={t("faq.delete.of", { q: words(f.question) })}
                      onClick={() => remove(path(`/faq/${f.id}`), words(f.question))}
                    >
                      {t("do.delete")}
                    </Button>
                  </span>
                ) : null,
            },
          ]}
        />
      )}
      {open ? (
        <FaqDrawer faq={open === "new" ? null : open} products={products.data ?? []} onClose={() => setOpen(null)} />
      ) : null}
    </Page>
  );
}

interface FaqForm {
  question: Text;
  answer: Text;
  product_id: string;
}

function FaqDrawer({ faq, products, onClose }: { faq: Faq | null; products: readonly Product[]; onClose: () => void }) {
  const { t, lang } = useT();
  const { tenant, path } = useWorkspace();
  const [form] = Form.useForm<FaqForm>();
  const save = useSave<Faq>({
    listPath: path("/faq"),
    id: faq?.id ?? null,
    queryKey: keys.faq(tenant.id),
    form,
    field: (pointer) => {
      const [head = "", tail] = pointer.split("/").slice(1);
      return head === "question" || head === "answer" ? [head, tail ?? "zh"] : [head];
    },
    done: onClose,
  });
  const whole = {
    validator: async () => {
      const { question, answer } = form.getFieldsValue();
      const given = (l: "zh" | "en") => question?.[l]?.trim() && answer?.[l]?.trim();
      if (!given("zh") && !given("en")) throw new Error(t("faq.need"));
    },
  };
  return (
    <Drawer
      open
      size="large"
      title={faq ? t("faq.edit") : t("faq.new")}
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
          question: faq?.question ?? { zh: "", en: "" },
          answer: faq?.answer ?? { zh: "", en: "" },
          product_id: faq?.product_id ?? "",
        }}
        onFinish={(values) => save.mutate({ ...values, product_id: values.product_id || null })}
      >
        <Form.Item name={["question", "zh"]} label={t("faq.question.zh")} rules={[whole]}>
          <Input lang="zh-Hans" maxLength={300} />
        </Form.Item>
        <Form.Item name={["answer", "zh"]} label={t("faq.answer.zh")}>
          <Input.TextArea lang="zh-Hans" rows={2} />
        </Form.Item>
        <Form.Item name={["question", "en"]} label={t("faq.question.en")}>
          <Input lang="en" maxLength={300} />
        </Form.Item>
        <Form.Item name={["answer", "en"]} label={t("faq.answer.en")}>
          <Input.TextArea lang="en" rows={2} />
        </Form.Item>
        <Form.Item name="product_id" label={t("faq.product")}>
          <Select
            showSearch={{ optionFilterProp: "label" }}
            options={[
              { value: "", label: t("faq.product.none") },
              ...products.map((p) => ({ value: p.id, label: p.title[lang] || p.title.zh || p.title.en })),
            ]}
          />
        </Form.Item>
      </Form>
    </Drawer>
  );
}
