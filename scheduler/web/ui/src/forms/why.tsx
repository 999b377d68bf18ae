import type { Schemas } from "../api/client.ts";
import { useLanguage, useText, type Language } from "../i18n.ts";

type Waiting = Schemas["WaitingFor"];

/** Returns the name of a value as people read it: city, address › town. */
export const nameOf = (pointer: string) => pointer.replace(/^\//, "").replaceAll("/", " › ").replaceAll("~1", "/").replaceAll("~0", "~");

/** Returns a name for a value without a title, in words: Order number for /order_number. */
export function labelOf(pointer: string): string {
  const words = nameOf(pointer).split(" › ").at(-1)!.replaceAll(/([a-z])([A-Z])/g, "$1 $2").replaceAll(/[_.-]+/g, " ").trim().toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Returns the reasons that are not those of one value: what went wrong while the step asked. */
export function commonReasons(w: Waiting): string[] {
  const ofValues = new Set((w.why ?? []).flatMap((one) => [`${one.pointer || '""'}: ${one.en}`, `${one.pointer || '""'}：${one.zh}`]));
  return (w.reasons ?? []).filter((reason) => !ofValues.has(reason));
}

/** Returns a line for each reason: the common ones, then those of the values, where the same holds for several together. */
export function reasonLines(w: Waiting, language: Language): string[] {
  const names = new Map<string, string[]>();
  for (const one of w.why ?? []) names.set(one[language], [...(names.get(one[language]) ?? []), nameOf(one.pointer)]);
  const colon = language === "zh" ? "：" : ": ";
  return [...commonReasons(w), ...[...names].map(([why, of]) => (of.join("") ? of.join(", ") + colon + why : why))];
}

/** WaitsFor lists the values that steps wait for, and why: a line for each value. Approvals have their own cards. */
export function WaitsFor({ waiting, onSelect }: { waiting: Waiting[]; onSelect?(step: string): void }) {
  const t = useText();
  const language = useLanguage();
  const values = waiting.filter((w) => !w.approval);
  if (!values.length) return null;
  return (
    <section className="waits-for">
      {values.map((w) => (
        <div key={w.step}>
          <h3>{onSelect ? <button className="link" onClick={() => onSelect(w.step)}>{t("inbox.step_waits", { step: w.step })}</button> : t("inbox.step_waits", { step: w.step })}</h3>
          <ul>{reasonLines(w, language).map((line) => <li key={line}>{line}</li>)}</ul>
        </div>
      ))}
    </section>
  );
}
