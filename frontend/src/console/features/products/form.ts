/** Between a product as the API has it (minor units, keyed attributes) and as its form has it (major units, lists). */

import dayjs, { type Dayjs } from "dayjs";
import type { Product, Text } from "../../../shared/api/contract";
import { minorDigits } from "../../../shared/i18n/format";

export interface ProductForm {
  sku: string;
  link_no: number | null;
  title: Text;
  aliases: string[];
  category: string;
  currency: string;
  price: number | null;
  list_price: number | null;
  stock: number | null;
  attributes: { key: string; zh: string; en: string }[];
  selling_points: Text[];
  shipping: Text;
  after_sales: Text;
  promotion: { text: Text; starts_at: Dayjs | null; ends_at: Dayjs | null };
}

export function emptyForm(currency: string): ProductForm {
  const none = () => ({ zh: "", en: "" });
  return {
    sku: "",
    link_no: 0,
    title: none(),
    aliases: [],
    category: "",
    currency,
    price: null,
    list_price: null,
    stock: null,
    attributes: [],
    selling_points: [],
    shipping: none(),
    after_sales: none(),
    promotion: { text: none(), starts_at: null, ends_at: null },
  };
}

export function toForm(product: Product): ProductForm {
  const scale = 10 ** minorDigits(product.currency);
  const instant = (iso: string | null | undefined) => (iso ? dayjs(iso) : null);
  return {
    sku: product.sku,
    link_no: product.link_no,
    title: product.title,
    aliases: product.aliases,
    category: product.category,
    currency: product.currency,
    price: product.price_minor / scale,
    list_price: product.list_price_minor === null ? null : product.list_price_minor / scale,
    stock: product.stock,
    attributes: Object.entries(product.attributes).map(([key, text]) => ({ key, zh: text.zh, en: text.en })),
    selling_points: product.selling_points,
    shipping: product.shipping,
    after_sales: product.after_sales,
    promotion: {
      text: product.promotion?.text ?? { zh: "", en: "" },
      starts_at: instant(product.promotion?.starts_at),
      ends_at: instant(product.promotion?.ends_at),
    },
  };
}

const both = (text: Partial<Text> | undefined): Text => ({ zh: text?.zh?.trim() ?? "", en: text?.en?.trim() ?? "" });

export function fromForm(form: ProductForm): Omit<Product, "id" | "image" | "created_at" | "updated_at"> {
  const currency = form.currency.trim().toUpperCase();
  const scale = 10 ** minorDigits(currency);
  const minor = (major: number) => Math.round(major * scale);
  const promo = both(form.promotion?.text);
  return {
    sku: form.sku.trim(),
    link_no: form.link_no ?? 0,
    title: both(form.title),
    aliases: form.aliases ?? [],
    category: form.category?.trim() ?? "",
    currency,
    price_minor: minor(form.price ?? 0),
    list_price_minor: form.list_price === null || form.list_price === undefined ? null : minor(form.list_price),
    stock: form.stock ?? null,
    attributes: Object.fromEntries(
      (form.attributes ?? []).filter((a) => a?.key).map((a) => [a.key.trim(), both({ zh: a.zh, en: a.en })]),
    ),
    selling_points: (form.selling_points ?? []).map(both).filter((point) => point.zh || point.en),
    shipping: both(form.shipping),
    after_sales: both(form.after_sales),
    promotion:
      promo.zh || promo.en
        ? {
            text: promo,
            starts_at: form.promotion.starts_at?.toISOString() ?? null,
            ends_at: form.promotion.ends_at?.toISOString() ?? null,
          }
        : null,
  };
}

/** The form's field for an error the API found: prices are in major units here. */
export function formField(pointer: string): (string | number)[] {
  const parts = pointer.split("/").slice(1);
  const renamed: Record<string, string> = { price_minor: "price", list_price_minor: "list_price" };
  const head = renamed[parts[0] ?? ""] ?? parts[0] ?? "";
  if (head === "title") return ["title", parts[1] ?? "zh"];
  if (head === "attributes") return ["attributes"];
  return [head, ...parts.slice(1).map((part) => (/^\d+$/.test(part) ? Number(part) : part))];
}
