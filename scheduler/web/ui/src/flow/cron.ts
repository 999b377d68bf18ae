import { currentLanguage, type Translate } from "../i18n.ts";

/** 09:05 */
const clock = (hour: number, minute: number) => `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;

/** The numbers of a list like 9,18 or MON,FRI or 1-5; undefined for anything else, such as a step. */
function numbersOf(field: string, names: string[] = []): number[] | undefined {
  const numberOf = (text: string) => (/^\d+$/.test(text) ? Number(text) : names.includes(text.toUpperCase()) ? names.indexOf(text.toUpperCase()) : NaN);
  const all = field.split(",").flatMap((part) => {
    const [from, to = from] = part.split("-").map(numberOf);
    return from! <= to! ? Array.from({ length: to! - from! + 1 }, (_, i) => from! + i) : [NaN];
  });
  return all.some(Number.isNaN) ? undefined : all;
}

/** The n of a step like *\/n that divides what it counts evenly: 1 for a star. */
function stepOf(field: string, of: number): number | undefined {
  const n = field === "*" ? 1 : Number(/^\*\/(\d+)$/.exec(field)?.[1]);
  return n >= 1 && of % n === 0 ? n : undefined;
}

const weekdays = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const months = ["", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

/** Names weekdays, one after the other as a range: Monday to Friday. */
function weekdaysText(days: number[], t: Translate): string {
  const nameOf = (day: number) => new Intl.DateTimeFormat(currentLanguage(), { weekday: "long", timeZone: "UTC" }).format(Date.UTC(2023, 0, 1 + (day % 7))); // a Sunday
  const isRange = days.length > 2 && days.every((day, i) => i === 0 || day === days[i - 1]! + 1);
  return isRange ? t("schedules.from_to", { from: nameOf(days[0]!), to: nameOf(days.at(-1)!) }) : listText(days.map(nameOf));
}

const listText = (items: string[]) => new Intl.ListFormat(currentLanguage(), { type: "conjunction" }).format(items);

/** Says a cron expression in words, such as every 2 minutes; undefined for one that is better read as it is written. */
export function cronInWords(cron: string, t: Translate): string | undefined {
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = cron.trim().split(/\s+/);
  const isDaily = day === "*" && month === "*" && weekday === "*";
  const minutes = stepOf(minute, 60);
  if (isDaily && hour === "*" && minutes) return minutes === 1 ? t("schedules.every_minute") : t("schedules.every_minutes", { n: minutes });
  const at = numbersOf(minute);
  if (at?.length !== 1) return undefined;
  const hours = stepOf(hour, 24);
  if (hours) {
    if (!isDaily) return undefined;
    const past = String(at[0]).padStart(2, "0");
    return hours === 1 ? t("schedules.every_hour", { minute: past }) : t("schedules.every_hours", { n: hours, minute: past });
  }
  const when = numbersOf(hour);
  if (!when) return undefined;
  const time = listText(when.map((one) => clock(one, at[0]!)));
  if (isDaily) return t("schedules.every_day", { time });
  const days = numbersOf(weekday, weekdays);
  if (day === "*" && month === "*" && days) return t("schedules.on_days", { days: weekdaysText(days, t), time });
  const dates = numbersOf(day);
  if (weekday !== "*" || dates?.length !== 1) return undefined;
  if (month === "*") return t("schedules.every_month", { day: dates[0]!, time });
  const ofYear = numbersOf(month, months);
  if (ofYear?.length !== 1) return undefined;
  const date = new Intl.DateTimeFormat(currentLanguage(), { month: "long", day: "numeric", timeZone: "UTC" }).format(Date.UTC(2024, ofYear[0]! - 1, dates[0]));
  return t("schedules.every_year", { date, time });
}
