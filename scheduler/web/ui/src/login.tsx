import { useState, type SubmitEvent } from "react";
import { api } from "./api/client.ts";
import { ErrorBox, useTitle } from "./components/common.tsx";
import { useText } from "./i18n.ts";

/** Login asks for a token; the link that the server prints needs none. */
export function Login({ onDone }: { onDone(): void }) {
  const t = useText();
  useTitle(t("login.title"));
  const [token, setToken] = useState("");
  const [error, setError] = useState<Error>();
  const logIn = async (e: SubmitEvent) => {
    e.preventDefault();
    try {
      await api.post("/api/v1/session", { body: { token: token.trim() } });
      onDone();
    } catch (err) {
      setError(err as Error);
    }
  };
  return (
    <main className="login">
      <form onSubmit={(e) => void logIn(e)} className="card">
        <h1>{t("login.title")}</h1>
        <p>{t("login.link")}</p>
        <label>
          {t("login.token")}
          <input type="password" required autoComplete="current-password" value={token} onChange={(e) => setToken(e.target.value)} />
        </label>
        <p className="hint">{t("login.hint")} <code>scheduler token create NAME --scopes …</code></p>
        {error && <ErrorBox error={error} />}
        <button className="primary">{t("login.button")}</button>
      </form>
    </main>
  );
}
