import { useState } from "react";
import type { Schemas } from "../api/client.ts";
import { useText } from "../i18n.ts";
import { hasScope, useMe } from "../me.ts";

const key = "as-user";

/** Reports whether the caller belongs to no user and may begin runs for any. */
const mayActAs = (me: Schemas["MeBody"]): boolean => !me.bound && hasScope(me, "runs:as");

/** Returns the user for whom runs are begun, "" for nobody, and a function that remembers another one in this browser. */
export function useAsUser(): [user: string, remember: (user: string) => void] {
  const me = useMe();
  const [user, setUser] = useState(() => (mayActAs(me) && localStorage.getItem(key)) || "");
  const remember = (next: string) => {
    localStorage.setItem(key, next);
    setUser(next);
  };
  return [user, remember];
}

/**
 * AsUser asks for whom a run is begun, where the caller may choose. In a form it tells of each change; inline, where what is
 * shown depends on the user, once the field is left.
 */
export function AsUser({ user, onChange, inline }: { user: string; onChange(user: string): void; inline?: boolean }) {
  const t = useText();
  const me = useMe();
  if (!mayActAs(me)) return null;
  const common = { maxLength: 200, autoComplete: "off", placeholder: t("flow.as_nobody"), title: t("flow.as_user_hint") };
  if (inline) {
    return (
      <label>
        {t("flow.as_user")}{" "}
        <input {...common} defaultValue={user} onBlur={(e) => onChange(e.target.value.trim())} onKeyDown={(e) => e.key === "Enter" && e.currentTarget.blur()} />
      </label>
    );
  }
  return <label className="field">{t("flow.as_user")}<input {...common} value={user} onChange={(e) => onChange(e.target.value)} /><span className="hint">{t("flow.as_user_hint")}</span></label>;
}
