import { api } from "../api/client.ts";
import { usePages } from "../api/load.ts";
import { Empty, ErrorBox, Loading, ScreenHead } from "../components/common.tsx";
import { formatJSON } from "../format.ts";
import { useText } from "../i18n.ts";
import "./calls.css";

/** Plugins lists the plugins as the server has them; they are trusted on the command line. */
export default function Plugins() {
  const t = useText();
  const list = usePages((cursor, signal) => api.get("/api/v1/plugins", { query: { cursor }, signal }), []);
  const items = list.items as Record<string, unknown>[];
  return (
    <section className="screen">
      <ScreenHead title={t("plugins.title")} />
      {list.error && <ErrorBox error={list.error} retry={list.reload} />}
      {list.loading && !items.length && <Loading />}
      {!list.loading && !list.error && !items.length && <Empty title={t("plugins.empty")}><p>{t("plugins.begin")} <code>scheduler plugins init NAME</code></p></Empty>}
      <div className="cards">
        {items.map(({ name, ...rest }) => (
          <article key={String(name)} className="card">
            <h2>{String(name)}</h2>
            <dl className="members">{Object.entries(rest).map(([key, value]) => <div key={key}><dt>{key}</dt><dd>{formatJSON(value)}</dd></div>)}</dl>
          </article>
        ))}
      </div>
      {list.hasMore && <button onClick={list.loadMore}>{t("plugins.more")}</button>}
    </section>
  );
}
