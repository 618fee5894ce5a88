import { useMutation, useQueryClient } from "@tanstack/react-query";
import { App } from "antd";
import { request } from "../api/client";
import { useT } from "../i18n";
import { useTellProblem } from "./Problem";

/** Asks, deletes, says so, and has the lists under `queryKey` read again. */
export function useRemove(queryKey: readonly unknown[]) {
  const { t } = useT();
  const client = useQueryClient();
  const { modal, message } = App.useApp();
  const tellProblem = useTellProblem();
  const remove = useMutation({
    mutationFn: ({ path }: { path: string; name: string }) => request<void>(path, { method: "DELETE" }),
    onSuccess: (_, { name }) => {
      void message.success(t("do.deleted", { name }));
      return client.invalidateQueries({ queryKey });
    },
    onError: tellProblem,
  });
  return (path: string, name: string) => {
    modal.confirm({
      title: t("do.deleteAsk", { name }),
      okText: t("do.delete"),
      okButtonProps: { danger: true },
      cancelText: t("do.cancel"),
      focusable: { autoFocusButton: "cancel" },
      onOk: () => remove.mutateAsync({ path, name }).catch(() => {}),
    });
  };
}
