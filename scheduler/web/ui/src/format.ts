import { currentLanguage } from "./i18n.ts";

/** 812 ms, 2.1 s, 3 min 5 s, 2 h 10 min. */
export function formatDuration(ms: number): string {
  const language = currentLanguage();
  const unit = (n: number, name: "millisecond" | "second" | "minute" | "hour" | "day", digits = 0) =>
    new Intl.NumberFormat(language, { style: "unit", unit: name, unitDisplay: "narrow", maximumFractionDigits: digits }).format(n);
  if (ms < 1000) return unit(ms < 10 ? ms : Math.round(ms), "millisecond", ms < 10 ? 1 : 0);
  const seconds = ms / 1000;
  if (seconds < 60) return unit(seconds, "second", 1);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${unit(minutes, "minute")} ${unit(Math.floor(seconds % 60), "second")}`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${unit(hours, "hour")} ${unit(minutes % 60, "minute")}`;
  return unit(Math.floor(hours / 24), "day");
}

/** 3 minutes ago. */
export function formatAgo(time: string, now = Date.now()): string {
  const seconds = (new Date(time).getTime() - now) / 1000;
  const format = new Intl.RelativeTimeFormat(currentLanguage(), { numeric: "auto", style: "narrow" });
  const steps: [number, Intl.RelativeTimeFormatUnit][] = [[60, "second"], [3600, "minute"], [86400, "hour"], [Infinity, "day"]];
  const size = { second: 1, minute: 60, hour: 3600, day: 86400 } as Record<string, number>;
  const [, name] = steps.find(([limit]) => Math.abs(seconds) < limit)!;
  return format.format(Math.round(seconds / size[name]!), name);
}

/** The date and time of the reader's zone. */
export function formatTime(time: string): string {
  return new Date(time).toLocaleString(currentLanguage(), { dateStyle: "medium", timeStyle: "medium" });
}

/** The date and time of a text like 2026-03-05T09:07:00+08:00 in the zone that it names. */
export function formatZonedTime(time: string): string {
  const wall = new Date(`${time.slice(0, "2026-03-05T09:07:00".length)}Z`);
  return wall.toLocaleString(currentLanguage(), { dateStyle: "medium", timeStyle: "medium", timeZone: "UTC" });
}

/** 15:04:05.120 */
export function formatClock(time: string): string {
  const d = new Date(time);
  const pad = (n: number, width: number) => String(n).padStart(width, "0");
  return `${pad(d.getHours(), 2)}:${pad(d.getMinutes(), 2)}:${pad(d.getSeconds(), 2)}.${pad(d.getMilliseconds(), 3)}`;
}

export const formatNumber = (n: number): string => n.toLocaleString(currentLanguage());

/** $0.0021, €12.40: what models cost, in the currency of the settings, which the server tells. */
export function formatCost(cost: number, currency: string): string {
  const digits = cost >= 1 ? 2 : 4;
  const least = 10 ** -digits;
  const text = new Intl.NumberFormat(currentLanguage(), { style: "currency", currency, currencyDisplay: "narrowSymbol", minimumFractionDigits: 2, maximumFractionDigits: digits }).format(Math.max(cost, least));
  return cost < least ? `<${text}` : text;
}

export function formatBytes(n: number): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;
  let i = 0;
  while (n >= 1000 && i < units.length - 1) [n, i] = [n / 1000, i + 1];
  return new Intl.NumberFormat(currentLanguage(), { style: "unit", unit: units[i]!, unitDisplay: "short", maximumFractionDigits: 1 }).format(n);
}

/** A JSON value as people read it. */
export function formatJSON(v: unknown): string {
  return typeof v === "string" ? v : JSON.stringify(v, null, 2) ?? "";
}
