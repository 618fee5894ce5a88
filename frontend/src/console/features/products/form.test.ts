import { expect, it } from "vitest";
import type { Product } from "../../../shared/api/contract";
import { emptyForm, formField, fromForm, toForm } from "./form";
import { problemCsv } from "./problemRows";

const product: Product = {
  id: "prd_1",
  sku: "HA-050",
  link_no: 3,
  title: { zh: "玻尿酸面霜", en: "Hyaluronic cream" },
  aliases: ["面霜"],
  category: "skin",
  currency: "CNY",
  price_minor: 12_990,
  list_price_minor: null,
  stock: null,
  attributes: { material: { zh: "玻璃瓶", en: "glass" } },
  selling_points: [{ zh: "不含酒精", en: "" }],
  shipping: { zh: "", en: "" },
  after_sales: { zh: "", en: "" },
  promotion: { text: { zh: "买二送一", en: "" }, starts_at: "2026-12-01T00:00:00.000Z", ends_at: null },
  image: "",
  created_at: "2026-12-01T00:00:00Z",
  updated_at: "2026-12-01T00:00:00Z",
};

it("gives back the product it was filled from", () => {
  const { id, image, created_at, updated_at, ...written } = product;
  expect(fromForm(toForm(product))).toEqual(written);
});

it("shows prices in major units and sends whole minor units", () => {
  expect(toForm(product).price).toBe(129.9);
  expect(fromForm({ ...toForm(product), price: 19.99 }).price_minor).toBe(1_999);
  expect(fromForm({ ...toForm(product), currency: "jpy", price: 500 })).toMatchObject({
    currency: "JPY",
    price_minor: 500,
  });
});

it("sends no promotion, no blank points and no known stock for an empty form", () => {
  const form = {
    ...emptyForm("CNY"),
    sku: " A1 ",
    title: { zh: "杯", en: "" },
    price: 1,
    selling_points: [{ zh: " ", en: "" }],
  };
  expect(fromForm(form)).toMatchObject({ sku: "A1", promotion: null, selling_points: [], stock: null, link_no: 0 });
});

it("finds the field an error is about", () => {
  expect(formField("/price_minor")).toEqual(["price"]);
  expect(formField("/title")).toEqual(["title", "zh"]);
  expect(formField("/selling_points/1")).toEqual(["selling_points", 1]);
});

it("writes problem rows that a spreadsheet cannot run", () => {
  const csv = problemCsv(
    [
      { row: 17, column: "price", value: "1,29", code: "ambiguous", message: { zh: "价格不明确", en: "unclear" } },
      { row: null, column: null, value: "=cmd()", code: "x", message: { zh: "整个文件", en: "the file" } },
    ],
    "zh",
    ["行", "列", "内容", "问题"],
  );
  expect(csv).toBe('\uFEFF行,列,内容,问题\r\n17,price,"1,29",价格不明确\r\n,,\'=cmd(),整个文件\r\n');
});
