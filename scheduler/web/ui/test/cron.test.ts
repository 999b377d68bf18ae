import { expect, test } from "@playwright/test";
import { readFileSync } from "node:fs";
import { cronInWords } from "../src/flow/cron.ts";
import type { Key, Values } from "../src/i18n.ts";

const texts = (JSON.parse(readFileSync("src/text/en.json", "utf8")) as { schedules: Record<string, string> }).schedules;
const say = (key: Key, values: Values = {}) => texts[key.split(".")[1]!]!.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));

for (const [cron, words] of Object.entries({
  "* * * * *": "every minute",
  "*/2 * * * *": "every 2 minutes",
  "*/7 * * * *": undefined, // the last one of an hour is shorter
  "5 * * * *": "every hour at minute 05",
  "0 */6 * * *": "every 6 hours at minute 00",
  "30 9 * * *": "every day at 09:30",
  "0 9,18 * * *": "every day at 09:00 and 18:00",
  "30 9 * * 1-5": "Monday to Friday at 09:30",
  "0 8 * * MON,THU": "Monday and Thursday at 08:00",
  "0 0 * * 7": "Sunday at 00:00",
  "0 7 1 * *": "on day 1 of each month at 07:00",
  "0 0 1 JAN *": "on January 1 of each year at 00:00",
  "0 0 13 * 5": undefined, // a day of the month or a weekday
  "1,2 * * * *": undefined,
  "0 9-17/2 * * *": undefined,
})) {
  test(`${cron} in words`, () => {
    expect(cronInWords(cron, say)).toBe(words);
  });
}
