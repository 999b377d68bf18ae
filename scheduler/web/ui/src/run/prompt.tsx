import { Fragment, useMemo, useRef, useState, type KeyboardEvent, type RefObject } from "react";
import { ApiError, api, type Schemas } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { Empty, ErrorBox, Loading } from "../components/common.tsx";
import { formatNumber } from "../format.ts";
import { useText, type Key } from "../i18n.ts";
import { diffWords } from "./diff.ts";
import { FileViewer } from "./file-viewer.tsx";
import { kindOf, kinds, nameOf, placeOf, placeText, placesOf, sourceText, tokensByKind, type Kind, type Piece, type Place } from "./sources.ts";
import "./prompt.css";

type Explanation = Schemas["Explanation"];
type Message = Schemas["ExplainedMessage"];

/** PromptExplorer shows the prompts that a step really sent, and where each piece of them came from. */
export function PromptExplorer({ run, step, version }: { run: string; step: string; version: string }) {
  const t = useText();
  const prompts = useLoad((signal) => api.get("/api/v1/runs/{id}/prompts", { path: { id: run }, query: { step }, signal }), [run, step, version]);
  const [chosen, setChosen] = useState<number>();
  const list = prompts.data?.prompts ?? [];
  const at = Math.min(chosen ?? list.length - 1, list.length - 1);
  if (!prompts.data && prompts.error) {
    const isMissing = prompts.error instanceof ApiError && prompts.error.problem.status === 404;
    return isMissing ? <Empty title={t("prompt.none")}><p className="hint">{prompts.error.message}</p></Empty> : <ErrorBox error={prompts.error} retry={prompts.reload} />;
  }
  if (!prompts.data) return <Loading />;
  const shown = list[at];
  if (!shown) return <Empty title={t("prompt.none")} />;
  return (
    <div className="explorer">
      {list.length > 1 && (
        <label className="explorer-choice">
          {t("prompt.choice")}{" "}
          <select value={at} onChange={(e) => setChosen(Number(e.target.value))}>
            {list.map((p, i) => <option key={i} value={i}>{t("prompt.numbered", { i: i + 1, n: list.length, step: p.step })}</option>)}
          </select>
        </label>
      )}
      <Explained key={`${shown.step} ${at}`} run={run} step={step} prompt={shown} before={list[at - 1]} />
    </div>
  );
}

/** Explained shows a prompt: of a step of a run, whose files can be opened, of a test, or of a text that is edited, to whose lines onOpen leads. */
export function Explained({ run, step, prompt, before, onOpen }: { run?: string; step: string; prompt: Explanation; before?: Explanation; onOpen?(place: Place): void }) {
  const t = useText();
  const [view, setView] = useState<"sources" | "changes">("sources");
  const [active, setActive] = useState<Piece>();
  const [open, setOpen] = useState<Place>();
  const [only, setOnly] = useState<Kind>();
  const messages = prompt.messages ?? [];
  const sums = useMemo(() => tokensByKind((prompt.messages ?? []).flatMap((m) => m.pieces ?? [])), [prompt]);
  const leftOut = prompt.left_out ?? [];
  const side = useRef<HTMLElement>(null);
  const openPlace = run ? setOpen : onOpen;
  return (
    <>
      <div className="explorer-top">
        <div className="explorer-sum">
          <strong>{t("prompt.tokens", { n: prompt.total })}</strong>
          <span className="hint">{t(prompt.counted_by === "provider" ? "prompt.by_provider" : "prompt.by_estimate", { n: prompt.tokens })}</span>
          {leftOut.length > 0 && (
            <button className="link" onClick={() => (side.current?.scrollIntoView({ block: "nearest" }), side.current?.querySelector("summary")?.focus())}>
              {t("prompt.left_out")} ({formatNumber(leftOut.length)})
            </button>
          )}
        </div>
        <Legend sums={sums} only={only} onChoose={(kind) => setOnly(kind === only ? undefined : kind)} />
        {(prompt.edited ?? []).map((file) => <p key={file} className="hint">{t("prompt.edited", { file })}</p>)}
        {run && <CacheLine prompt={prompt} />}
        {prompt.cache && (
          <div className="actions">
            <button aria-pressed={view === "changes"} onClick={() => setView(view === "changes" ? "sources" : "changes")}>{t("prompt.changes")}</button>
          </div>
        )}
      </div>
      {view === "changes" && prompt.cache && run
        ? <Changes run={run} step={step} prompt={prompt} before={before} />
        : <Messages prompt={prompt} messages={messages} only={only} active={active} onActive={setActive} onOpen={openPlace} />}
      <div className="explorer-side">
        <LeftOut entries={leftOut} box={side} />
        {view === "sources" && <Way piece={active} onOpen={openPlace} />}
      </div>
      {open && run && <FileViewer run={run} place={open} onClose={() => setOpen(undefined)} />}
    </>
  );
}

/** The kinds of sources with their signs and tokens; choosing one dims the others. */
function Legend({ sums, only, onChoose }: { sums: { kind: Kind; tokens: number }[]; only?: Kind; onChoose(kind: Kind): void }) {
  const t = useText();
  return (
    <>
      <Bar sums={sums} />
      <ul className="legend" aria-label={t("prompt.legend")}>
        {kinds.filter((kind) => sums.some((s) => s.kind === kind)).map((kind) => (
          <li key={kind}>
            <button aria-pressed={only === kind} onClick={() => onChoose(kind)}>
              <span className={`swatch piece-${kind}`} aria-hidden="true" /> {t(`prompt.kind_${kind}` as Key)}{" "}
              <span className="hint">{formatNumber(sums.find((s) => s.kind === kind)!.tokens)}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

/** A bar of tokens by kind of source. */
function Bar({ sums }: { sums: { kind: Kind; tokens: number }[] }) {
  const t = useText();
  const all = sums.reduce((n, s) => n + s.tokens, 0) || 1;
  const told = sums.map((s) => `${t(`prompt.kind_${s.kind}` as Key)} ${s.tokens}`).join(", ");
  return (
    <div className="bar-of-tokens" role="img" aria-label={told} title={told}>
      {sums.map((s) => <span key={s.kind} className={`piece-${s.kind}`} style={{ width: `${(100 * s.tokens) / all}%` }} />)}
    </div>
  );
}

/** How much of the prompt a provider can have in its cache, and what broke it. */
function CacheLine({ prompt }: { prompt: Explanation }) {
  const t = useText();
  const cache = prompt.cache;
  if (!cache) return <p className="hint">{t("prompt.cache_first")}</p>;
  const share = prompt.tokens ? cache.tokens / prompt.tokens : 0;
  return (
    <div className="cache">
      <div className="cache-bar" role="img" aria-label={t("prompt.cache_share", { percent: Math.round(share * 100) })}><span style={{ width: `${100 * share}%` }} /></div>
      <p>
        {t("prompt.cache", { tokens: cache.tokens, messages: cache.messages })}{" "}
        <span className="hint">
          {cache.run ? t("prompt.cache_run", { step: cache.step, run: cache.run.slice(-8) }) : t("prompt.cache_step", { step: cache.step })}
        </span>
      </p>
      {cache.broken && (
        <p className="hint">{t("prompt.cache_broken", { message: cache.broken.message, tokens: cache.broken.tokens, source: nameOf(cache.broken.piece, t) })}</p>
      )}
    </div>
  );
}

function Messages({ prompt, messages, only, active, onActive, onOpen }: {
  prompt: Explanation;
  messages: Message[];
  only?: Kind;
  active?: Piece;
  onActive(piece: Piece): void;
  onOpen?(place: Place): void;
}) {
  const t = useText();
  const shared = prompt.shared ?? 0;
  const [all, setAll] = useState(false);
  const hidden = all ? 0 : shared;
  return (
    <ol className="messages" data-only={only}>
      {hidden > 0 && <li className="shared"><button className="link" onClick={() => setAll(true)}>{t("prompt.shared", { n: hidden })}</button></li>}
      {messages.map((m, i) => i >= hidden && (
        <MessageBox key={i} index={i} message={m} only={only} active={active} onActive={onActive} onOpen={onOpen} broken={prompt.cache?.broken?.message === i ? prompt.cache.broken.piece : undefined} />
      ))}
    </ol>
  );
}

/** One message: its pieces are one stop of the Tab key, the arrow keys go from piece to piece. */
function MessageBox({ index, message, only, active, onActive, onOpen, broken }: {
  index: number;
  message: Message;
  only?: Kind;
  active?: Piece;
  onActive(piece: Piece): void;
  onOpen?(place: Place): void;
  broken?: Piece;
}) {
  const t = useText();
  const box = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState(0);
  const pieces = message.pieces ?? [];
  const sums = useMemo(() => tokensByKind(message.pieces ?? []), [message]);
  const brokenAt = broken ? pieces.findIndex((p) => p.text === broken.text) : -1;
  const move = (e: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    const to = e.key === "Home" ? 0 : e.key === "End" ? pieces.length - 1 : step && current + step;
    if (e.key === "Enter" || e.key === " ") {
      e.preventDefault();
      const place = placeOf(pieces[current]!);
      if (place) onOpen?.(place);
    }
    if (to === undefined || to < 0 || to >= pieces.length) return;
    e.preventDefault();
    setCurrent(to);
    box.current!.querySelectorAll<HTMLElement>("[data-piece]")[to]!.focus();
  };
  return (
    <li className="message">
      <div className="message-head">
        <span className="message-index">[{index}]</span> <strong>{message.role}</strong>
        <Bar sums={sums} />
        <span className="hint">{t("prompt.message_tokens", { n: message.tokens })}</span>
      </div>
      <div className="message-text" ref={box} onKeyDown={move} role="group" aria-label={t(onOpen ? "prompt.pieces_open" : "prompt.pieces", { i: index, role: message.role })}>
        {pieces.map((p, i) => {
          const kind = kindOf(p);
          return (
            <span key={i}>
              {i === brokenAt && <span className="cache-end">{t("prompt.cache_end")}</span>}
              <span
                data-piece={i} role="button" tabIndex={i === Math.min(current, pieces.length - 1) ? 0 : -1}
                className={`piece piece-${kind}`} data-active={p === active || undefined} data-dim={(only && only !== kind) || undefined} data-unknown={isPlaceholder(p.text) || undefined}
                aria-label={`${p.text.trim() || t("prompt.space")} — ${t(`prompt.kind_${kind}` as Key)}: ${nameOf(p, t)}`} title={nameOf(p, t)}
                onFocus={() => (setCurrent(i), onActive(p))} onMouseEnter={() => onActive(p)}
                onClick={() => {
                  const place = placeOf(p);
                  if (place) onOpen?.(place);
                }}
              >
                {p.text}
              </span>
            </span>
          );
        })}
      </div>
    </li>
  );
}

/** Reports whether a text stands for a value that a preview does not know: ‹recall.text›. */
const isPlaceholder = (text: string) => /^‹[^‹›]+›$/.test(text.trim());

/** The way of the piece that has the focus, or is pointed at: its origin first. */
function Way({ piece, onOpen }: { piece?: Piece; onOpen?(place: Place): void }) {
  const t = useText();
  return (
    <div className="way" role="region" aria-label={t("prompt.way")}>
      {piece ? (
        <>
          <div className="way-head">
            <span className={`swatch piece-${kindOf(piece)}`} aria-hidden="true" /> <strong>{nameOf(piece, t)}</strong>
            <span className="hint">{t(`prompt.kind_${kindOf(piece)}` as Key)} · {t("prompt.message_tokens", { n: piece.tokens })}</span>
          </div>
          <ol>
            {(piece.sources ?? []).map((s, i) => (
              <li key={i}>
                {sourceText(s, t)}{" "}
                {placesOf(s, piece).map((place, j) => (
                  <Fragment key={j}>
                    {j > 0 && " · "}
                    {onOpen
                      ? <button className="link mono" title={place.path} onClick={() => onOpen(place)}>{placeText(place)}</button>
                      : <code title={place.path}>{placeText(place)}</code>}
                  </Fragment>
                ))}
              </li>
            ))}
          </ol>
        </>
      ) : <p className="hint">{t("prompt.way_hint")} {onOpen && t("prompt.way_open")}</p>}
    </div>
  );
}

/** What steps had for the prompt and did not put in, and why. */
function LeftOut({ entries, box }: { entries: Schemas["LeftOut"][]; box: RefObject<HTMLElement | null> }) {
  const t = useText();
  return (
    <section className="left-out" ref={box} aria-label={t("prompt.left_out")}>
      <h3>{t("prompt.left_out")} ({formatNumber(entries.length)})</h3>
      {entries.length === 0 && <p className="hint">{t("prompt.left_out_none")}</p>}
      <ul>
        {entries.map((one, i) => (
          <li key={i}>
            <details>
              <summary><span className="badge">{one.kind}</span> <strong>{one.name}</strong> <span className="hint">{one.tokens ? t("prompt.message_tokens", { n: one.tokens }) : ""}</span> <span className="left-out-why">{one.reason}</span></summary>
              {one.detail && <pre>{one.detail}</pre>}
              <p className="hint">{t("prompt.left_out_by", { step: one.step })}</p>
            </details>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What changed since the prompt that the step sent before. */
function Changes({ run, step, prompt, before }: { run: string; step: string; prompt: Explanation; before?: Explanation }) {
  const cache = prompt.cache!;
  const isBefore = !cache.run && before?.step === cache.step;
  const other = useLoad(async (signal) => {
    if (isBefore) return before;
    const all = await api.get("/api/v1/runs/{id}/prompts", { path: { id: cache.run || run }, query: { step: cache.run ? step : cache.step }, signal });
    return (all.prompts ?? []).find((p) => p.step === cache.step) ?? all.prompts?.[0];
  }, [cache.run, cache.step, isBefore]);
  if (other.error) return <ErrorBox error={other.error} retry={other.reload} />;
  if (!other.data) return <Loading />;
  const [old, now] = [other.data.messages ?? [], prompt.messages ?? []];
  return (
    <ol className="messages">
      {Array.from({ length: Math.max(old.length, now.length) }, (_, i) => <ChangedMessage key={i} index={i} before={old[i]} after={now[i]} />)}
    </ol>
  );
}

const textOf = (m?: Message) => (m?.pieces ?? []).map((p) => p.text).join("");

function ChangedMessage({ index, before, after }: { index: number; before?: Message; after?: Message }) {
  const t = useText();
  const changes = useMemo(() => diffWords(textOf(before), textOf(after)), [before, after]);
  const isSame = before?.role === after?.role && changes.every((c) => c.kind === "same");
  const sign = isSame ? "prompt.same" : !before ? "prompt.added" : !after ? "prompt.removed" : "prompt.changed";
  return (
    <li className="message">
      <div className="message-head"><span className="message-index">[{index}]</span> <strong>{after?.role ?? before?.role}</strong> <span className="hint">{t(sign)}</span></div>
      {isSame ? null : (
        <div className="message-text">
          {changes.map((c, i) => (c.kind === "added" ? <ins key={i}>{c.text}</ins> : c.kind === "removed" ? <del key={i}>{c.text}</del> : <span key={i}>{shortenSame(c.text)}</span>))}
        </div>
      )}
    </li>
  );
}

/** Long stretches without a change show their ends. */
const shortenSame = (text: string) => (text.length > 400 ? `${text.slice(0, 150)}\n…\n${text.slice(-150)}` : text);
