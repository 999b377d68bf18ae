import { useEffect, useState } from "react";
import { Link } from "wouter";
import { api, type Schemas } from "../api/client.ts";
import { useLoad, usePages } from "../api/load.ts";
import { Ago, Empty, ErrorBox, Loading, ScreenHead } from "../components/common.tsx";
import { cronInWords } from "../flow/cron.ts";
import { formatDuration, formatTime, formatZonedTime } from "../format.ts";
import { useText, type Key } from "../i18n.ts";
import { hasScope, useMe } from "../me.ts";
import "./calls.css";

type Schedule = Schemas["ScheduleBody"];

/** Schedules lists what starts runs by the clock: the next times, and what became of the last ones. */
export default function Schedules() {
  const t = useText();
  const list = usePages<Schedule>((cursor, signal) => api.get("/api/v1/schedules", { query: { cursor }, signal }), []);
  return (
    <section className="screen">
      <ScreenHead title={t("schedules.title")} />
      <BrokenFlows />
      {list.error && <ErrorBox error={list.error} retry={list.reload} />}
      {list.loading && !list.items.length && <Loading />}
      {!list.loading && !list.error && !list.items.length && <Empty title={t("schedules.empty")}><TriggersExample /><Link href="/flows">{t("nav.toFlows")}</Link></Empty>}
      {list.items.map((one) => <ScheduleCard key={one.id} schedule={one} onChange={list.reload} />)}
      {list.hasMore && <button onClick={list.loadMore}>{t("plugins.more")}</button>}
    </section>
  );
}

/** TriggersExample says how a flow is started by the clock or by a webhook. */
export function TriggersExample() {
  const t = useText();
  return (
    <>
      <p>{t("schedules.begin")}</p>
      <pre className="block json example" aria-label={t("schedules.example")} tabIndex={0}>{example}</pre>
    </>
  );
}

const example = `triggers:
  schedules: [{id: morning, cron: "0 7 * * 1-5"}]
  webhooks: [{id: push, verify: standard, secret: HOOK_KEY}]`;

/** The flows with errors: whether they have schedules cannot be read, and these start nothing. */
function BrokenFlows() {
  const t = useText();
  const flows = useLoad((signal) => api.get("/api/v1/flows", { query: { limit: 200 }, signal }), []);
  const broken = flows.data?.items.filter((f) => f.errors > 0) ?? [];
  if (!broken.length) return null;
  return (
    <p role="status">
      {t("schedules.broken")}{" "}
      {broken.map((f, i) => <span key={f.flow}>{i > 0 && ", "}<Link href={`/flows/${f.flow}`}>{f.flow.replaceAll("~", "/")}</Link></span>)}
    </p>
  );
}

/** NextTime is a time in the zone of its schedule, with the reader's own where that is another. */
function NextTime({ at, zone }: { at: string; zone: string }) {
  const t = useText();
  const [there, here] = [formatZonedTime(at), formatTime(at)];
  return <time dateTime={at}>{there} {zone}{here !== there && <span className="hint"> ({t("schedules.here", { time: here })})</span>}</time>;
}

/** Plan says when a schedule fires, in words: every 2 minutes, next in 40 s. onPast is called when the next time has come. */
function Plan({ schedule: s, onPast }: { schedule: Schedule; onPast(): void }) {
  const t = useText();
  const words = cronInWords(s.cron, t) ?? s.cron;
  const next = s.next[0];
  const [now, setNow] = useState(Date.now);
  const left = next ? Date.parse(next) - now : Infinity;
  const pace = left < 90_000 ? 1000 : 15_000;
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), pace);
    return () => clearInterval(timer);
  }, [pace]);
  const isPast = left < -1000;
  useEffect(() => {
    if (isPast) onPast();
  }, [isPast, now]);
  return <p className="plan">{next && !isPast ? t("schedules.plan", { words, left: formatDuration(Math.max(Math.round(left / 1000), 1) * 1000) }) : words}</p>;
}

function ScheduleCard({ schedule: s, onChange }: { schedule: Schedule; onChange(): void }) {
  const t = useText();
  const me = useMe();
  const [error, setError] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const act = async (work: () => Promise<unknown>) => {
    setBusy(true);
    setError(undefined);
    try {
      await work();
      onChange();
    } catch (err) {
      setError(err as Error);
    } finally {
      setBusy(false);
    }
  };
  const path = { id: s.id };
  return (
    <article className="card schedule" aria-label={s.id}>
      <div className="screen-head">
        <h2><Link href={`/flows/${s.flow}?tab=triggers`}>{s.flow.replaceAll("~", "/")}</Link> · {s.name}</h2>
        {s.paused && <span className="badge state-waiting"><span aria-hidden="true">‖</span> {t("schedules.paused")}</span>}
        {!s.active && <span className="badge">{t("schedules.inactive")}</span>}
        {hasScope(me, "admin") && (
          <span className="actions end">
            {s.paused
              ? <button disabled={busy} onClick={() => void act(() => api.post("/api/v1/schedules/{id}/resume", { path }))}>{t("schedules.resume")}</button>
              : <button disabled={busy} onClick={() => void act(() => api.post("/api/v1/schedules/{id}/pause", { path }))}>{t("schedules.pause")}</button>}
            <button disabled={busy} onClick={() => void act(() => api.post("/api/v1/schedules/{id}/fire", { path }))}>{t("schedules.fire")}</button>
          </span>
        )}
      </div>
      <Plan schedule={s} onPast={onChange} />
      {error && <ErrorBox error={error} />}
      <dl className="members">
        <div><dt>{t("schedules.cron")}</dt><dd><code>{s.cron}</code> {s.timezone}</dd></div>
        {s.next.length > 0 && <div><dt>{t("schedules.next")}</dt><dd>{s.next.map((at, i) => <span key={at}>{i > 0 && " · "}<NextTime at={at} zone={s.timezone} /></span>)}</dd></div>}
        {s.user && <div><dt>{t("schedules.user")}</dt><dd>{s.user}</dd></div>}
        <div><dt>{t("schedules.overlap")}</dt><dd>{t(`schedules.overlap_${s.overlap}`)}</dd></div>
        <div><dt>{t("schedules.catch_up")}</dt><dd>{t(`schedules.catch_up_${s.catch_up}`)}</dd></div>
      </dl>
      {s.last.length > 0 && (
        <table className="plain">
          <thead><tr><th>{t("schedules.last")}</th><th>{t("schedules.became")}</th><th>{t("schedules.why")}</th></tr></thead>
          <tbody>
            {s.last.map((fire) => (
              <tr key={fire.at}>
                <td><Ago time={fire.at} /></td>
                <td>{t(`schedules.state_${fire.state}` as Key)} {fire.run && <Link href={`/runs/${fire.run}`}>{fire.run.slice(-6)}</Link>}</td>
                <td>{fire.reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </article>
  );
}
