import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { ApiError, type Schemas } from "../api/client.ts";
import { formatAgo, formatTime } from "../format.ts";
import { useText, type Key } from "../i18n.ts";

/** Sets the title of the browser's tab. */
export function useTitle(title: string) {
  useEffect(() => {
    document.title = title ? `${title} · scheduler` : "scheduler";
  }, [title]);
}

/** The head of a screen: its title, which the tab has too, and what can be done. */
export function ScreenHead({ title, children }: { title: string; children?: ReactNode }) {
  useTitle(title);
  return (
    <div className="screen-head">
      <h1>{title}</h1>
      {children}
    </div>
  );
}

export function Loading() {
  const t = useText();
  return <p className="loading" role="status">{t("common.loading")}</p>;
}

/** Empty tells that a list has nothing, and what would fill it. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** ErrorBox shows an error: of a problem all that the server says of it, places among it. */
export function ErrorBox({ error, retry }: { error: Error; retry?: () => void }) {
  const t = useText();
  const problem = error instanceof ApiError ? error.problem : undefined;
  return (
    <div className="error-box" role="alert">
      <p className="error-title" tabIndex={0}>{problem?.detail ?? problem?.title ?? (error.message || t("common.offline"))}</p>
      {problem?.hint && <p>{problem.hint}</p>}
      {!!problem?.errors?.length && (
        <ul>{problem.errors.map((fault, i) => <li key={i}><Fault fault={fault} /></li>)}</ul>
      )}
      {problem?.instance && <p className="hint">{t("common.request")} <code>{problem.instance.replace("/requests/", "")}</code></p>}
      {retry && <button onClick={retry}>{t("common.retry")}</button>}
    </div>
  );
}

/** RunError shows the error of a run or a step: what, where, and what to do. */
export function RunError({ error }: { error: Schemas["ErrorInfo"] }) {
  return (
    <div className="error-box">
      <p className="error-title" tabIndex={0}>{error.message}</p>
      {error.hint && <p>{error.hint}</p>}
      {error.position && <p><code>{error.position}</code></p>}
    </div>
  );
}

function Fault({ fault }: { fault: Schemas["Fault"] }) {
  const place = fault.file ? [fault.file, fault.line, fault.col].filter(Boolean).join(":") : fault.pointer;
  return (
    <>
      {place && <code>{place}</code>} {fault.message}
      {fault.hint && <span className="hint"> {fault.hint}</span>}
    </>
  );
}

/** A step that failed, or an item of which did, is "survived" where the run went on after it. */
export type State = "survived" | "pending" | "queued" | "running" | "waiting" | "skipped" | "failed" | "cancelled" | "finished";

/** The sign of each state, so that colour is never alone. */
export const stateSigns: Record<State, string> = {
  pending: "○", queued: "◔", running: "●", waiting: "‖", skipped: "⤼", failed: "✗", cancelled: "⊘", finished: "✓", survived: "!",
};

export function StateBadge({ state }: { state: State }) {
  const t = useText();
  return (
    <span className={`badge state-${state}`}>
      <span aria-hidden="true">{stateSigns[state]}</span> {t(`state.${state}` as Key)}
    </span>
  );
}

/** Ago shows how long ago something was; its tip is the time. */
export function Ago({ time }: { time: string }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 15_000);
    return () => clearInterval(timer);
  }, []);
  return <time dateTime={time} title={formatTime(time)}>{formatAgo(time)}</time>;
}

/** Tabs is a list of tabs with the panel of the chosen one; the arrow keys move. */
export function Tabs<T extends string>({ tabs, value, onChange, label, children }: {
  tabs: { id: T; title: ReactNode }[];
  value: T;
  onChange(id: T): void;
  label: string;
  children: ReactNode;
}) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const move = (e: KeyboardEvent) => {
    const at = tabs.findIndex((one) => one.id === value);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    const to = e.key === "Home" ? 0 : e.key === "End" ? tabs.length - 1 : step && (at + step + tabs.length) % tabs.length;
    if (to === undefined) return;
    e.preventDefault();
    onChange(tabs[to]!.id);
    (list.current!.children[to] as HTMLElement).focus();
  };
  return (
    <div className="tabs">
      <div role="tablist" aria-label={label} ref={list} onKeyDown={move}>
        {tabs.map((one) => (
          <button
            key={one.id} role="tab" type="button" id={`${id}-${one.id}`} aria-selected={one.id === value} aria-controls={`${id}-panel`}
            tabIndex={one.id === value ? 0 : -1} onClick={() => onChange(one.id)}
          >
            {one.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${value}`} tabIndex={0}>{children}</div>
    </div>
  );
}

/** Dialog is open while it is mounted; Escape closes it, and the focus goes back to the element that had it. */
export function Dialog({ title, onClose, children, wide }: { title: string; onClose(): void; children: ReactNode; wide?: boolean }) {
  const t = useText();
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current!;
    const before = document.activeElement;
    dialog.showModal();
    dialog.querySelector<HTMLElement>("input, select, textarea")?.focus(); // else the browser takes the button that closes it
    return () => {
      dialog.close();
      if (before instanceof HTMLElement) before.focus(); // the dialog is gone by now: the browser does not give the focus back
    };
  }, []);
  return (
    <dialog ref={ref} aria-labelledby={id} data-wide={wide || undefined} onCancel={(e) => (e.preventDefault(), onClose())}>
      <div className="dialog-head">
        <h2 id={id}>{title}</h2>
        <button className="quiet" onClick={onClose} aria-label={t("common.close")}>✕</button>
      </div>
      {children}
    </dialog>
  );
}
