import { useRef } from "react";
import { api } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { useFreshList } from "../api/stream.ts";
import { formatNumber } from "../format.ts";
import { currentLanguage, useText } from "../i18n.ts";
import "./hours.css";

const pause = 5000; // between two requests: counting reads thousands of runs

/** Hours shows how many runs began in each hour, those that failed in red at the foot of the bar. */
export function Hours({ filters }: { filters: Record<string, string | undefined> }) {
  const t = useText();
  const counts = useLoad((signal) => api.get("/api/v1/run-hours", { query: filters, signal }), [filters]);
  const timer = useRef(0);
  useFreshList(() => {
    timer.current ||= window.setTimeout(() => {
      timer.current = 0;
      counts.reload();
    }, pause);
  });
  const hours = counts.data?.hours ?? [];
  const sum = (name: "runs" | "failed") => hours.reduce((n, h) => n + h[name], 0);
  const most = Math.max(1, ...hours.map((h) => h.runs));
  if (!sum("runs")) return null;
  const told = t("runs.hours", { n: sum("runs"), failed: sum("failed"), hours: hours.length });
  return (
    <figure className="hours">
      <figcaption className="hint">{told}{counts.data?.partial && ` ${t("runs.hours_partial")}`}</figcaption>
      <div className="hours-bars" role="img" aria-label={told}>
        {hours.map((h) => (
          <span key={h.start} className="hour" title={`${hourOf(h.start)}: ${t("runs.hour", { n: h.runs, failed: h.failed })}`}>
            <span className="hour-fine" style={{ height: `${((h.runs - h.failed) / most) * 100}%` }} />
            <span className="hour-failed" style={{ height: `${(h.failed / most) * 100}%` }} />
          </span>
        ))}
      </div>
      <div className="hours-axis hint" aria-hidden="true"><span>{hourOf(hours[0]!.start)}</span><span>{t("runs.hours_most", { n: formatNumber(most) })}</span><span>{t("runs.hours_now")}</span></div>
    </figure>
  );
}

const hourOf = (time: string) => new Date(time).toLocaleString(currentLanguage(), { weekday: "short", hour: "2-digit", minute: "2-digit" });
