import { useEffect, useRef } from "react";
import { Link, useParams } from "wouter";
import { api, type Schemas } from "../api/client.ts";
import { usePages } from "../api/load.ts";
import { useFreshList } from "../api/stream.ts";
import { Ago, Empty, ErrorBox, Loading, ScreenHead } from "../components/common.tsx";
import { reasonLines } from "../forms/why.tsx";
import { useLanguage, useText } from "../i18n.ts";
import { useMe } from "../me.ts";
import { Answer } from "./answer.tsx";
import "./inbox.css";

type Waiter = Schemas["Waiter"];

/** Inbox lists the runs that wait for a person, the longest wait first, and beside them the one that is answered. */
export default function Inbox() {
  const t = useText();
  const { run } = useParams<{ run?: string }>();
  const list = usePages<Waiter>((cursor, signal) => api.get("/api/v1/waiting", { query: { cursor }, signal }), []);
  useFreshList(list.reload);
  const runs = groupByRun(list.items);
  const hasNone = !list.loading && !list.error && !runs.length;
  return (
    <section className="screen">
      <ScreenHead title={t("inbox.title")} />
      {list.error && <ErrorBox error={list.error} retry={list.reload} />}
      {list.loading && !runs.length && <Loading />}
      {hasNone && !run && <Empty title={t("inbox.empty")}><p>{t("inbox.empty_text")}</p><Link href="/runs">{t("nav.toRuns")}</Link></Empty>}
      <div className="inbox" data-chosen={!!run || undefined}>
        {runs.length > 0 && (
          <div className="inbox-side">
            <ul className="inbox-list" aria-label={t("inbox.title")}>
              {runs.map((waits) => <Item key={waits[0]!.run} waits={waits} isChosen={waits[0]!.run === run} />)}
            </ul>
            {list.hasMore && <button onClick={list.loadMore}>{t("plugins.more")}</button>}
          </div>
        )}
        {run ? <Chosen key={run} run={run} /> : runs.length > 0 && <div className="empty inbox-choose">{t("inbox.choose")}</div>}
      </div>
    </section>
  );
}

function groupByRun(waits: Waiter[]): Waiter[][] {
  const runs = new Map<string, Waiter[]>();
  for (const w of waits) runs.set(w.run, [...(runs.get(w.run) ?? []), w]);
  return [...runs.values()];
}

/** Chosen is the run that is answered. Where it stands below the list it comes into sight by itself. */
function Chosen({ run }: { run: string }) {
  const t = useText();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.scrollIntoView({ block: "nearest" }); // its promise is no clean-up
  }, []);
  return (
    <div className="inbox-answer" ref={box}>
      <Link href="/inbox" className="inbox-back">← {t("inbox.back")}</Link>
      <Answer run={run} />
    </div>
  );
}

/** Item is a run that waits: the question of its user, and below it the question of the run. */
function Item({ waits, isChosen }: { waits: Waiter[]; isChosen: boolean }) {
  const t = useText();
  const language = useLanguage();
  const me = useMe();
  const first = waits[0]!;
  const asks = first.approval?.message || first.question || reasonLines(first, language)[0]?.split("\n")[0];
  return (
    <li className="card inbox-item" data-selected={isChosen || undefined}>
      <div className="inbox-item-head">
        <Link href={`/inbox/${first.run}`} className="row-link" aria-current={isChosen ? "true" : undefined} aria-label={t("inbox.title_of", { flow: first.flow })}>{first.flow}</Link>
        {!me.bound && first.owner && <span>{first.owner}</span>}
        <span className="hint"><Ago time={first.since} /></span>
      </div>
      {first.asked && <p className="inbox-asked">{first.asked}</p>}
      <p className="hint">{asks}{waits.length > 1 && ` ${t("inbox.more", { n: waits.length - 1 })}`}</p>
    </li>
  );
}
