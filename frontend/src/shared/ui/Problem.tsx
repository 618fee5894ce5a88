/** Errors a person can act on: what failed, what to do, the request's number. */

import { Alert, App, Button } from "antd";
import { Component, type ErrorInfo, type ReactNode, useCallback } from "react";
import { asProblem } from "../api/problems";
import { useT } from "../i18n";
import { problemText } from "./problemText";

export function ProblemAlert({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { t, lang } = useT();
  const problem = asProblem(error);
  const { text, detail } = problemText(problem, t, lang);
  const request = problem.requestId ? t("problem.request", { id: problem.requestId }) : "";
  return (
    <Alert
      type="error"
      showIcon
      role="alert"
      title={text}
      description={[detail, request].filter(Boolean).map((line) => <div key={line}>{line}</div>)}
      action={onRetry ? <Button onClick={onRetry}>{t("do.retry")}</Button> : undefined}
    />
  );
}

/** Shows a failed action's problem as a notice that can be read again. */
export function useTellProblem(): (error: unknown) => void {
  const { t, lang } = useT();
  const { notification } = App.useApp();
  return useCallback(
    (error: unknown) => {
      const problem = asProblem(error);
      const { text, detail } = problemText(problem, t, lang);
      notification.error({
        title: t("problem.title"),
        description: detail ? `${text} ${detail}` : text,
        placement: "bottomRight",
        role: "alert",
      });
    },
    [notification, t, lang],
  );
}

interface BoundaryProps {
  children: ReactNode;
  fallback: (retry: () => void) => ReactNode;
}

/** One broken panel must not take the page with it. */
export class Boundary extends Component<BoundaryProps, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override componentDidCatch(error: Error, info: ErrorInfo): void {
    console.error(error, info.componentStack);
  }

  override render(): ReactNode {
    return this.state.failed ? this.props.fallback(() => this.setState({ failed: false })) : this.props.children;
  }
}

export function PanelBoundary({ children }: { children: ReactNode }) {
  const { t } = useT();
  return (
    <Boundary
      fallback={(retry) => (
        <Alert
          type="error"
          showIcon
          title={t("app.broken")}
          description={t("app.broken.detail")}
          action={<Button onClick={retry}>{t("do.retry")}</Button>}
        />
      )}
    >
      {children}
    </Boundary>
  );
}
