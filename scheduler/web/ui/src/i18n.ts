import { useCallback, useSyncExternalStore } from "react";
import type en from "./text/en.json";

type Texts = typeof en;

/** Key names a text: the screen, then the text. */
export type Key = { [S in keyof Texts & string]: `${S}.${keyof Texts[S] & string}` }[keyof Texts & string];
export type Values = Record<string, string | number>;
export type Translate = (key: Key, values?: Values) => string;

export const languages = { en: "English", zh: "中文" } as const;
export type Language = keyof typeof languages;

const sources: Record<Language, () => Promise<{ default: Texts }>> = {
  en: () => import("./text/en.json"),
  zh: () => import("./text/zh.json") as Promise<{ default: Texts }>,
};

let texts: Texts;
let current: Language = "en";
const listeners = new Set<() => void>();

/** The language that the reader chose, else the first of the browser's that we have. */
function preferredLanguage(): Language {
  const chosen = localStorage.getItem("language");
  for (const one of [chosen ?? "", ...navigator.languages]) {
    const base = one.split("-")[0]!;
    if (base in languages) return base as Language;
  }
  return "en";
}

/** Loads a language and shows it from now on. */
export async function setLanguage(language: Language = preferredLanguage(), remember = false): Promise<void> {
  texts = (await sources[language]()).default;
  current = language;
  document.documentElement.lang = language === "zh" ? "zh-CN" : language;
  if (remember) localStorage.setItem("language", language);
  listeners.forEach((tell) => tell());
}

export const currentLanguage = () => current;

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns the language, and renders again when it changes. */
export const useLanguage = (): Language => useSyncExternalStore(subscribe, currentLanguage);

/** Returns the function that finds texts, which is another one for each language. */
export function useText(): Translate {
  const language = useLanguage();
  // eslint-disable-next-line react-hooks/exhaustive-deps
  return useCallback((key: Key, values?: Values) => translate(key, values), [language]);
}

/** Finds a text. {name} stands for a value, {name:one|many} for the word that fits the number. */
export function translate(key: Key, values: Values = {}): string {
  const [screen, name] = key.split(".") as [keyof Texts, string];
  const text = (texts[screen] as Record<string, string>)[name] ?? key;
  return fillText(text, values, current);
}

export function fillText(text: string, values: Values, language: string): string {
  return text.replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, (all, name: string, one?: string, many?: string) => {
    const value = values[name];
    if (value === undefined) return all;
    if (one !== undefined) return new Intl.PluralRules(language).select(Number(value)) === "one" ? one : many!;
    return typeof value === "number" ? value.toLocaleString(language) : value;
  });
}
