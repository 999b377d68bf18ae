import { Link } from "wouter";
import { api } from "../api/client.ts";
import { usePages } from "../api/load.ts";
import { Empty, ErrorBox, Loading, ScreenHead } from "../components/common.tsx";
import { useText } from "../i18n.ts";
import "./calls.css";

/** Plugin is a plugin as the server lists it. What it offers and may use is known of one that is trusted. */
interface Plugin {
  name: string;
  version: string;
  description: string;
  state: "trusted" | "untrusted" | "changed" | "missing" | "no-program";
  dir?: string;
  sha256?: string;
  command?: string[];
  services?: string[];
  env?: string[];
  functions: { name: string; kind: "call" | "importance" | "variable" | "check"; summary: string }[];
}

/** The look of each state, and the command that mends it. */
const states: Record<Plugin["state"], { look: string; sign: string; remedy?: "trust" | "untrust" }> = {
  trusted: { look: "finished", sign: "✓" },
  untrusted: { look: "waiting", sign: "!", remedy: "trust" },
  changed: { look: "failed", sign: "✗", remedy: "trust" },
  missing: { look: "failed", sign: "✗", remedy: "untrust" },
  "no-program": { look: "failed", sign: "✗" },
};

/** Plugins lists the plugins with what they offer and whether they are trusted, which is decided on the command line. */
export default function Plugins() {
  const t = useText();
  const list = usePages((cursor, signal) => api.get("/api/v1/plugins", { query: { cursor }, signal }), []);
  const items = list.items as unknown as Plugin[];
  return (
    <section className="screen">
      <ScreenHead title={t("plugins.title")} />
      {list.error && <ErrorBox error={list.error} retry={list.reload} />}
      {list.loading && !items.length && <Loading />}
      {!list.loading && !list.error && !items.length && <Empty title={t("plugins.empty")}><p>{t("plugins.about")}</p><p>{t("plugins.begin")} <code>scheduler plugins init NAME</code></p><Link href="/help/plugins">{t("plugins.guide")}</Link></Empty>}
      <div className="cards">{items.map((one) => <PluginCard key={one.name} plugin={one} />)}</div>
      {list.hasMore && <button onClick={list.loadMore}>{t("plugins.more")}</button>}
    </section>
  );
}

function PluginCard({ plugin: p }: { plugin: Plugin }) {
  const t = useText();
  const { look, sign, remedy } = states[p.state];
  const uses = [...(p.services ?? []), ...(p.env ?? [])];
  return (
    <article className="card plugin" aria-label={p.name}>
      <div className="screen-head">
        <h2>{p.name}</h2> <span className="hint">{p.version}</span>
        <span className={`badge state-${look}`}><span aria-hidden="true">{sign}</span> {t(`plugins.state_${p.state}`)}</span>
      </div>
      {p.description && <p>{p.description}</p>}
      {p.state !== "trusted" && <p className="hint">{t(`plugins.why_${p.state}`)} {remedy && <code>scheduler plugins {remedy} {p.name}</code>}</p>}
      <h3>{t("plugins.offers")}</h3>
      {p.functions.length === 0 && <p className="hint">{t("plugins.offers_unknown")}</p>}
      <ul className="offers">
        {p.functions.map((f) => (
          <li key={`${f.kind} ${f.name}`}>
            {f.kind === "call" ? <Link href={`/calls/${f.name}`}><code>{f.name}</code></Link> : <code>{f.name}</code>} <span className="badge">{t(`plugins.kind_${f.kind}`)}</span>
            {f.summary && <span className="hint"> {f.summary}</span>}
          </li>
        ))}
      </ul>
      {p.state !== "untrusted" && <p className="hint">{uses.length ? <>{t("plugins.uses")} {uses.map((one) => <code key={one}>{one} </code>)}</> : t("plugins.uses_nothing")}</p>}
      <details>
        <summary>{t("plugins.details")}</summary>
        <dl className="members">
          {p.dir && <div><dt>{t("plugins.dir")}</dt><dd><code>{p.dir}</code></dd></div>}
          {p.command && <div><dt>{t("plugins.command")}</dt><dd><code>{p.command.join(" ")}</code></dd></div>}
          {p.sha256 && <div><dt>SHA-256</dt><dd><code>{p.sha256}</code></dd></div>}
        </dl>
      </details>
    </article>
  );
}
