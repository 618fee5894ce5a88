import { DownloadOutlined, InboxOutlined } from "@ant-design/icons";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Alert, Button, Steps, Table, Upload } from "antd";
import { Link, useSearchParams } from "react-router";
import { request } from "../../../shared/api/client";
import type { ImportRemark, Page as ListPage, ProductImport } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { useWorkspace } from "../../../shared/auth/session";
import { type MessageKey, useT } from "../../../shared/i18n";
import { dateTime, decimal } from "../../../shared/i18n/format";
import { Page } from "../../../shared/ui/Page";
import { ProblemAlert } from "../../../shared/ui/Problem";
import { problemCsv } from "./problemRows";

/** Upload → what became of every row. The report has its own address, so it can be opened again. */
export default function ImportPage() {
  const { t } = useT();
  const { tenant, path, can } = useWorkspace();
  const client = useQueryClient();
  const [params, setParams] = useSearchParams();
  const id = params.get("import");
  const upload = useMutation({
    mutationFn: (file: File) => {
      const form = new FormData();
      form.set("file", file, file.name);
      return request<ProductImport>(path("/products/import"), { method: "POST", form });
    },
    onSuccess: (report) => {
      client.setQueryData([...keys.imports(tenant.id), report.id], report);
      void client.invalidateQueries({ queryKey: keys.imports(tenant.id), exact: true });
      void client.invalidateQueries({ queryKey: ["t", tenant.id, "products"] });
      setParams({ import: report.id });
    },
  });
  const report = useQuery({
    queryKey: [...keys.imports(tenant.id), id],
    queryFn: () => request<ProductImport>(path(`/imports/${id}`)),
    enabled: id !== null,
  });
  return (
    <Page
      title={t("import.title")}
      lead={t("import.lead")}
      actions={<Link to="/products">{t("import.toProducts")}</Link>}
    >
      <Steps
        size="small"
        current={id ? 1 : 0}
        items={[{ title: t("import.step.upload") }, { title: t("import.step.result") }]}
        style={{ maxWidth: 420, marginBottom: 16 }}
      />
      {id === null && can("products:write") ? (
        <>
          <Upload.Dragger
            accept=".csv,.xlsx"
            showUploadList={false}
            disabled={upload.isPending}
            beforeUpload={(file) => {
              upload.mutate(file);
              return false;
            }}
            aria-label={t("import.file")}
          >
            <p>
              <InboxOutlined aria-hidden="true" style={{ fontSize: 32 }} />
            </p>
            <p>{upload.isPending ? t("import.busy", { name: upload.variables?.name ?? "" }) : t("import.drop")}</p>
            <p className="lh-meta">{t("import.limit")}</p>
          </Upload.Dragger>
          {upload.error ? <ProblemAlert error={upload.error} /> : null}
          <History onOpen={(which) => setParams({ import: which })} />
        </>
      ) : null}
      {report.error ? <ProblemAlert error={report.error} onRetry={() => void report.refetch()} /> : null}
      {id && report.data ? <Report report={report.data} onAgain={() => setParams({})} /> : null}
    </Page>
  );
}

const COUNTS: { key: "created" | "updated" | "unchanged" | "failed"; label: MessageKey }[] = [
  { key: "created", label: "import.created" },
  { key: "updated", label: "import.updated" },
  { key: "unchanged", label: "import.unchanged" },
  { key: "failed", label: "import.failed" },
];

function Report({ report, onAgain }: { report: ProductImport; onAgain: () => void }) {
  const { t, lang } = useT();
  const head = [t("import.row"), t("import.column"), t("import.value"), t("import.message")];
  const download = () => {
    const blob = new Blob([problemCsv(report.errors, lang, head)], { type: "text/csv;charset=utf-8" });
    const url = URL.createObjectURL(blob);
    const link = document.createElement("a");
    link.href = url;
    link.download = `${report.file_name.replace(/\.[^.]*$/, "")}-problems.csv`;
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <section aria-labelledby="import-result">
      <h2 id="import-result">{report.file_name}</h2>
      {report.state === "refused" ? <Alert type="error" showIcon role="alert" title={t("import.refused")} /> : null}
      <dl className="lh-counts">
        {COUNTS.map(({ key, label }) => (
          <div key={key} className="lh-tile">
            <dt>{t(label)}</dt>
            <dd className="lh-num">{decimal(report[key], lang)}</dd>
          </div>
        ))}
      </dl>
      {report.errors.length === 0 ? (
        <Alert type="success" showIcon title={t("import.allGood")} />
      ) : (
        <>
          <div className="lh-row lh-wrap">
            <h2 className="lh-grow">{t("import.errors")}</h2>
            <Button icon={<DownloadOutlined aria-hidden="true" />} onClick={download}>
              {t("import.download")}
            </Button>
          </div>
          <Remarks remarks={report.errors} />
        </>
      )}
      {report.warnings?.length > 0 ? (
        <>
          <h2>{t("import.warnings")}</h2>
          <Remarks remarks={report.warnings} />
        </>
      ) : null}
      <p>
        <Button onClick={onAgain}>{t("import.again")}</Button>
      </p>
    </section>
  );
}

function Remarks({ remarks }: { remarks: readonly ImportRemark[] }) {
  const { t, lang } = useT();
  const numbered = remarks.map((remark, at) => ({ ...remark, at }));
  return (
    <Table
      size="small"
      rowKey="at"
      dataSource={numbered}
      pagination={numbered.length > 50 ? { pageSize: 50, showSizeChanger: false } : false}
      scroll={{ x: 560 }}
      columns={[
        { title: t("import.row"), dataIndex: "row", width: 70, className: "lh-num" },
        { title: t("import.column"), dataIndex: "column", width: 140 },
        { title: t("import.value"), dataIndex: "value", width: 200, ellipsis: true },
        { title: t("import.message"), key: "message", render: (_, remark) => remark.message[lang] },
      ]}
    />
  );
}

function History({ onOpen }: { onOpen: (id: string) => void }) {
  const { t, lang } = useT();
  const { tenant, path } = useWorkspace();
  const imports = useQuery({
    queryKey: keys.imports(tenant.id),
    queryFn: () => request<ListPage<ProductImport>>(path("/imports"), { query: { limit: 10 } }),
  });
  if (!imports.data?.items.length) return null;
  return (
    <section aria-labelledby="import-history">
      <h2 id="import-history">{t("import.history")}</h2>
      <Table<ProductImport>
        size="small"
        rowKey="id"
        dataSource={imports.data.items}
        pagination={false}
        scroll={{ x: 560 }}
        columns={[
          {
            title: t("import.fileName"),
            key: "file",
            render: (_, one) => (
              <Button type="link" size="small" onClick={() => onOpen(one.id)}>
                {one.file_name}
              </Button>
            ),
          },
          {
            title: t("import.when"),
            key: "when",
            render: (_, one) => dateTime(one.created_at, lang, tenant.timezone),
          },
          ...COUNTS.map(({ key, label }) => ({
            title: t(label),
            dataIndex: key,
            align: "right" as const,
            className: "lh-num",
          })),
        ]}
      />
    </section>
  );
}
