import { Spin } from "antd";
import { lazy, Suspense, useRef } from "react";
import { useAuthSession, useSignOut, WorkspaceProvider } from "../shared/auth/session";
import { useT } from "../shared/i18n";
import { EmptyState, Page } from "../shared/ui/Page";
import { ProblemAlert } from "../shared/ui/Problem";
import { Preferences } from "./Preferences";
import { Shell } from "./Shell";

const SignInPage = lazy(() => import("./features/signin/SignInPage"));

/** Lets in whoever is signed in; others see the sign-in form at the address they wanted. */
export function Gate() {
  const { t } = useT();
  const session = useAuthSession();
  const signOut = useSignOut();
  const wasSignedIn = useRef(false);
  if (session.isPending) {
    return (
      <main className="lh-center">
        <Spin size="large" description={t("loading")} />
      </main>
    );
  }
  if (!session.data) {
    return (
      <main className="lh-center">
        <ProblemAlert error={session.error} onRetry={() => void session.refetch()} />
      </main>
    );
  }
  if (!session.data.user) {
    return (
      <Suspense fallback={null}>
        <SignInPage expired={wasSignedIn.current && !signOut.isSuccess} />
      </Suspense>
    );
  }
  wasSignedIn.current = true;
  const first = session.data.memberships[0];
  if (!first) {
    return (
      <main className="lh-center">
        <Page title={t("app.name")} actions={<Preferences onSignOut={() => signOut.mutate()} />}>
          <EmptyState text={t("app.noTenant")} />
        </Page>
      </main>
    );
  }
  return (
    <WorkspaceProvider session={session.data} membership={first}>
      <Shell onSignOut={() => signOut.mutate()} />
    </WorkspaceProvider>
  );
}
