import { msOf, type WireTime } from '../model/ms-of.js';
import { serviceNow } from '../service/clock.js';
import { absoluteText, durationText, relativeText } from '../text/times.js';

/** A time relative to now, which moves on by itself; its title is the exact one. */
export function Time({ at }: { readonly at: WireTime | undefined }) {
  if (at === undefined) return <span class="quiet">–</span>;
  const ms = msOf(at);
  return (
    <time dateTime={new Date(ms).toISOString()} title={absoluteText(ms)}>
      {relativeText(ms, serviceNow.value)}
    </time>
  );
}

/** How long ago a time was, such as `2 h 10 min`; its title is the time. */
export function Age({ at }: { readonly at: WireTime }) {
  const ms = msOf(at);
  return (
    <time dateTime={new Date(ms).toISOString()} title={absoluteText(ms)}>
      {durationText(Math.max(0, serviceNow.value - ms))}
    </time>
  );
}
