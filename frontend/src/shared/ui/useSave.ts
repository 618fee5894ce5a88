import { useMutation, useQueryClient } from "@tanstack/react-query";
import { App, type FormInstance } from "antd";
import { request } from "../api/client";
import { asProblem } from "../api/problems";
import { useT } from "../i18n";
import { fieldText } from "./problemText";

type FieldName = (string | number)[];

/** `/title/en` → `["title", "en"]`; a number stays a number for lists. */
export function fieldOf(pointer: string): FieldName {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

/** Creates (POST to the list) or changes (PATCH of the item); the server's field errors land on the form's fields. */
export function useSave<Item>({
  listPath,
  id,
  queryKey,
  form,
  field = fieldOf,
  done,
}: {
  listPath: string;
  id: string | null;
  queryKey: readonly unknown[];
  form: FormInstance;
  /** The form's field for an error's pointer, where form and API are shaped differently. */
  field?: (pointer: string) => FieldName;
  done: (item: Item) => void;
}) {
  const { t, lang } = useT();
  const client = useQueryClient();
  const { message } = App.useApp();
  return useMutation({
    mutationFn: (json: unknown) =>
      request<Item>(id ? `${listPath}/${id}` : listPath, { method: id ? "PATCH" : "POST", json }),
    onSuccess: async (item) => {
      void message.success(t("do.saved"));
      await client.invalidateQueries({ queryKey });
      done(item);
    },
    onError: (error) => {
      const problem = asProblem(error);
      const marks = problem.errors
        .filter((e) => e.pointer)
        .map((e) => ({ name: field(e.pointer), errors: [fieldText(e, t, lang)] }));
      if (marks.length > 0) {
        form.setFields(marks as Parameters<typeof form.setFields>[0]);
        const first = marks[0];
        if (first) form.scrollToField(first.name as never, { focus: true });
      }
    },
  });
}
