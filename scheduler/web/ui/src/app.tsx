import { Component, Suspense, lazy, useEffect, useRef, useState, type ComponentType, type ReactNode } from "react";
import { Link, Redirect, Route, Switch, useLocation } from "wouter";
import { api, unauthorized, type Schemas } from "./api/client.ts";
import { useLoad } from "./api/load.ts";
import { useFeedSource, useFreshList, type StreamState } from "./api/stream.ts";
import { ErrorBox, Loading } from "./components/common.tsx";
import { languages, setLanguage, useLanguage, useText, type Key, type Language } from "./i18n.ts";
import { Login } from "./login.tsx";
import { MeContext } from "./me.ts";
import { ThemeMenu } from "./theme-menu.tsx";

// Each screen is a chunk of its own, loaded when it is first shown.
const screens: [path: string, screen: ComponentType][] = [
  ["/", lazy(() => import("./screens/home.tsx"))],
  ["/runs", lazy(() => import("./screens/runs.tsx"))],
  ["/runs/:run", lazy(() => import("./screens/run.tsx"))],
  ["/inbox/:run?", lazy(() => import("./screens/inbox.tsx"))],
  ["/flows", lazy(() => import("./screens/flows.tsx"))],
  ["/flows/:flow", lazy(() => import("./screens/flow.tsx"))],
  ["/tests", lazy(() => import("./screens/tests.tsx"))],
  ["/chat/:flow?", lazy(() => import("./screens/chat.tsx"))],
  ["/calls/:name?", lazy(() => import("./screens/calls.tsx"))],
  ["/plugins", lazy(() => import("./screens/plugins.tsx"))],
  ["/memory", lazy(() => import("./screens/memory.tsx"))],
  ["/schedules", lazy(() => import("./screens/schedules.tsx"))],
  ["/help/:topic?", lazy(() => import("./screens/help.tsx"))],
];

const links: [path: string, text: Key][] = [
  ["/flows", "nav.flows"], ["/runs", "nav.runs"], ["/inbox", "nav.inbox"], ["/tests", "nav.tests"],
  ["/chat", "nav.chat"], ["/memory", "nav.memory"], ["/schedules", "nav.schedules"], ["/calls", "nav.calls"], ["/plugins", "nav.plugins"], ["/help", "nav.help"],
];

export function App() {
  const me = useLoad((signal) => api.get("/api/v1/me", { signal }), []);
  const [loggedOut, setLoggedOut] = useState(false);
  useEffect(() => {
    const leave = () => setLoggedOut(true);
    unauthorized.addEventListener("unauthorized", leave);
    return () => unauthorized.removeEventListener("unauthorized", leave);
  }, []);
  if (loggedOut) {
    return <Login onDone={() => (setLoggedOut(false), me.reload())} />;
  }
  if (me.error && !me.data) return <main><ErrorBox error={me.error} retry={me.reload} /></main>;
  if (!me.data) return <Loading />;
  return (
    <MeContext value={me.data}>
      <Frame me={me.data} />
    </MeContext>
  );
}

/** Frame is what stands around every screen. */
function Frame({ me }: { me: Schemas["MeBody"] }) {
  const t = useText();
  const live = useFeedSource();
  const [location] = useLocation();
  const nav = useRef<HTMLElement>(null);
  useEffect(() => keepCurrentInSight(nav.current), [location]);
  return (
    <>
      <a className="skip" href="#main">{t("nav.skip")}</a>
      <header className="bar">
        <Link href="/flows" className="brand"><img src="/icon.svg" alt="" width="20" height="20" />scheduler</Link>
        <nav aria-label={t("nav.label")} ref={nav}>
          {links.map(([path, text]) => (
            <Link key={path} href={path} aria-current={location.startsWith(path) ? "page" : undefined}>
              {t(text)}
              {path === "/inbox" && <WaitingCount />}
            </Link>
          ))}
        </nav>
        <LiveMark state={live} />
        <LanguageChoice />
        <ThemeMenu />
        {me.session && <LogOut />}
      </header>
      <main id="main" tabIndex={-1}>
        <Guard key={location}>
          <Suspense fallback={<Loading />}>
            <Switch>
              <Route path="/login"><Redirect to="/" replace /></Route>
              {screens.map(([path, Screen]) => <Route key={path} path={path} component={Screen} />)}
              <Route><NotFound /></Route>
            </Switch>
          </Suspense>
        </Guard>
      </main>
    </>
  );
}

/**
 * Scrolls the link of the screen into sight where the links are a row that scrolls, also when a
 * link becomes wider, as that of the inbox does, unless the reader has scrolled since. The page
 * itself stays.
 */
function keepCurrentInSight(nav: HTMLElement | null) {
  if (!nav) return;
  let shown = showCurrent(nav);
  const widths = new ResizeObserver(() => {
    if (nav.scrollLeft === shown) shown = showCurrent(nav);
  });
  for (const link of nav.children) widths.observe(link);
  return () => widths.disconnect();
}

/** Scrolls the link of the screen to the middle of the row, and returns how far that was. */
function showCurrent(nav: HTMLElement): number {
  const link = nav.querySelector<HTMLElement>("[aria-current]");
  if (link) nav.scrollLeft = link.offsetLeft - nav.offsetLeft - (nav.clientWidth - link.offsetWidth) / 2;
  return nav.scrollLeft;
}

function NotFound() {
  const t = useText();
  return (
    <section className="screen">
      <h1>{t("nav.notFound")}</h1>
      <p><Link href="/runs">{t("nav.toRuns")}</Link></p>
    </section>
  );
}

/** WaitingCount is how many steps wait for values. */
function WaitingCount() {
  const t = useText();
  const waiting = useLoad((signal) => api.get("/api/v1/waiting", { query: { limit: 100 }, signal }), []);
  useFreshList(waiting.reload);
  const n = waiting.data?.items.length ?? 0;
  if (n === 0) return null;
  return <span className="count" aria-label={t("nav.waiting", { n })}>{waiting.data?.next ? `${n}+` : n}</span>;
}

function LiveMark({ state }: { state: StreamState }) {
  const t = useText();
  const isLive = state === "open" || state === "paused";
  return <span className="live" data-live={isLive || undefined} role="status">{isLive ? t("nav.live") : t("nav.connecting")}</span>;
}

function LanguageChoice() {
  const t = useText();
  return (
    <select className="quiet" aria-label={t("nav.language")} value={useLanguage()} onChange={(e) => void setLanguage(e.target.value as Language, true)}>
      {Object.entries(languages).map(([id, name]) => <option key={id} value={id} lang={id}>{name}</option>)}
    </select>
  );
}

function LogOut() {
  const t = useText();
  const leave = async () => {
    await api.delete("/api/v1/session");
    unauthorized.dispatchEvent(new Event("unauthorized"));
  };
  return <button className="quiet" onClick={() => void leave()}>{t("nav.logOut")}</button>;
}

/** Guard shows the error of a screen that broke, in its place. */
class Guard extends Component<{ children: ReactNode }, { error?: Error }> {
  override state: { error?: Error } = {};
  static getDerivedStateFromError(error: Error) {
    return { error };
  }
  override render() {
    return this.state.error ? <ErrorBox error={this.state.error} retry={() => window.location.reload()} /> : this.props.children;
  }
}
