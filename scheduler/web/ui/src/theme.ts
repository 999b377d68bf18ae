import { useSyncExternalStore } from "react";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const listeners = new Set<() => void>();
let current: Theme = (localStorage.getItem("theme") as Theme | null) ?? "system";

/** Shows a theme from now on, by the property that light-dark() in the styles follows. */
export function setTheme(theme: Theme) {
  current = theme;
  localStorage.setItem("theme", theme);
  applyTheme();
  listeners.forEach((tell) => tell());
}

export function applyTheme() {
  document.documentElement.style.colorScheme = current === "system" ? "light dark" : current;
}

export const useTheme = (): Theme =>
  useSyncExternalStore((tell) => (listeners.add(tell), () => listeners.delete(tell)), () => current);
