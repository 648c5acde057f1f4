import { useEffect, useRef, useState } from 'preact/hooks';
import { matchRoute, pathOf } from './model/route.js';
import { Button } from './parts/button.js';
import { Note } from './parts/failure-note.js';
import { Icon } from './parts/icon.js';
import { Toasts } from './parts/toast.js';
import { useVisibleCurrent } from './parts/use-visible-current.js';
import { currentLocation } from './service/location.js';
import { followOverview, overview } from './service/overview.js';
import { caller, may, scopes, signOut } from './service/session.js';
import { staleSinceMs, streamState } from './service/streams.js';
import { isDark, switchTheme } from './service/theme.js';
import { SignIn } from './sign-in.js';
import { absoluteText, clockText } from './text/times.js';
import { NotFound, type Route, routes } from './views/routes.js';

/** The whole page: the sign-in, or the views with their navigation. */
export function Shell() {
  return (
    <>
      {caller.value === null ? <SignIn /> : <SignedIn />}
      <Toasts />
    </>
  );
}

function SignedIn() {
  const mayRead = may(scopes.read);
  useEffect(() => (mayRead ? followOverview() : undefined), [mayRead]);
  const path = pathOf(currentLocation.value);
  const allowed = routes.filter(({ scope }) => scope === null || may(scope));
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  // After a change of the view, the keyboard and the screen reader continue in it.
  useEffect(() => {
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
    scrollTo(0, 0);
  }, [path]);
  return (
    <div class="shell">
      <Masthead onSkip={() => main.current?.focus()} />
      <Navigation allowed={allowed} path={path} />
      <main ref={main} class="view" tabIndex={-1}>
        <StaleNote />
        <CurrentView allowed={allowed} path={path} />
      </main>
    </div>
  );
}

/** How long the page may be without its streams before it says so in words: most interruptions are over sooner. */
const patienceMs = 3_000;

/** Says how old the view is, which a green sentence in it does not. */
function StaleNote() {
  const isAway = streamState.value === 'reconnecting';
  const [isStale, setStale] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setStale(isAway), isAway ? patienceMs : 0);
    return () => clearTimeout(timer);
  }, [isAway]);
  if (!isStale) return null;
  const since = staleSinceMs.value;
  if (since === null) return <Note tone="warn">Connection lost.</Note>;
  return (
    <Note tone="warn">
      Connection lost; the data below is from <time title={absoluteText(since)}>{clockText(since)}</time>.
    </Note>
  );
}

function CurrentView({ allowed, path }: { readonly allowed: readonly Route[]; readonly path: string }) {
  for (const route of allowed) {
    const values = matchRoute(route.pattern, path);
    // The key gives another relayer a new view, without the state of the one before.
    if (values !== null) return <route.view key={`${route.pattern} ${Object.values(values).join(' ')}`} {...values} />;
  }
  const isForbidden = routes.some(({ pattern }) => matchRoute(pattern, path) !== null);
  return <NotFound isForbidden={isForbidden} />;
}

function Masthead({ onSkip }: { /** Moves the focus to the view. */ readonly onSkip: () => void }) {
  const dark = isDark();
  return (
    <header class="masthead">
      <a
        class="skip"
        href={currentLocation.value || '#/'}
        onClick={(event) => {
          event.preventDefault();
          onSkip();
        }}
      >
        Skip to content
      </a>
      <a class="product" href="#/">
        <img src="/docs/icon.svg" alt="" width="24" height="24" />
        Relayer console
      </a>
      <StreamLight />
      <span class="grow" />
      <span class="who quiet" title={`Service ${caller.value?.serviceVersion}`}>
        {caller.value?.name ?? 'bootstrap key'}
      </span>
      <button
        type="button"
        class="icon-button"
        aria-label={dark ? 'Switch to light colours' : 'Switch to dark colours'}
        title={dark ? 'Light' : 'Dark'}
        onClick={switchTheme}
      >
        <Icon name={dark ? 'sun' : 'moon'} />
      </button>
      <Button class="plain" onClick={() => signOut()} text="Sign out" />
    </header>
  );
}

/** Says whether the page is up to date. */
function StreamLight() {
  const state = streamState.value;
  if (state === null) return null;
  return (
    <span class={`stream-light ${state}`} role="status">
      <span class="lamp" aria-hidden="true" />
      {state}
    </span>
  );
}

function Navigation({ allowed, path }: { readonly allowed: readonly Route[]; readonly path: string }) {
  const backlog = overview.value.webhookBacklog ?? 0;
  const row = useRef<HTMLElement>(null);
  useVisibleCurrent(row, path);
  return (
    <nav ref={row} class="navigation" aria-label="Console">
      <ul>
        {allowed.map(({ nav, pattern }) => {
          if (nav === undefined) return null;
          const isHere = path === pattern || (pattern !== '/' && path.startsWith(`${pattern}/`));
          return (
            <li key={pattern}>
              <a href={`#${pattern}`} aria-current={isHere ? 'page' : undefined}>
                {nav}
                {pattern === '/webhooks' && backlog > 0 && (
                  <span class="count" title={`${backlog} events wait for delivery`}>
                    {backlog >= 1_000 ? `${Math.floor(backlog / 1_000)}k` : backlog}
                    <span class="visually-hidden"> events wait for delivery</span>
                  </span>
                )}
              </a>
            </li>
          );
        })}
        <li class="apart">
          <a href="/docs" target="_blank" rel="noreferrer">
            API reference <Icon name="external" />
          </a>
        </li>
      </ul>
    </nav>
  );
}
