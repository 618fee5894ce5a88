/** Errors a person can act on: what failed, what to do, the request's number. */

import { Alert, App, Button } from "antd";
import { Component, type ErrorInfo, type ReactNode, useCallback } from "react";
import { asProblem, type Problem } from "../api/problems";
import { type Translate, useT } from "../i18n";
import { type MessageKey, messages } from "../i18n/messages";

/** The server's own sentence where it wrote one for this case, else the catalogue's for the code. */
export function problemText(problem: Problem, t: Translate): string {
  const key = `problem.${problem.code}`;
  const known = key in messages ? t(key as MessageKey) : "";
  return problem.detail || known || problem.title || problem.code;
}

export function ProblemAlert({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { t } = useT();
  const problem = asProblem(error);
  return (
    <Alert
      type="error"
      showIcon
      role="alert"
      title={problemText(problem, t)}
      description={problem.requestId ? t("problem.request", { id: problem.requestId }) : undefined}
      action={onRetry ? <Button onClick={onRetry}>{t("do.retry")}</Button> : undefined}
    />
  );
}

/** Shows a failed action's problem as a notice that can be read again. */
export function useTellProblem(): (error: unknown) => void {
  const { t } = useT();
  const { notification } = App.useApp();
  return useCallback(
    (error: unknown) => {
      const problem = asProblem(error);
      notification.error({
        title: t("problem.title"),
        description: problemText(problem, t),
        placement: "bottomRight",
        role: "alert",
      });
    },
    [notification, t],
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
