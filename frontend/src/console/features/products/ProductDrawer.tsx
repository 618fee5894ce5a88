import { DeleteOutlined, PlusOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { App, Button, DatePicker, Drawer, Form, Input, InputNumber, Select, Skeleton } from "antd";
import { request } from "../../../shared/api/client";
import type { Product } from "../../../shared/api/contract";
import { useWorkspace } from "../../../shared/auth/session";
import { type MessageKey, useT } from "../../../shared/i18n";
import { minorDigits } from "../../../shared/i18n/format";
import { ProblemAlert } from "../../../shared/ui/Problem";
import { useSave } from "../../../shared/ui/useSave";
import { emptyForm, formField, fromForm, type ProductForm, toForm } from "./form";

/** One product's typed fields in both languages. */
export function ProductDrawer({ id, onClose }: { id: string | null; onClose: () => void }) {
  const { t, lang } = useT();
  const { tenant, path } = useWorkspace();
  const { modal } = App.useApp();
  const [form] = Form.useForm<ProductForm>();
  const product = useQuery({
    queryKey: ["t", tenant.id, "products", "one", id],
    queryFn: () => request<Product>(path(`/products/${id}`)),
    enabled: id !== null,
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const save = useSave<Product>({
    listPath: path("/products"),
    id,
    queryKey: ["t", tenant.id, "products"],
    form,
    field: formField,
    done: onClose,
  });
  const close = () => {
    if (!form.isFieldsTouched()) onClose();
    else
      modal.confirm({
        title: t("do.discardAsk"),
        okText: t("do.leave"),
        cancelText: t("do.stay"),
        focusable: { autoFocusButton: "cancel" },
        onOk: onClose,
      });
  };
  const initial = id === null ? emptyForm(tenant.currency) : product.data ? toForm(product.data) : null;
  const name = product.data ? product.data.title[lang] || product.data.title.zh || product.data.title.en : "";
  return (
    <Drawer
      open
      size="large"
      title={id === null ? t("products.new") : t("products.edit.of", { title: name })}
      onClose={close}
      footer={
        <div className="lh-actions">
          <Button type="primary" loading={save.isPending} disabled={!initial} onClick={() => form.submit()}>
            {t("do.save")}
          </Button>
          <Button onClick={close}>{t("do.cancel")}</Button>
        </div>
      }
    >
      {product.error ? <ProblemAlert error={product.error} onRetry={() => void product.refetch()} /> : null}
      {save.error ? <ProblemAlert error={save.error} /> : null}
      {initial ? (
        <Form
          form={form}
          layout="vertical"
          initialValues={initial}
          scrollToFirstError={{ focus: true }}
          onFinish={(values) => save.mutate(fromForm(values))}
        >
          <Fields />
        </Form>
      ) : product.error ? null : (
        <Skeleton active />
      )}
    </Drawer>
  );
}

function Fields() {
  const { t } = useT();
  const form = Form.useFormInstance<ProductForm>();
  const currency = Form.useWatch("currency", form) ?? "";
  const digits = minorDigits(currency);
  const required = [{ required: true, message: t("required") }];
  const oneTitle = {
    validator: async () => {
      const title = form.getFieldValue("title");
      if (!title?.zh?.trim() && !title?.en?.trim()) throw new Error(t("product.title.need"));
    },
  };
  return (
    <>
      <h2 className="lh-section">{t("product.section.basic")}</h2>
      <div className="lh-fields">
        <Form.Item name={["title", "zh"]} label={t("product.title.zh")} rules={[oneTitle]}>
          <Input lang="zh-Hans" />
        </Form.Item>
        <Form.Item name={["title", "en"]} label={t("product.title.en")}>
          <Input lang="en" />
        </Form.Item>
        <Form.Item name="sku" label={t("product.sku")} rules={required}>
          <Input />
        </Form.Item>
        <Form.Item name="link_no" label={t("product.link_no")} extra={t("product.link_no.hint")}>
          <InputNumber min={0} precision={0} />
        </Form.Item>
        <Form.Item name="price" label={t("product.price")} rules={required}>
          <InputNumber min={0} precision={digits} suffix={currency} />
        </Form.Item>
        <Form.Item name="list_price" label={t("product.list_price")}>
          <InputNumber min={0} precision={digits} suffix={currency} />
        </Form.Item>
        <Form.Item name="currency" label={t("product.currency")} rules={required}>
          <Input maxLength={3} />
        </Form.Item>
        <Form.Item name="stock" label={t("product.stock")} extra={t("product.stock.hint")}>
          <InputNumber min={0} precision={0} />
        </Form.Item>
        <Form.Item name="category" label={t("product.category")}>
          <Input />
        </Form.Item>
        <Form.Item name="aliases" label={t("product.aliases")} extra={t("product.aliases.hint")}>
          <Select mode="tags" open={false} suffixIcon={null} tokenSeparators={[",", "，"]} />
        </Form.Item>
      </div>
      <h2 className="lh-section">{t("product.attributes")}</h2>
      <Attributes />
      <h2 className="lh-section">{t("product.points")}</h2>
      <SellingPoints />
      <h2 className="lh-section">{t("product.section.service")}</h2>
      <div className="lh-fields">
        <Prose name={["shipping", "zh"]} label="product.shipping.zh" />
        <Prose name={["shipping", "en"]} label="product.shipping.en" />
        <Prose name={["after_sales", "zh"]} label="product.after_sales.zh" />
        <Prose name={["after_sales", "en"]} label="product.after_sales.en" />
      </div>
      <h2 className="lh-section">{t("product.section.promo")}</h2>
      <div className="lh-fields">
        <Prose name={["promotion", "text", "zh"]} label="product.promo.zh" />
        <Prose name={["promotion", "text", "en"]} label="product.promo.en" />
        <Form.Item name={["promotion", "starts_at"]} label={t("product.promo.from")}>
          <DatePicker showTime={{ format: "HH:mm" }} format="YYYY-MM-DD HH:mm" />
        </Form.Item>
        <Form.Item name={["promotion", "ends_at"]} label={t("product.promo.to")}>
          <DatePicker showTime={{ format: "HH:mm" }} format="YYYY-MM-DD HH:mm" />
        </Form.Item>
      </div>
    </>
  );
}

function Prose({ name, label }: { name: string[]; label: MessageKey }) {
  const { t } = useT();
  return (
    <Form.Item name={name} label={t(label)}>
      <Input.TextArea rows={2} lang={name.at(-1) === "zh" ? "zh-Hans" : "en"} />
    </Form.Item>
  );
}

function Attributes() {
  const { t } = useT();
  return (
    <Form.List name="attributes">
      {(fields, { add, remove }, { errors }) => (
        <>
          {fields.map((field, at) => (
            <div key={field.key} className="lh-triple">
              <Form.Item
                name={[field.name, "key"]}
                rules={[{ required: true, pattern: /^[a-z][a-z0-9_]{0,39}$/, message: t("product.attribute.key") }]}
                noStyle
              >
                <Input
                  aria-label={`${t("product.attribute.key")} ${at + 1}`}
                  placeholder={t("product.attribute.key")}
                />
              </Form.Item>
              <Form.Item name={[field.name, "zh"]} noStyle>
                <Input aria-label={`${t("product.zh")} ${at + 1}`} placeholder={t("product.zh")} lang="zh-Hans" />
              </Form.Item>
              <Form.Item name={[field.name, "en"]} noStyle>
                <Input aria-label={`${t("product.en")} ${at + 1}`} placeholder={t("product.en")} lang="en" />
              </Form.Item>
              <Remove n={at + 1} onClick={() => remove(field.name)} />
            </div>
          ))}
          <Form.ErrorList errors={errors} />
          <Button icon={<PlusOutlined aria-hidden="true" />} onClick={() => add({ key: "", zh: "", en: "" })}>
            {t("product.attribute.add")}
          </Button>
        </>
      )}
    </Form.List>
  );
}

function SellingPoints() {
  const { t } = useT();
  return (
    <Form.List name="selling_points">
      {(fields, { add, remove }) => (
        <>
          {fields.map((field, at) => (
            <div key={field.key} className="lh-double">
              <Form.Item name={[field.name, "zh"]} noStyle>
                <Input aria-label={`${t("product.zh")} ${at + 1}`} placeholder={t("product.zh")} lang="zh-Hans" />
              </Form.Item>
              <Form.Item name={[field.name, "en"]} noStyle>
                <Input aria-label={`${t("product.en")} ${at + 1}`} placeholder={t("product.en")} lang="en" />
              </Form.Item>
              <Remove n={at + 1} onClick={() => remove(field.name)} />
            </div>
          ))}
          <Button icon={<PlusOutlined aria-hidden="true" />} onClick={() => add({ zh: "", en: "" })}>
            {t("product.points.add")}
          </Button>
        </>
      )}
    </Form.List>
  );
}

function Remove({ n, onClick }: { n: number; onClick: () => void }) {
  const { t } = useT();
  return (
    <Button
      type="text"
      danger
      icon={<DeleteOutlined aria-hidden="true" />}
      aria-label={t("product.remove", { n })}
      onClick={onClick}
    />
  );
}
