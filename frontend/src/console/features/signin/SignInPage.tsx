import { Alert, Button, Form, Input } from "antd";
import { useEffect } from "react";
import { asProblem } from "../../../shared/api/problems";
import { useSignIn } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { problemText } from "../../../shared/ui/problemText";
import { Preferences } from "../../Preferences";

export default function SignInPage({ expired }: { expired: boolean }) {
  const { t, lang } = useT();
  const signIn = useSignIn();
  useEffect(() => {
    document.title = `${t("signIn.title")} · ${t("app.name")}`;
  }, [t]);
  const problem = signIn.error ? asProblem(signIn.error) : null;
  const refused = problem && [400, 401, 403].includes(problem.status) && problem.code !== "csrf_refused";
  return (
    <main className="lh-signin">
      <div className="lh-signin-prefs">
        <Preferences />
      </div>
      <div className="lh-card lh-signin-card">
        <p className="lh-brand">{t("app.name")}</p>
        <h1>{t("signIn.title")}</h1>
        <p className="lh-lead">{t("signIn.lead")}</p>
        {expired ? <Alert type="info" showIcon title={t("signIn.again")} /> : null}
        {problem ? (
          <Alert
            type="error"
            showIcon
            role="alert"
            title={refused ? t("signIn.refused") : problemText(problem, t, lang).text}
          />
        ) : null}
        <Form
          layout="vertical"
          requiredMark={false}
          onFinish={(values: { email: string; password: string }) => signIn.mutate(values)}
        >
          <Form.Item name="email" label={t("signIn.email")} rules={[{ required: true, message: t("required") }]}>
            <Input type="email" autoComplete="username" size="large" autoFocus />
          </Form.Item>
          <Form.Item name="password" label={t("signIn.password")} rules={[{ required: true, message: t("required") }]}>
            <Input.Password autoComplete="current-password" size="large" />
          </Form.Item>
          <Button type="primary" htmlType="submit" size="large" block loading={signIn.isPending}>
            {t("signIn.button")}
          </Button>
        </Form>
      </div>
    </main>
  );
}
