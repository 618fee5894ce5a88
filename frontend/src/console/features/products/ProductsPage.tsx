import { PlusOutlined, UploadOutlined } from "@ant-design/icons";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Button, Input, Table } from "antd";
import { useEffect, useState } from "react";
import { Link, useNavigate, useSearchParams } from "react-router";
import { request } from "../../../shared/api/client";
import type { Page as ListPage, Product } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { decimal, money } from "../../../shared/i18n/format";
import { EmptyState, Page } from "../../../shared/ui/Page";
import { ProblemAlert } from "../../../shared/ui/Problem";
import { useRemove } from "../../../shared/ui/useRemove";
import { ProductDrawer } from "./ProductDrawer";

const SEARCH_AFTER_MS = 250;

export default function ProductsPage() {
  const { t, lang } = useT();
  const { tenant, path, can } = useWorkspace();
  const navigate = useNavigate();
  const [params, setParams] = useSearchParams();
  const q = params.get("q") ?? "";
  const open = params.get("product");
  const [typed, setTyped] = useState(q);
  useEffect(() => {
    const timer = setTimeout(() => {
      setParams(
        (now) => {
          const next = new URLSearchParams(now);
          if (typed) next.set("q", typed);
          else next.delete("q");
          return next;
        },
        { replace: true },
      );
    }, SEARCH_AFTER_MS);
    return () => clearTimeout(timer);
  }, [typed, setParams]);
  const products = useInfiniteQuery({
    queryKey: [...keys.products(tenant.id, { search: q }), "pages"],
    queryFn: ({ pageParam }) =>
      request<ListPage<Product>>(path("/products"), { query: { search: q, cursor: pageParam } }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
    placeholderData: keepPreviousData,
  });
  const remove = useRemove(["t", tenant.id, "products"]);
  const rows = products.data?.pages.flatMap((page) => page.items) ?? [];
  const writes = can("products:write");
  const show = (id: string | null) =>
    setParams((now) => {
      const next = new URLSearchParams(now);
      if (id) next.set("product", id);
      else next.delete("product");
      return next;
    });
  const title = (p: Product) => p.title[lang] || p.title.zh || p.title.en;
  return (
    <Page
      title={t("products.title")}
      lead={t("products.lead")}
      actions={
        writes ? (
          <>
            <Button icon={<UploadOutlined aria-hidden="true" />} onClick={() => void navigate("/products/import")}>
              {t("products.import")}
            </Button>
            <Button type="primary" icon={<PlusOutlined aria-hidden="true" />} onClick={() => show("new")}>
              {t("products.new")}
            </Button>
          </>
        ) : null
      }
    >
      <div className="lh-filter">
        <Input.Search
          allowClear
          aria-label={t("products.search")}
          placeholder={t("products.searchHint")}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      </div>
      {products.error ? <ProblemAlert error={products.error} onRetry={() => void products.refetch()} /> : null}
      {products.data && rows.length === 0 ? (
        q ? (
          <EmptyState
            text={t("products.noMatch", { q })}
            action={<Button onClick={() => setTyped("")}>{t("do.clear")}</Button>}
          />
        ) : (
          <EmptyState
            text={t("products.empty")}
            action={writes ? <Link to="/products/import">{t("products.import")}</Link> : undefined}
          />
        )
      ) : (
        <Table<Product>
          size="middle"
          rowKey="id"
          loading={products.isPending}
          dataSource={rows}
          pagination={false}
          scroll={{ x: 860 }}
          columns={[
            { title: t("product.link_no"), dataIndex: "link_no", width: 80, render: (n: number) => n || "" },
            {
              title: t("product.title"),
              key: "title",
              minWidth: 180,
              render: (_, p) => (
                <>
                  <div>{title(p)}</div>
                  <span className="lh-meta">{lang === "zh" ? p.title.en : p.title.zh}</span>
                </>
              ),
            },
            { title: t("product.sku"), dataIndex: "sku", width: 130 },
            { title: t("product.category"), dataIndex: "category", width: 120 },
            {
              title: t("product.price"),
              key: "price",
              align: "right",
              width: 110,
              className: "lh-num",
              render: (_, p) => money(p.price_minor, p.currency, lang),
            },
            {
              title: t("product.stock"),
              key: "stock",
              align: "right",
              width: 90,
              className: "lh-num",
              render: (_, p) => (p.stock === null ? t("product.stock.unknown") : decimal(p.stock, lang)),
            },
            {
              title: t("actions"),
              key: "actions",
              width: 150,
              render: (_, p) =>
                writes ? (
                  <span className="lh-actions">
                    <Button
                      size="small"
                      aria-label={t("products.edit.of", { title: title(p) })}
                      onClick={() => show(p.id)}
                    >
                      {t("do.edit")}
                    </Button>
                    <Button
                      size="small"
                      danger
                      aria-label={t("products.delete.of", { title: title(p) })}
                      onClick={() => remove(path(`/products/${p.id}`), title(p))}
                    >
                      {t("do.delete")}
                    </Button>
                  </span>
                ) : null,
            },
          ]}
        />
      )}
      {products.hasNextPage ? (
        <p>
          <Button loading={products.isFetchingNextPage} onClick={() => void products.fetchNextPage()}>
            {t("do.more")}
          </Button>
        </p>
      ) : null}
      {open ? <ProductDrawer key={open} id={open === "new" ? null : open} onClose={() => show(null)} /> : null}
    </Page>
  );
}
