import { useState } from 'preact/hooks';
import { condensed, nearestIndex, type Point, roundTop } from '../model/series.js';
import { clockText } from '../text/times.js';

const width = 320;
const height = 72;

/** A small chart of a figure over time. Its name and its newest value stand above it as text; pointing at it shows the others. */
export function Chart({
  title,
  points: all,
  kind,
  tone = 'accent',
  note,
}: {
  readonly title: string;
  readonly points: readonly Point[];
  /** A level has a value at each time; a count has one for each interval. */
  readonly kind: 'level' | 'count';
  readonly tone?: 'accent' | 'good' | 'bad' | 'warn';
  /** A second figure beside the value. */
  readonly note?: string;
}) {
  const [pointed, setPointed] = useState<number | null>(null);
  const points = condensed(all, kind === 'count' ? 'sum' : 'highest');
  const start = points[0]?.atMs ?? 0;
  const end = points.at(-1)?.atMs ?? 0;
  const highest = points.reduce((a, { value }) => Math.max(a, value), 0);
  const top = roundTop(highest);
  const x = (atMs: number) => (end === start ? width : ((atMs - start) / (end - start)) * width);
  const y = (value: number) => height - (value / top) * (height - 4) - 1;
  const line = points.map(({ atMs, value }, index) => `${index === 0 ? 'M' : 'L'}${x(atMs).toFixed(1)} ${y(value).toFixed(1)}`).join('');
  const total = all.reduce((sum, { value }) => sum + value, 0);
  const figure = kind === 'count' ? total : (all.at(-1)?.value ?? 0);
  const chosen = pointed === null ? undefined : points[pointed];
  return (
    <figure class={`chart ${tone}`}>
      <figcaption>
        <span class="quiet">{title}</span>
        <span>
          <span class="figure">{figure.toLocaleString('en')}</span>
          {note !== undefined && <span class="quiet small"> {note}</span>}
        </span>
      </figcaption>
      {points.length < 2 ? (
        <p class="quiet small">Not enough samples yet.</p>
      ) : (
        <>
          <svg
            viewBox={`0 0 ${width} ${height}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={`${title} from ${clockText(start)} to ${clockText(end)} UTC: ${kind === 'count' ? `${total} in all` : `${figure} now`}, highest ${highest}`}
            onPointerMove={(event) => {
              const { left, width: shown } = event.currentTarget.getBoundingClientRect();
              setPointed(nearestIndex(points, start + ((event.clientX - left) / shown) * (end - start)));
            }}
            onPointerLeave={() => setPointed(null)}
          >
            <path class="chart-area" d={`${line}L${width} ${height}L0 ${height}Z`} />
            <path class="chart-line" d={line} vector-effect="non-scaling-stroke" />
            {chosen !== undefined && <path class="chart-cursor" d={`M${x(chosen.atMs)} 0V${height}`} vector-effect="non-scaling-stroke" />}
          </svg>
          <p class="chart-foot quiet">
            {chosen === undefined ? (
              <>
                <span>{clockText(start).slice(0, 5)}</span>
                <span>highest {highest.toLocaleString('en')}</span>
                <span>{clockText(end).slice(0, 5)} UTC</span>
              </>
            ) : (
              <span>
                {clockText(chosen.atMs).slice(0, 5)} UTC: {chosen.value.toLocaleString('en')}
              </span>
            )}
          </p>
        </>
      )}
    </figure>
  );
}
