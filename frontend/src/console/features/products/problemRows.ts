import type { ImportRemark, Lang } from "../../../shared/api/contract";

/** The remarks as CSV for a spreadsheet: UTF-8 with a mark, cells that could be read as formulas made plain. */
export function problemCsv(remarks: readonly ImportRemark[], lang: Lang, head: readonly string[]): string {
  const lines = remarks.map((r) => [r.row === null ? "" : String(r.row), r.column ?? "", r.value, r.message[lang]]);
  return `\uFEFF${[head, ...lines].map((cells) => cells.map(cell).join(",")).join("\r\n")}\r\n`;
}

function cell(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
