import { useMemo, useState } from "react";
import { Link, useParams } from "wouter";
import { api, type Schemas } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { Empty, ErrorBox, Loading, ScreenHead } from "../components/common.tsx";
import { formatJSON } from "../format.ts";
import { useText } from "../i18n.ts";
import { hasScope, useMe } from "../me.ts";
import { SchemaTable, skeletonOf, type Schema } from "../catalogue/schema-table.tsx";
import "./calls.css";

/** Calls is the catalogue: the calls beside the one that is shown. */
export default function Calls() {
  const t = useText();
  const { name } = useParams<{ name?: string }>();
  const list = useLoad((signal) => api.get("/api/v1/calls", { query: { limit: 200 }, signal }), []);
  const [filter, setFilter] = useState("");
  const found = (list.data?.items ?? []).filter((c) => `${c.name} ${c.summary}`.toLowerCase().includes(filter.toLowerCase()));
  return (
    <section className="screen">
      <ScreenHead title={t("calls.title")} />
      {list.error && <ErrorBox error={list.error} retry={list.reload} />}
      <div className="catalogue">
        <nav aria-label={t("calls.title")}>
          <input type="search" aria-label={t("calls.search")} placeholder={t("calls.search")} value={filter} onChange={(e) => setFilter(e.target.value)} />
          <ul>{found.map((c) => <li key={c.name}><Link href={`/calls/${c.name}`} aria-current={c.name === name ? "page" : undefined}><code>{c.name}</code><span className="hint">{c.summary}</span></Link></li>)}</ul>
        </nav>
        {name ? <Call key={name} name={name} /> : list.data && !found.length
          ? <Empty title={t("calls.none_fit")}><button onClick={() => setFilter("")}>{t("calls.show_all")}</button></Empty>
          : <Empty title={t("calls.choose")}><p>{t("calls.choose_text")}</p></Empty>}
      </div>
    </section>
  );
}

function Call({ name }: { name: string }) {
  const t = useText();
  const call = useLoad((signal) => api.get("/api/v1/calls/{name}", { path: { name }, signal }), [name]);
  if (call.error) return <ErrorBox error={call.error} retry={call.reload} />;
  if (!call.data) return <Loading />;
  const { summary, params, output, example } = call.data;
  return (
    <article className="card call">
      <h2><code>{name}</code></h2>
      <p>{summary}</p>
      <section><h3>{t("calls.params")}</h3><SchemaTable schema={params} label={t("calls.params")} /></section>
      <section><h3>{t("calls.output")}</h3><SchemaTable schema={output} label={t("calls.output")} /></section>
      {example && <section><h3>{t("calls.example")}</h3><pre className="block json" tabIndex={0}>{example}</pre></section>}
      <TryCall call={call.data} />
    </article>
  );
}

/** Returns the example of a call as a request, in the memory of the caller where the token is bound to it; or one to be filled in. */
function exampleOf(call: Schemas["CallBody"], me: Schemas["MeBody"]): object {
  if (!call.request) return { with: skeletonOf(call.params as Schema) ?? {}, vars: { question: "" } };
  const { vars, ...rest } = call.request as { vars?: Record<string, unknown> };
  return { ...rest, ...(vars && { vars: me.bound && vars.user !== undefined ? { ...vars, user: me.user } : vars }) };
}

/** TryCall makes one call and shows what it puts out. */
function TryCall({ call }: { call: Schemas["CallBody"] }) {
  const t = useText();
  const me = useMe();
  const example = useMemo(() => formatJSON(exampleOf(call, me)), [call, me]);
  const [text, setText] = useState(example);
  const [result, setResult] = useState<Schemas["CallOutput"]>();
  const [error, setError] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    setError(undefined);
    setResult(undefined);
    try {
      setResult(await api.post("/api/v1/calls/{name}", { path: { name: call.name }, body: JSON.parse(text) as Schemas["RunCallInputBody"] }));
    } catch (err) {
      setError(err instanceof SyntaxError ? new Error(t("calls.not_json", { error: err.message })) : (err as Error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <section className="try">
      <h3>{t("calls.try")}</h3>
      <p className="hint">{t("calls.try_text")}{call.request ? ` ${t("calls.try_example")}` : ""}</p>
      <textarea className="mono" aria-label={t("calls.request")} spellCheck={false} rows={Math.min(20, text.split("\n").length + 1)} value={text} onChange={(e) => setText(e.target.value)} />
      {hasScope(me, "calls:run")
        ? (
          <div className="actions">
            <button className="primary" disabled={busy} onClick={() => void run()}>{t("calls.run")}</button>
            {call.request !== undefined && text !== example && <button onClick={() => setText(example)}>{t("calls.back")}</button>}
          </div>
        )
        : <p className="hint">{t("calls.no_scope")}</p>}
      {error && <ErrorBox error={error} />}
      {result && (
        <div role="status">
          <h3>{t("calls.result")}</h3>
          <pre className="block json result" tabIndex={0}>{formatJSON(result.output)}</pre>
          {!!result.notes?.length && <ul>{result.notes.map((n, i) => <li key={i}>{n}</li>)}</ul>}
        </div>
      )}
    </section>
  );
}
