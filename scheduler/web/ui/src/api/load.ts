import { useCallback, useEffect, useRef, useState } from "react";

/** Loaded is what came of a request so far; data stays while it is asked for again. */
export interface Loaded<T> {
  data?: T;
  error?: Error;
  loading: boolean;
  /** Loads it again: at once, or after what is being loaded, so that calls without end do not keep that from coming. */
  reload(): void;
  setData(change: (old: T | undefined) => T | undefined): void;
}

/** Loads data when the component is mounted, and again when a dependency changes. */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, deps: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<{ data?: T; error?: Error; loading: boolean }>({ loading: true });
  const [turn, setTurn] = useState(0);
  const newest = useRef(load);
  newest.current = load;
  const key = JSON.stringify(deps);
  const shown = useRef(key);
  const isBusy = useRef(false);
  const isStale = useRef(false);
  useEffect(() => {
    const abort = new AbortController();
    const isOther = shown.current !== key;
    shown.current = key;
    isBusy.current = true;
    isStale.current = false;
    setState((old) => (isOther ? { loading: true } : { ...old, loading: true }));
    const take = (change: (old: { data?: T }) => { data?: T; error?: Error }) => {
      if (abort.signal.aborted) return;
      isBusy.current = false;
      setState((old) => ({ ...change(old), loading: false }));
      if (isStale.current) setTurn((n) => n + 1);
    };
    newest.current(abort.signal).then((data) => take(() => ({ data })), (error: Error) => take((old) => ({ ...old, error })));
    return () => abort.abort();
  }, [key, turn]);
  const reload = useCallback(() => {
    if (isBusy.current) isStale.current = true;
    else setTurn((n) => n + 1);
  }, []);
  const setData = useCallback((change: (old: T | undefined) => T | undefined) => setState((old) => ({ ...old, data: change(old.data) })), []);
  return { ...state, reload, setData };
}

export interface Page<T> {
  items: T[];
  next: string | null;
}

/** Pages is a list that is loaded part by part. */
export interface Pages<T> {
  items: T[];
  error?: Error;
  loading: boolean;
  hasMore: boolean;
  loadMore(): void;
  reload(): void;
  setItems(change: (old: T[]) => T[]): void;
}

/** Loads the first part of a list, and further ones when loadMore is called. */
export function usePages<T>(load: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<T>>, deps: readonly unknown[]): Pages<T> {
  const first = useLoad((signal) => load(undefined, signal), deps);
  const busy = useRef<AbortController | null>(null);
  const newest = useRef(load);
  newest.current = load;
  const key = JSON.stringify(deps);
  useEffect(() => () => busy.current?.abort(), [key]);
  const { data, setData } = first;
  const loadMore = useCallback(() => {
    if (!data?.next || (busy.current && !busy.current.signal.aborted)) return;
    const abort = new AbortController();
    busy.current = abort;
    newest.current(data.next, abort.signal).then(
      (page) => {
        if (!abort.signal.aborted) setData((old) => (old?.next === data.next ? { items: [...old.items, ...page.items], next: page.next } : old));
        busy.current = null;
      },
      () => (busy.current = null), // scrolling on asks again
    );
  }, [data?.next, setData]);
  const setItems = useCallback((change: (old: T[]) => T[]) => setData((old) => old && { ...old, items: change(old.items) }), [setData]);
  return { items: data?.items ?? [], error: first.error, loading: first.loading, hasMore: !!data?.next, loadMore, reload: first.reload, setItems };
}
