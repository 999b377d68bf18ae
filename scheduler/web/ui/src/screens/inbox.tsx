import { Link } from "wouter";
import { api, type Schemas } from "../api/client.ts";
import { usePages } from "../api/load.ts";
import { useFreshList } from "../api/stream.ts";
import { Ago, Empty, ErrorBox, Loading, ScreenHead } from "../components/common.tsx";
import { Table, type Column } from "../components/table.tsx";
import { labelOf, reasonLines } from "../forms/why.tsx";
import { useLanguage, useText } from "../i18n.ts";

type Waiter = Schemas["Waiter"];

/** Inbox lists all that runs wait for, what waits longest first. */
export default function Inbox() {
  const t = useText();
  const language = useLanguage();
  const list = usePages<Waiter>((cursor, signal) => api.get("/api/v1/waiting", { query: { cursor }, signal }), []);
  useFreshList(list.reload);
  const columns: Column<Waiter>[] = [
    { id: "flow", title: t("inbox.run"), width: "minmax(8rem, 1fr)", cell: (w) => <><Link href={`/inbox/${w.run}`} aria-label={t("inbox.answer_of", { flow: w.flow, step: w.step })}>{w.flow}</Link> <code className="hint">{w.run.slice(-6)}</code></> },
    { id: "step", title: t("inbox.step"), width: "minmax(6rem, 0.7fr)", cell: (w) => <code>{w.step}</code> },
    { id: "values", title: t("inbox.values"), width: "minmax(8rem, 1fr)", cell: (w) => namesOf(w) },
    { id: "question", title: t("inbox.question"), width: "minmax(8rem, 2fr)", cell: (w) => <span title={reasonLines(w, language).join("\n")}>{w.question || reasonLines(w, language)[0]?.split("\n")[0]}</span> },
    { id: "user", title: t("inbox.user"), width: "minmax(4rem, 0.5fr)", cell: (w) => w.owner ?? "" },
    { id: "since", title: t("inbox.since"), width: "7.5rem", cell: (w) => <Ago time={w.since} /> },
  ];
  return (
    <section className="screen">
      <ScreenHead title={t("inbox.title")} />
      {list.error && <ErrorBox error={list.error} retry={list.reload} />}
      {list.loading && !list.items.length && <Loading />}
      {!list.loading && !list.error && !list.items.length && <Empty title={t("inbox.empty")}><p>{t("inbox.empty_text")}</p></Empty>}
      {list.items.length > 0 && <Table label={t("inbox.title")} columns={columns} rows={list.items} keyOf={(w) => `${w.run} ${w.step}`} hasMore={list.hasMore} onEnd={list.loadMore} />}
    </section>
  );
}

function namesOf(w: Waiter): string {
  const schema = w.remaining_schema as { properties?: object; required?: string[] };
  return (schema.required?.length ? schema.required : Object.keys(schema.properties ?? {})).map((pointer) => {
    const { title } = ((schema.properties as Record<string, { title?: string }> | undefined)?.[pointer] ?? {});
    return title ?? labelOf(pointer);
  }).join(", ");
}
