import { useEffect, useRef, useState } from "react";
import { Link, useSearchParams } from "wouter";
import { api, type Schemas } from "../api/client.ts";
import { useLoad, usePages, type Page, type Pages } from "../api/load.ts";
import { useFreshList } from "../api/stream.ts";
import { Ago, Empty, ErrorBox, Loading, ScreenHead, StateBadge } from "../components/common.tsx";
import { Table, type Column } from "../components/table.tsx";
import { RunFlow } from "../flow/run-flow.tsx";
import { formatCost, formatDuration, formatNumber } from "../format.ts";
import { useText, type Key, type Translate } from "../i18n.ts";
import { useMe } from "../me.ts";
import { Hours } from "../run/hours.tsx";
import { Said } from "../run/said.tsx";
import "./runs.css";

type Run = Schemas["RunItem"];

const states = ["running", "waiting", "failed", "cancelled", "finished"] as const;
const periods = ["1h", "24h", "168h", "720h"] as const;
const filterNames = ["state", "flow", "user", "since", "q"] as const;
type Filters = Partial<Record<(typeof filterNames)[number], string>>;

/** Runs lists the runs, the newest first, and follows them. The filters are in the URL. */
export default function Runs() {
  const t = useText();
  const [query, setQuery] = useSearchParams();
  const filters: Filters = Object.fromEntries(filterNames.flatMap((name) => (query.get(name) ? [[name, query.get(name)!]] : [])));
  const list = (cursor?: string, signal?: AbortSignal) => api.get("/api/v1/runs", { query: { ...filters, view: "live", cursor }, signal });
  const runs = usePages<Run>(list, [filters]);
  useFreshRuns(runs, JSON.stringify(filters), (signal) => list(undefined, signal));
  const setFilter = (name: string, value: string) =>
    setQuery((old) => {
      const next = new URLSearchParams(old);
      if (value) next.set(name, value);
      else next.delete(name);
      return next;
    }, { replace: true });
  const isFiltered = Object.keys(filters).length > 0;
  const { bound: isBound, currency } = useMe();
  const columns: Column<Run>[] = [
    { id: "state", title: t("runs.state"), width: "7.5rem", cell: (r) => <StateBadge state={r.queued ? "queued" : r.state} /> },
    { id: "flow", title: t("runs.flow"), width: "minmax(7rem, 1fr)", cell: (r) => <RunName run={r} /> },
    { id: "said", title: t("runs.said"), width: "minmax(12rem, 3.5fr)", cell: (r) => <Said run={r} /> },
    { id: "started", title: t("runs.started"), width: "6.5rem", cell: (r) => <Ago time={r.started_at} /> },
    { id: "duration", title: t("runs.duration"), width: "5.5rem", align: "end", cell: durationOf },
    { id: "tokens", title: t("runs.tokens"), width: "4.5rem", align: "end", cell: (r) => (tokensOf(r) ? <>{formatNumber(tokensOf(r))}<span className="card-unit"> {t("runs.tokens")}</span></> : "") },
    { id: "cost", title: t("runs.cost"), width: "5rem", align: "end", cell: (r) => (r.summary?.usage.cost ? formatCost(r.summary.usage.cost, currency) : "") },
    { id: "origin", title: t("runs.origin"), width: "5.5rem", cell: (r) => originOf(r, t) },
    ...(isBound ? [] : [{ id: "user", title: t("runs.user"), width: "minmax(3rem, 0.6fr)", cell: (r: Run) => r.owner ?? "" }]),
  ];
  return (
    <section className="screen">
      <ScreenHead title={t("runs.title")}><RunFlow /></ScreenHead>
      <Hours filters={filters} />
      <FilterBar filters={filters} owners={runs.items.flatMap((r) => r.owner ?? [])} isBound={isBound} onChange={setFilter} onClear={() => setQuery(new URLSearchParams(), { replace: true })} />
      {runs.error && <ErrorBox error={runs.error} retry={runs.reload} />}
      {runs.loading && !runs.items.length ? <Loading /> : null}
      {!runs.loading && !runs.error && !runs.items.length && (
        <Empty title={t(isFiltered ? "runs.none_fit" : "runs.empty")}>
          {isFiltered ? <p>{t("runs.none_fit_text")}</p> : <><p>{t("runs.begin")} <code>scheduler run flow.yaml</code></p><RunFlow /></>}
        </Empty>
      )}
      {runs.items.length > 0 && (
        <Table cards label={t("runs.title")} columns={columns} rows={runs.items} keyOf={(r) => r.run} hasMore={runs.hasMore} onEnd={runs.loadMore} />
      )}
    </section>
  );
}

/** Loads the first page of what key names again soon after a change, and every two seconds while a run on it runs. */
function useFreshRuns(runs: Pages<Run>, key: string, load: (signal: AbortSignal) => Promise<Page<Run>>) {
  const { items, loading, reload, setItems } = runs;
  const busy = useRef(false);
  const again = useRef(false);
  const newest = useRef({ key, load });
  newest.current = { key, load };
  const abort = useRef<AbortController>(null);
  const refresh = () => {
    if (loading) return reload(); // what is on its way may be older
    if (busy.current) {
      again.current = true;
      return;
    }
    busy.current = true;
    abort.current = new AbortController();
    const asked = newest.current;
    asked.load(abort.current.signal)
      .then((page) => asked.key === newest.current.key && setItems((old) => mergeRuns(old, page)))
      .catch(() => {}) // the next change, or the next tick, asks again
      .finally(() => {
        busy.current = false;
        if (again.current) {
          again.current = false;
          tick.current();
        }
      });
  };
  useFreshList(refresh);
  const isRunning = items.some((r) => r.state === "running");
  const tick = useRef(refresh);
  tick.current = refresh;
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => document.visibilityState === "visible" && tick.current(), 2000);
    return () => clearInterval(timer);
  }, [isRunning]);
  useEffect(() => () => abort.current?.abort(), []);
}

/** Returns the list with its first page replaced by a fresh one; runs that came later stay behind it. */
function mergeRuns(old: Run[], page: Page<Run>): Run[] {
  if (!page.next) return page.items;
  const fresh = new Set(page.items.map((r) => r.run));
  const last = page.items.at(-1)!;
  const at = old.findIndex((r) => r.run === last.run);
  const rest = at < 0 ? [] : old.slice(at + 1).filter((r) => !fresh.has(r.run));
  return [...page.items, ...rest];
}

function RunName({ run }: { run: Run }) {
  const t = useText();
  return (
    <>
      <Link href={`/runs/${run.run}`} className="row-link">{run.flow}</Link> <code className="hint" title={run.run}>{run.run.slice(-6)}</code>
      {run.stuck && <span className="badge state-failed">{t("runs.stuck")}</span>}
      {run.waits_because && <> <span className="hint">{run.waits_because.text}</span></>}
    </>
  );
}

const durationOf = (r: Run) => (r.last_seq ? formatDuration(Date.parse(r.updated_at) - Date.parse(r.started_at)) : "");

function tokensOf(r: Run): number {
  const told = r.summary?.usage;
  return told ? told.input_tokens + told.output_tokens : r.progress?.tokens ?? 0;
}

const origins = ["api", "cli", "mcp", "openai", "trigger"];

function originOf(r: Run, t: Translate): string {
  return origins.includes(r.origin ?? "") ? t(`runs.origin_${r.origin}` as Key) : r.origin ?? "";
}

function FilterBar({ filters, owners, isBound, onChange, onClear }: { filters: Filters; owners: string[]; isBound: boolean; onChange(name: string, value: string): void; onClear(): void }) {
  const t = useText();
  const flows = useLoad((signal) => api.get("/api/v1/flows", { query: { limit: 200 }, signal }), []);
  const names = [...new Set([...(flows.data?.items ?? []).map((f) => f.name ?? f.flow), ...(filters.flow ? [filters.flow] : [])])].sort();
  return (
    <form className="filters" role="search" onSubmit={(e) => e.preventDefault()}>
      <Choice label={t("runs.state")} value={filters.state} all={t("runs.any")} onChange={(v) => onChange("state", v)} options={states.map((s) => [s, t(`state.${s}` as Key)])} />
      <Choice label={t("runs.flow")} value={filters.flow} all={t("runs.any")} onChange={(v) => onChange("flow", v)} options={names.map((n) => [n, n])} />
      <Choice label={t("runs.since")} value={filters.since} all={t("runs.any")} onChange={(v) => onChange("since", v)} options={periods.map((p) => [p, t(`runs.since_${p}` as Key)])} />
      {!isBound && <TypedFilter label={t("runs.user")} value={filters.user ?? ""} onChange={(v) => onChange("user", v)} options={[...new Set(owners)].sort()} />}
      <TypedFilter label={t("runs.search")} value={filters.q ?? ""} onChange={(v) => onChange("q", v)} type="search" />
      {Object.keys(filters).length > 0 && <button type="button" onClick={onClear}>{t("runs.clear")}</button>}
    </form>
  );
}

function Choice({ label, value, all, options, onChange }: { label: string; value?: string; all: string; options: [string, string][]; onChange(value: string): void }) {
  return (
    <label>
      {label}
      <select value={value ?? ""} onChange={(e) => onChange(e.target.value)}>
        <option value="">{all}</option>
        {options.map(([id, name]) => <option key={id} value={id}>{name}</option>)}
      </select>
    </label>
  );
}

/** A filter that is typed: it holds soon after the last key. */
function TypedFilter({ label, value, onChange, options, type = "text" }: { label: string; value: string; onChange(value: string): void; options?: string[]; type?: string }) {
  const [text, setText] = useState(value);
  const newest = useRef(onChange);
  newest.current = onChange;
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => newest.current(text), 300);
    return () => clearTimeout(timer);
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [text]);
  return (
    <label>
      {label}
      <input type={type} value={text} list={options?.length ? `list-${label}` : undefined} onChange={(e) => setText(e.target.value)} />
      {!!options?.length && <datalist id={`list-${label}`}>{options.map((o) => <option key={o} value={o} />)}</datalist>}
    </label>
  );
}
