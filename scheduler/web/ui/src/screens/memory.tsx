import { useState } from "react";
import { Link, useSearchParams } from "wouter";
import { api, type Schemas } from "../api/client.ts";
import { useLoad, usePages } from "../api/load.ts";
import { Ago, Dialog, Empty, ErrorBox, Loading, ScreenHead, Tabs } from "../components/common.tsx";
import { formatJSON, formatNumber } from "../format.ts";
import { useText } from "../i18n.ts";
import { hasScope, useMe } from "../me.ts";
import "./calls.css";

/** A memory, as lists have it and as a search finds it, with its score and the reason. */
interface Memory {
  id: string;
  content?: string;
  timestamp?: string;
  context?: unknown;
  relevance?: { score: number; reason: string };
}

/** MemoryScreen shows what is remembered of a user: found by a search, or all of it, newest first; and its snapshots. */
export default function MemoryScreen() {
  const t = useText();
  const me = useMe();
  const [query, setQuery] = useSearchParams();
  const user = query.get("user") ?? me.user ?? "";
  const users = useLoad(async (signal) => (hasScope(me, "admin") && !me.bound ? (await api.get("/api/v1/memory/users", { query: { limit: 200 }, signal })).items.map((u) => u.user) : undefined), []);
  const [version, setVersion] = useState(0);
  const tab = query.get("tab") === "snapshots" ? "snapshots" : "memories";
  const set = (name: string, value: string) => setQuery((old) => {
    const next = new URLSearchParams(old);
    if (value) next.set(name, value);
    else next.delete(name);
    return next;
  }, { replace: true });
  return (
    <section className="screen">
      <ScreenHead title={t("memory.title")} />
      <SearchBar key={user} user={user} users={users.data} query={query} onSet={setQuery} onUser={(one) => set("user", one)} />
      {!user && (users.data?.length === 0 ? <Empty title={t("memory.no_users")}><p>{t("memory.no_users_text")}</p></Empty> : <Empty title={t("memory.choose")} />)}
      {user && <Stats user={user} version={version} />}
      {user && (
        <Tabs tabs={(["memories", "snapshots"] as const).map((id) => ({ id, title: t(`memory.tab_${id}`) }))} value={tab} onChange={(one) => set("tab", one)} label={t("memory.title")}>
          {tab === "snapshots" ? <Snapshots user={user} onMade={() => setVersion((n) => n + 1)} /> : query.get("q") ? <Found user={user} text={query.get("q")!} asOf={query.get("as_of") ?? ""} /> : <All user={user} before={query.get("as_of") ?? ""} />}
        </Tabs>
      )}
    </section>
  );
}

/** SearchBar searches the memories of a user. users are those who have some, if the reader may know them. */
function SearchBar({ user, users, query, onSet, onUser }: { user: string; users?: string[]; query: URLSearchParams; onSet(next: URLSearchParams): void; onUser(user: string): void }) {
  const t = useText();
  const me = useMe();
  const [text, setText] = useState(query.get("q") ?? "");
  const [asOf, setAsOf] = useState(query.get("as_of") ?? "");
  const search = () => {
    const next = new URLSearchParams(query);
    for (const [name, value] of [["q", text.trim()], ["as_of", asOf]] as const) {
      if (value) next.set(name, value);
      else next.delete(name);
    }
    next.delete("tab");
    onSet(next);
  };
  return (
    <form className="filters" role="search" onSubmit={(e) => (e.preventDefault(), search())}>
      {!me.bound && (
        <label>{t("memory.user")}
          {users
            ? <select value={user} onChange={(e) => onUser(e.target.value)}><option value="">{t("memory.none")}</option>{[...new Set([...users, ...(user ? [user] : [])])].map((one) => <option key={one}>{one}</option>)}</select>
            : <input defaultValue={user} onBlur={(e) => onUser(e.target.value.trim())} />}
        </label>
      )}
      <label>{t("memory.search")}<input type="search" value={text} onChange={(e) => setText(e.target.value)} /></label>
      <label>{t("memory.as_of")}<input type="datetime-local" value={asOf} onChange={(e) => setAsOf(e.target.value)} /></label>
      <button className="primary" disabled={!user}>{t("memory.find")}</button>
    </form>
  );
}

/** Returns a time of the reader's zone as the server takes it. */
const instantOf = (local: string): string | undefined => (local ? new Date(local).toISOString() : undefined);

function Found({ user, text, asOf }: { user: string; text: string; asOf: string }) {
  const t = useText();
  const found = useLoad((signal) => api.post("/api/v1/memory/search", { body: { user, query: text, limit: 50, min_relevance: 0, as_of: instantOf(asOf) }, signal }), [user, text, asOf]);
  if (found.error) return <ErrorBox error={found.error} retry={found.reload} />;
  if (!found.data) return <Loading />;
  const items = (found.data.relevant_memories ?? []).map((m): Memory => ({ id: m.memory_id, content: m.content, timestamp: m.timestamp, context: m.context, relevance: { score: m.relevance_score, reason: m.reason } }));
  return (
    <>
      {found.data.notes?.map((note, i) => <p key={i} className="hint">{note}</p>)}
      {items.length ? <MemoryList label={t("memory.found")} user={user} items={items} onDeleted={found.reload} /> : <Empty title={t("memory.nothing")}><p>{t("memory.nothing_text")}</p></Empty>}
    </>
  );
}

function All({ user, before }: { user: string; before: string }) {
  const t = useText();
  const list = usePages((cursor, signal) => api.get("/api/v1/memory", { query: { user, cursor, before: instantOf(before) }, signal }), [user, before]);
  if (list.error) return <ErrorBox error={list.error} retry={list.reload} />;
  if (!list.items.length) return list.loading ? <Loading /> : <Empty title={t("memory.empty")}><p>{t("memory.no_users_text")}</p><Link href="/chat">{t("memory.to_chat")}</Link></Empty>;
  return (
    <>
      <MemoryList label={t("memory.tab_memories")} user={user} items={list.items as Memory[]} onDeleted={list.reload} />
      {list.hasMore && <button onClick={list.loadMore}>{t("plugins.more")}</button>}
    </>
  );
}

/** What a memory tells of where it came from. */
function originOf(m: Memory): { session: string; run: string; role: string } {
  const context = (m.context ?? {}) as { session_id?: string; run_id?: string; other_context?: { role?: string } };
  const session = context.session_id ?? "";
  return { session, run: context.run_id ?? (isRun(session) ? session : ""), role: context.other_context?.role ?? "" };
}

/** The id of a run is a session too: of a flow whose runs remember each for itself. */
const isRun = (session: string) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(session);

function MemoryList({ label, user, items, onDeleted }: { label: string; user: string; items: Memory[]; onDeleted(): void }) {
  const [doomed, setDoomed] = useState<Memory>();
  return (
    <>
      <ul className="memories" aria-label={label}>
        {items.map((m) => <MemoryRow key={m.id} user={user} memory={m} onDelete={() => setDoomed(m)} />)}
      </ul>
      {doomed && <DeleteDialog user={user} memory={doomed} onClose={() => setDoomed(undefined)} onDone={() => (setDoomed(undefined), onDeleted())} />}
    </>
  );
}

/** MemoryRow is a line of a memory: its text, role, the way to the run that saved it, session, and age. Its text opens the rest. */
function MemoryRow({ user, memory: m, onDelete }: { user: string; memory: Memory; onDelete(): void }) {
  const t = useText();
  const me = useMe();
  const [isOpen, setOpen] = useState(false);
  const { session, run, role } = originOf(m);
  const score = m.relevance && formatNumber(Math.round(m.relevance.score * 100) / 100);
  return (
    <li data-open={isOpen || undefined}>
      <div className="memory-row">
        <button className="memory-text" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>{m.content}</button>
        <b title={m.relevance?.reason}>{score}</b>
        <span className="hint">{role && <span className="badge">{role}</span>}</span>
        <span className="hint">
          {run && <Link href={`/runs/${run}`} title={run}>{t("memory.run", { run: run.slice(-8) })}</Link>}
          {run && session && session !== run && " · "}
          {session && session !== run && <Link href={`/runs?q=${encodeURIComponent(session)}`} title={session}>{t("memory.session", { session })}</Link>}
        </span>
        <span className="hint">{m.timestamp && <Ago time={m.timestamp} />}</span>
        {hasScope(me, "memory:write") && <button className="quiet" aria-label={t("memory.delete_this", { text: (m.content ?? m.id).slice(0, 60) })} title={t("memory.delete")} onClick={onDelete}>✕</button>}
      </div>
      {isOpen && <Details user={user} memory={m} />}
    </li>
  );
}

/** Details shows all of a memory, why a search has found it, and what it was before it was saved again. */
function Details({ user, memory: m }: { user: string; memory: Memory }) {
  const t = useText();
  const whole = useLoad(async (signal) => (await api.get("/api/v1/memory/{id}", { path: { id: m.id }, query: { user, history: true }, signal })) as { old_versions?: Memory[] }, [m.id, user]);
  const old = whole.data?.old_versions ?? [];
  return (
    <div className="memory-whole">
      <p className="memory-content">{m.content}</p>
      {m.relevance && <p className="hint">{m.relevance.reason}</p>}
      <pre className="block json" tabIndex={0}>{formatJSON({ id: m.id, timestamp: m.timestamp, context: m.context })}</pre>
      {whole.error && <ErrorBox error={whole.error} retry={whole.reload} />}
      {old.length > 0 && <><h3>{t("memory.before")}</h3><ol className="old-versions">{old.map((one, i) => <li key={i}>{one.content}{one.timestamp && <span className="hint"> <Ago time={one.timestamp} /></span>}</li>)}</ol></>}
    </div>
  );
}

function DeleteDialog({ user, memory, onClose, onDone }: { user: string; memory: Memory; onClose(): void; onDone(): void }) {
  const t = useText();
  const [error, setError] = useState<Error>();
  const remove = async () => {
    try {
      await api.delete("/api/v1/memory/{id}", { path: { id: memory.id }, query: { user } });
      onDone();
    } catch (err) {
      setError(err as Error);
    }
  };
  return (
    <Dialog title={t("memory.delete_title")} onClose={onClose}>
      <p className="memory-content">{memory.content}</p>
      <p>{t("memory.delete_text")}</p>
      {error && <ErrorBox error={error} />}
      <div className="actions"><button className="danger" onClick={() => void remove()}>{t("memory.delete")}</button><button onClick={onClose}>{t("common.close")}</button></div>
    </Dialog>
  );
}

function Snapshots({ user, onMade }: { user: string; onMade(): void }) {
  const t = useText();
  const list = usePages((cursor, signal) => api.get("/api/v1/memory/snapshots", { query: { user, cursor }, signal }), [user]);
  if (list.error) return <ErrorBox error={list.error} retry={list.reload} />;
  return (
    <>
      <MakeSnapshots user={user} onMade={() => (list.reload(), onMade())} />
      {!list.items.length && (list.loading ? <Loading /> : <Empty title={t("memory.no_snapshots")}><p>{t("memory.no_snapshots_text")}</p></Empty>)}
      <ul className="snapshots" aria-label={t("memory.tab_snapshots")}>
        {(list.items as { id: string }[]).map((s) => <li key={s.id} className="card"><code>{s.id}</code><pre className="block json" tabIndex={0}>{formatJSON(s)}</pre></li>)}
      </ul>
      {list.hasMore && <button onClick={list.loadMore}>{t("plugins.more")}</button>}
    </>
  );
}

/** MakeSnapshots makes the snapshots of a user at once. If the model fails, it tells why and offers to try again. */
function MakeSnapshots({ user, onMade }: { user: string; onMade(): void }) {
  const t = useText();
  const me = useMe();
  const [report, setReport] = useState<Schemas["MadeSnapshots"] & { jobs: number }>();
  const [error, setError] = useState<Error>();
  const [busy, setBusy] = useState(false);
  if (!hasScope(me, "memory:write")) return null;
  const make = async () => {
    setBusy(true);
    setError(undefined);
    setReport(undefined);
    try {
      const made = await api.post("/api/v1/memory/snapshots", { query: { user } });
      const { jobs } = await api.get("/api/v1/memory/stats", { query: { user } });
      setReport({ ...made, jobs });
    } catch (err) {
      setError(err as Error);
    } finally {
      setBusy(false);
      onMade(); // also after a failure: those before it are kept
    }
  };
  const made = (report?.snapshots?.length ?? 0) + (report?.meta_snapshots?.length ?? 0);
  return (
    <div className="make-snapshots">
      {!error && <button disabled={busy} onClick={() => void make()}>{t("memory.make")}</button>}
      {error && <ErrorBox error={error} retry={() => void make()} />}
      <div role="status">
        {busy && t("memory.making")}
        {report && (made || !report.jobs) && <p>{t(made ? "memory.made" : "memory.made_none", { n: made })}</p>}
        {report && report.jobs > 0 && <p>{t("memory.postponed", { n: report.jobs })}</p>}
        {report?.warnings?.map((text, i) => <p key={i} className="hint">{text}</p>)}
        {report?.not_embedded && <p className="hint">{report.not_embedded}</p>}
      </div>
    </div>
  );
}

/** Stats counts what is remembered of a user, again for each version. */
function Stats({ user, version }: { user: string; version: number }) {
  const t = useText();
  const stats = useLoad((signal) => api.get("/api/v1/memory/stats", { query: { user }, signal }), [user, version]);
  const s: Schemas["Stats"] | undefined = stats.data;
  if (!s) return null;
  return <p className="hint">{t("memory.stats", { memories: s.memories, snapshots: s.snapshots + s.meta_snapshots, versions: s.old_versions })}</p>;
}
