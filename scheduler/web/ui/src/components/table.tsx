import { useEffect, useRef, type ReactNode } from "react";
import { WindowVirtualizer } from "virtua";
import { useText } from "../i18n.ts";

/** Column is a column of a table: its title, its share of the width, and its cells. */
export interface Column<T> {
  id: string;
  title: string;
  /** A track of CSS grid: "8rem", "2fr", "minmax(6rem, 1fr)". */
  width: string;
  cell(row: T): ReactNode;
  align?: "end";
}

/**
 * Table shows rows of any number; only those in sight are in the document. onEnd is called
 * when the last ones come into sight.
 */
export function Table<T>({ label, columns, rows, keyOf, onEnd, hasMore, cards }: {
  label: string;
  columns: Column<T>[];
  rows: T[];
  keyOf(row: T): string;
  onEnd?(): void;
  hasMore?: boolean;
  /** Rows are cards on a narrow screen; else the table scrolls sideways. */
  cards?: boolean;
}) {
  const t = useText();
  const tracks = columns.map((c) => c.width).join(" ");
  const end = useRef<HTMLDivElement>(null);
  const newest = useRef(onEnd);
  newest.current = onEnd;
  useEffect(() => {
    const watch = new IntersectionObserver((entries) => entries.some((e) => e.isIntersecting) && newest.current?.(), { rootMargin: "600px" });
    if (end.current) watch.observe(end.current);
    return () => watch.disconnect();
  }, [rows.length, hasMore]);
  return (
    <>
      <div role="table" aria-label={label} aria-rowcount={hasMore ? -1 : rows.length + 1} className="table" data-cards={cards || undefined}>
        <div role="rowgroup" className="table-head">
          <div role="row" className="table-row" style={{ gridTemplateColumns: tracks }}>
            {columns.map((c) => <div key={c.id} role="columnheader" data-align={c.align}>{c.title}</div>)}
          </div>
        </div>
        <div role="rowgroup">
          <WindowVirtualizer data={rows}>
            {(row, i) => (
              <div key={keyOf(row)} role="row" aria-rowindex={i + 2} className="table-row" style={{ gridTemplateColumns: tracks }}>
                {columns.map((c) => <div key={c.id} role="cell" data-column={c.id} data-align={c.align}>{c.cell(row)}</div>)}
              </div>
            )}
          </WindowVirtualizer>
        </div>
      </div>
      {hasMore && <div ref={end} className="loading" role="status">{t("common.loading")}</div>}
    </>
  );
}
