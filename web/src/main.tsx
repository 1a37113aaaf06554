// The page: a bar with its places, and the place that the address names.

import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Refusal, status } from "./api";
import { database, enter, here, leavesOpen } from "./database";
import { type Theme, useAsked, useInSight, useTheme } from "./hooks";
import { isTyped, useKeys } from "./keys";
import { nearest } from "./nearest";
import { Explore } from "./pages/explore";
import { Home } from "./pages/home";
import { Operations } from "./pages/operations";
import { DatabaseChoice } from "./parts/database";
import { KeyHelp } from "./parts/keyhelp";
import { Later } from "./parts/later";
import { OpeningCard } from "./parts/opening";
import { Empty } from "./parts/small";
import { pause } from "./slices";
import { type PageName, type Place, PAGES as NAMES, place } from "./state";
import { spanText, timeText } from "./time";
import "uplot/dist/uPlot.min.css";
import "./style.css";

const PAGES: [PageName, string][] = [
  ["home", "Home"], ["explore", "Explore"], ["metrics", "Metrics"], ["dashboards", "Dashboards"], ["monitoring", "Monitoring"], ["import", "Import"], ["operations", "Operations"], ["reports", "Benchmarks"],
];

/** How often it is looked whether the server is there, and how often while its store is being opened. */
const EVERY_MS = 10_000;
const OPENING_EVERY_MS = 500;

const NEXT: Record<Theme, Theme> = { auto: "dark", dark: "light", light: "auto" };

/** The page that the address leads to, in its database, which the address names from now on. */
function arrive(): Place {
  const { params } = place(location.hash);
  enter(params);
  if (database() && leavesOpen(params)) history.replaceState(null, "", here(location.hash || "#/home"));
  return place(location.hash);
}

function Page() {
  const [at, setAt] = useState<Place>(arrive);
  const arrivedAt = useRef(location.hash);
  const [theme, setTheme] = useTheme();
  const [showsKeys, setShowsKeys] = useState(false);
  const [isOpening, setIsOpening] = useState(false);
  const asked = useAsked("host", () => status(), isOpening ? OPENING_EVERY_MS : EVERY_MS);
  // Where somebody must log in, nobody knows them before the store is there.
  const refused = asked.error instanceof Refusal ? asked.error.opening : null;
  const opening = refused ?? (asked.error ? null : asked.answer?.opening ?? null);
  useEffect(() => setIsOpening(opening !== null), [opening !== null]);
  useEffect(() => {
    const move = () => setAt(arrive());
    window.addEventListener("hashchange", move);
    // The address may have changed while the page was drawn for the first time.
    if (location.hash !== arrivedAt.current) move();
    return () => window.removeEventListener("hashchange", move);
  }, []);
  useKeys((event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyped(event)) return;
    const page = PAGES[Number(event.key) - 1];
    if (page) {
      location.hash = `#/${page[0]}`;
      setShowsKeys(false);
    }
    if (event.key === "?") setShowsKeys(!showsKeys);
    if (event.key === "/") {
      event.preventDefault();
      // What is asked, where something is; else the first field.
      const field = document.querySelector<HTMLElement>("main .row .metric input, main .row .cm-content, main .row textarea");
      (field ?? document.querySelector<HTMLElement>("main input, main textarea"))?.focus();
    }
  });
  const name = PAGES.find(([page]) => page === at.page)?.[1] ?? "";
  const host = asked.answer?.host;
  useInSight("header nav a[aria-current]", at.page);
  useEffect(() => {
    document.title = host ? `${name} · Foliot on ${host}` : `${name} · Foliot`;
  }, [name, host]);
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); document.getElementById("content")?.focus(); }}>To the content</a>
      <header>
        <a class="brand" href="#/home" aria-label="Foliot">
          <svg class="mark" viewBox="0 0 16 16" aria-hidden="true"><path d="M2 3h12M8 3v10M4 3v4M12 3v7" /></svg>
          <span>Foliot</span>
        </a>
        <nav aria-label="Pages">
          {PAGES.map(([page, title]) => (
            <a key={page} href={`#/${page}`} aria-current={page === at.page ? "page" : undefined}>{title}</a>
          ))}
          <a href="docs">Documents</a>
        </nav>
        <p class="about" title={asked.answer ? `${asked.answer.version} on ${asked.answer.host}` : ""}>
          {asked.answer && <><span>{asked.answer.version}</span> <span>on {asked.answer.host}</span></>}
        </p>
        {!opening && <DatabaseChoice at={at} />}
        <button type="button" class="plain theme" onClick={() => setTheme(NEXT[theme])} aria-label={`Colours: ${theme}`} title={`Colours: ${theme}`}>
          <svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="6" /><path class={theme} d="M8 2a6 6 0 0 1 0 12z" /></svg>
        </button>
      </header>
      {showsKeys && <KeyHelp pages={PAGES.map(([, title]) => title)} onClose={() => setShowsKeys(false)} />}
      <main id="content" tabIndex={-1}>
        {asked.answer && <Clocks serverMs={asked.answer.now_ms} />}
        {asked.answer && asked.error instanceof Refusal && asked.error.isSilence && (
          <p class="caution" role="status">Nothing comes from the server. What stands here is of {timeText(asked.answer.now_ms, "local").slice(11, 19)}, or older.</p>
        )}
        {opening ? <OpeningCard opening={opening} /> : <Named key={database()} at={at} />}
      </main>
    </>
  );
}

/** Clocks that differ by more are spoken of: what is asked until now would end elsewhere. */
const CLOCKS_DIFFER_MS = 30_000;

/** Says where the browser's clock and the server's differ, since "now" is the browser's. */
function Clocks({ serverMs }: { serverMs: number }) {
  const ahead = useMemo(() => Date.now() - serverMs, [serverMs]);
  if (Math.abs(ahead) < CLOCKS_DIFFER_MS) return null;
  return <p class="caution" role="status">This browser's clock is {spanText(Math.abs(ahead))} {ahead > 0 ? "ahead of" : "behind"} the server's. Ranges that end now, and ages, are by the browser's: set one of them right.</p>;
}

/** Where no page is, and which one may have been meant. */
function Nowhere() {
  const name = /^#\/?([^?]*)/.exec(location.hash)?.[1] ?? "";
  const called = PAGES.find(([, title]) => title.toLowerCase() === name.toLowerCase())?.[0];
  const near = called ?? nearest(name, NAMES, 1)[0] ?? "home";
  const title = PAGES.find(([page]) => page === near)?.[1];
  return <Empty title={`There is no page “${name}”`}><p>Did you mean <a href={`#/${near}`}>{title}</a>?</p></Empty>;
}

/** The page that the address names. */
function Named({ at }: { at: Place }) {
  return (
    <>
      {!(at.page === "dashboards" && at.params.has("name")) && <h1 class="unseen">{PAGES.find(([page]) => page === at.page)?.[1] ?? "Nowhere"}</h1>}
      {at.page === "unknown" && <Nowhere />}
      {at.page === "home" && <Home />}
      {at.page === "explore" && <Explore params={at.params} />}
      {at.page === "metrics" && <Later which="Metrics" params={at.params} />}
      {at.page === "dashboards" && <Later which="Dashboards" params={at.params} />}
      {at.page === "monitoring" && <Later which="Monitoring" params={at.params} />}
      {at.page === "import" && <Later which="Import" />}
      {at.page === "operations" && <Operations params={at.params} />}
      {at.page === "reports" && <Later which="Reports" />}
    </>
  );
}

// What is read first and what is drawn first are tasks of their own.
pause().then(() => render(<Page />, document.getElementById("page")!));
