import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Lane, LaneSlot } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { type BidBar, barsOf, type ColumnKind, counted, kindOf, kindTexts } from '../model/lane.js';
import { type PriceScale, priceScale, spreadLabels } from '../model/price-scale.js';
import { locationTo } from '../model/route.js';
import { statusText } from '../parts/badge.js';
import { Button } from '../parts/button.js';
import { Icon, type IconName } from '../parts/icon.js';
import { memo } from '../parts/memo.js';
import type { FollowedLane } from '../service/lane.js';
import { goTo } from '../service/location.js';
import { bidText, roughBidText } from '../text/prices.js';
import { speedTexts } from './content.js';

/** The width of a column in pixels. */
const columnWidth = 46;
/** Columns that are drawn on both sides of those in view, so that scrolling finds them ready. */
const overscan = 8;
/** The columns that come and go together. */
const drawStep = 4;
/** The chain's pointer stands at this part of the width at first: a little of the past, and what comes. */
const pointerPlace = 0.28;

const icons: Readonly<Record<ColumnKind, IconName>> = {
  waiting: 'clock',
  open: 'send',
  mined: 'dot',
  confirmed: 'check',
  failed: 'cross',
  withdrawn: 'dash',
  gap: 'alert',
  other: 'external',
  unknown: 'dash',
};

/** How far each key moves the focus. */
const keySteps: ReadonlyMap<string, bigint> = new Map([
  ['ArrowLeft', -1n],
  ['ArrowRight', 1n],
  ['PageUp', -10n],
  ['PageDown', 10n],
]);

/** A price that all columns are compared with. */
interface PriceLine {
  readonly name: string;
  readonly kind: 'base' | 'market' | 'cap';
  readonly price: bigint;
}

/**
 * The lane as a picture: a column for each number, in it the attempts by what they bid, and across them the prices of the network. It draws
 * only the columns in view, so that a lane can have any number of them.
 */
export function LaneChart({
  relayerId,
  followed,
  lane,
  isEvm,
  numberWord,
}: {
  readonly relayerId: string;
  readonly followed: FollowedLane;
  readonly lane: Lane;
  readonly isEvm: boolean;
  readonly numberWord: string;
}) {
  const span = followed.span.value;
  const slots = followed.slots.value;
  const [pointed, setPointed] = useState<bigint | null>(null);
  const [focused, setFocused] = useState<bigint | null>(null);
  const from = span?.from ?? 0n;
  const length = span === null ? 0 : Number(span.to - span.from);
  const chain = lane.chainNumber === undefined ? null : BigInt(lane.chainNumber);
  const scroll = useLaneScroll(from, chain);
  const { view } = scroll;

  useEffect(() => {
    if (length > 0) followed.want(from + BigInt(view.first), Math.min(view.count, Math.max(1, length - view.first)));
  }, [followed, from, length, view]);

  const first = Math.min(view.first, Math.max(0, length - 1));
  const numbers = Array.from({ length: Math.max(0, Math.min(view.count, length - first)) }, (_, index) => from + BigInt(first + index));
  const lines = linesOf(lane);
  const bids = numbers.flatMap((number) => barsOf(slots.get(number)?.transaction).map(({ bid }) => bid));
  const scale = useSteadyScale([...bids, ...lines.map(({ price }) => price)]);
  const shown = pointed ?? focused ?? chain;
  const tabStop = focused ?? (chain !== null && chain < from + BigInt(length) ? chain : (numbers[0] ?? from));

  const moveFocus = (number: bigint) => {
    const target = number < from ? from : number >= from + BigInt(length) ? from + BigInt(length - 1) : number;
    if (length === 0) return;
    setFocused(target);
    scroll.focusOn(target);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = keySteps.get(event.key);
    const target =
      step !== undefined ? tabStop + step : event.key === 'Home' ? (chain ?? from) : event.key === 'End' ? from + BigInt(length - 1) : null;
    if (target === null) return;
    event.preventDefault();
    moveFocus(target);
  };

  return (
    <div class="lane-chart">
      <div class="lane-plot">
        <PriceAxis scale={scale} isEvm={isEvm} />
        <div ref={scroll.scroller} class="lane-scroll" onScroll={scroll.onScroll}>
          <ol
            class="lane-columns"
            style={{ width: `${(length + 1) * columnWidth}px` }}
            aria-label={`Slots by ${numberWord}. Arrow keys move between them; Enter opens the transaction.`}
            onKeyDown={onKeyDown}
            onMouseLeave={() => setPointed(null)}
          >
            {chain !== null && (
              <>
                <li class="lane-past" aria-hidden="true" style={{ width: `${Math.max(0, Number(chain - from)) * columnWidth}px` }} />
                <li class="lane-pointer" aria-hidden="true" style={{ left: `${Number(chain - from) * columnWidth}px` }}>
                  <span>chain {labelOf(chain)}</span>
                </li>
              </>
            )}
            {numbers.map((number) => (
              <SlotColumn
                key={number.toString()}
                relayerId={relayerId}
                number={number}
                slot={slots.get(number)}
                left={Number(number - from) * columnWidth}
                scale={scale}
                isEvm={isEvm}
                numberWord={numberWord}
                isHead={number === chain}
                isTabStop={number === tabStop}
                onPoint={setPointed}
                onFocus={setFocused}
              />
            ))}
            <li class="lane-next" aria-hidden="true" style={{ left: `${length * columnWidth}px` }}>
              <span>next</span>
            </li>
          </ol>
        </div>
        <PriceLines lines={lines} scale={scale} isEvm={isEvm} />
      </div>
      <div class="lane-foot">
        <Inspector
          number={shown}
          isUsed={span !== null && shown !== null && shown < span.to}
          slot={shown === null ? undefined : slots.get(shown)}
          isEvm={isEvm}
          numberWord={numberWord}
        />
        <div class="actions">
          <Button onClick={() => scroll.by(-0.8)} text="Earlier" />
          <Button onClick={scroll.toChain} text="To the chain" />
          <Button onClick={() => scroll.by(0.8)} text="Later" />
          <Button onClick={scroll.toEnd} text="To the end" />
        </div>
      </div>
      <Legend />
    </div>
  );
}

/**
 * The columns in view. They follow the chain's next number until the operator scrolls away from it, and again after `toChain`. `from`: the
 * number of the first column.
 */
function useLaneScroll(from: bigint, chain: bigint | null) {
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ first: 0, count: 30 });
  const isFollowing = useRef(true);
  const lastPlaced = useRef(0);

  const readView = () => {
    const element = scroller.current;
    if (element === null) return;
    // In steps, so that most movements of a scroll draw nothing.
    const first = Math.max(0, Math.floor(element.scrollLeft / columnWidth / drawStep) * drawStep - overscan);
    const count = Math.ceil(element.clientWidth / columnWidth) + drawStep + 2 * overscan;
    setView((before) => (before.first === first && before.count === count ? before : { first, count }));
  };
  const showChain = () => {
    const element = scroller.current;
    if (element === null) return;
    if (chain !== null) element.scrollLeft = Number(chain - from) * columnWidth - element.clientWidth * pointerPlace;
    readView();
    lastPlaced.current = element.scrollLeft;
  };
  useLayoutEffect(() => {
    if (isFollowing.current) showChain();
  }, [chain, from]);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const observer = new ResizeObserver(readView);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  return {
    scroller,
    view,
    onScroll() {
      const left = scroller.current?.scrollLeft ?? 0;
      if (Math.abs(left - lastPlaced.current) > columnWidth) isFollowing.current = false;
      readView();
    },
    toChain() {
      isFollowing.current = true;
      showChain();
    },
    toEnd: () => scroller.current?.scrollTo({ left: scroller.current.scrollWidth }),
    /** `part`: of the width in view. */
    by: (part: number) => scroller.current?.scrollBy({ left: scroller.current.clientWidth * part, behavior: 'smooth' }),
    /** Moves the focus to the column of a number, and the column into view. */
    focusOn(number: bigint) {
      const element = scroller.current;
      if (element === null) return;
      const left = Number(number - from) * columnWidth;
      if (left < element.scrollLeft + columnWidth) element.scrollLeft = left - 2 * columnWidth;
      else if (left > element.scrollLeft + element.clientWidth - 2 * columnWidth)
        element.scrollLeft = left - element.clientWidth + 3 * columnWidth;
      readView();
      // The column is in the page only after it is drawn.
      requestAnimationFrame(() => element.querySelector<HTMLElement>(`[data-number="${number}"]`)?.focus({ preventScroll: true }));
    },
  };
}

/** The axis for these prices. While its prices stay, it stays the same object, so that the columns are not drawn again. */
function useSteadyScale(prices: readonly bigint[]): PriceScale {
  const last = useRef<PriceScale | null>(null);
  const scale = priceScale(prices);
  if (last.current?.name !== scale.name) last.current = scale;
  return last.current;
}

function linesOf(lane: Lane): readonly PriceLine[] {
  return [
    ...(lane.baseFee === undefined ? [] : [{ name: 'base fee', kind: 'base' as const, price: BigInt(lane.baseFee) }]),
    ...lane.market.map(({ speed, price }) => ({ name: speedTexts[speed], kind: 'market' as const, price: BigInt(price) })),
    ...(lane.gasPriceCap === undefined ? [] : [{ name: 'cap', kind: 'cap' as const, price: BigInt(lane.gasPriceCap) }]),
  ];
}

const percent = (part: number) => `${(part * 100).toFixed(3)}%`;

/** Long numbers, such as those of Stellar, show only their end: the beginning is the same in all of them. */
function labelOf(number: bigint): string {
  const text = number.toString();
  return text.length <= 6 ? text : `…${text.slice(-4)}`;
}

interface SlotColumnProps {
  readonly relayerId: string;
  readonly number: bigint;
  readonly slot: LaneSlot | undefined;
  readonly left: number;
  readonly scale: PriceScale;
  readonly isEvm: boolean;
  readonly numberWord: string;
  readonly isHead: boolean;
  readonly isTabStop: boolean;
  readonly onPoint: (number: bigint) => void;
  readonly onFocus: (number: bigint) => void;
}

/** A number of the account. */
const SlotColumn = memo(function SlotColumn(props: SlotColumnProps) {
  const { relayerId, number, slot, left, scale, isEvm, numberWord, isHead, isTabStop, onPoint, onFocus } = props;
  const kind = kindOf(slot);
  const transaction = slot?.transaction;
  const bars = barsOf(transaction);
  const label = labelText(number, slot, kind, bars, isEvm, numberWord);
  const shared = {
    class: 'lane-slot',
    'data-number': number.toString(),
    'aria-label': label,
    tabIndex: isTabStop ? 0 : -1,
    onMouseEnter: () => onPoint(number),
    onFocus: () => onFocus(number),
  };
  const content = (
    <>
      <span class="lane-bars">
        {bars.map((bar) => (
          <Bar key={bar.version} bar={bar} scale={scale} />
        ))}
        {transaction === undefined && kind !== 'unknown' && (
          <span class="lane-void">
            <Icon name={icons[kind]} />
          </span>
        )}
      </span>
      <span class="lane-mark">
        <Icon name={icons[kind]} />
      </span>
      <span class="lane-number">{labelOf(number)}</span>
    </>
  );
  return (
    <li class={`lane-column ${kind}${isHead ? ' head' : ''}`} style={{ left: `${left}px` }}>
      {transaction === undefined ? (
        <span role="img" {...shared}>
          {content}
        </span>
      ) : (
        <a
          href={locationTo(['relayers', relayerId, 'transactions', transaction.id])}
          draggable={false}
          {...shared}
          onClick={(event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            goTo(locationTo(['relayers', relayerId, 'transactions', transaction.id]));
          }}
        >
          {content}
        </a>
      )}
    </li>
  );
});

function Bar({ bar, scale }: { readonly bar: BidBar; readonly scale: PriceScale }) {
  const bottom = bar.above === null ? 0 : scale.place(bar.above);
  const top = Math.max(scale.place(bar.bid), bottom + 0.012);
  const classes = ['lane-bar', bar.isMined ? 'is-mined' : '', bar.isNewest ? 'is-newest' : '', bar.isSelfTransfer ? 'is-self' : ''];
  return <i class={classes.join(' ')} style={{ bottom: percent(bottom), height: percent(top - bottom) }} />;
}

/** Says in words what a column shows. */
function labelText(
  number: bigint,
  slot: LaneSlot | undefined,
  kind: ColumnKind,
  bars: readonly BidBar[],
  isEvm: boolean,
  numberWord: string,
): string {
  const name = `${numberWord} ${number}`;
  const transaction = slot?.transaction;
  if (transaction === undefined) return `${name}: ${kindTexts[kind]}`;
  const top = bars.at(-1);
  const mined = bars.find(({ isMined }) => isMined);
  const bids = top === undefined ? '' : `, ${counted(transaction.attempts.length, 'attempt')}, highest bid ${bidText(top.bid, isEvm)}`;
  return `${name}: ${statusText(transaction.status)}${bids}${mined === undefined ? '' : `, mined at ${bidText(mined.bid, isEvm)}`}`;
}

function PriceAxis({ scale, isEvm }: { readonly scale: PriceScale; readonly isEvm: boolean }) {
  return (
    <div class="lane-axis" aria-hidden="true">
      {scale.ticks.map((tick) => (
        <span key={tick.toString()} style={{ bottom: percent(scale.place(tick)) }}>
          {roughBidText(tick, isEvm)}
        </span>
      ))}
    </div>
  );
}

/** The prices of the network, drawn across the columns, with their names at the right. The figures above the chart say the same. */
function PriceLines({
  lines,
  scale,
  isEvm,
}: {
  readonly lines: readonly PriceLine[];
  readonly scale: PriceScale;
  readonly isEvm: boolean;
}) {
  const placed = lines.map((line) => ({ ...line, place: scale.place(line.price) }));
  const places = spreadLabels(placed, 0.062);
  const cap = placed.find(({ kind }) => kind === 'cap');
  return (
    <div class="lane-lines" aria-hidden="true">
      {cap !== undefined && <i class="lane-above-cap" style={{ bottom: percent(cap.place) }} />}
      {placed.map(({ name, kind, place, price }, index) => (
        <div key={`${kind} ${name}`}>
          <i class={`lane-line ${kind}`} style={{ bottom: percent(place) }} />
          <span class={`lane-line-label ${kind}`} style={{ bottom: percent(places[index] ?? place) }}>
            {name} <b>{roughBidText(price, isEvm)}</b>
          </span>
        </div>
      ))}
    </div>
  );
}

/** Details of one column, below the chart: of the column under the pointer or with the focus, otherwise of the chain’s next number. */
function Inspector({
  number,
  isUsed,
  slot,
  isEvm,
  numberWord,
}: {
  readonly number: bigint | null;
  /** False: nothing is signed for the number, and the chain has not used it. */
  readonly isUsed: boolean;
  readonly slot: LaneSlot | undefined;
  readonly isEvm: boolean;
  readonly numberWord: string;
}) {
  if (number === null) return <p class="lane-inspector quiet">Point at a column to see its attempts.</p>;
  const transaction = slot?.transaction;
  const bars = barsOf(transaction);
  return (
    <p class="lane-inspector">
      <span class="strong">
        {numberWord} {number.toString()}
      </span>
      <span> · {transaction !== undefined ? statusText(transaction.status) : isUsed ? kindTexts[kindOf(slot)] : 'not used yet'}</span>
      {bars.length > 0 && (
        <span>
          {' · '}
          {counted(transaction?.attempts.length ?? 0, 'attempt')}:{' '}
          {bars.map(({ bid, isMined }) => `${roughBidText(bid, isEvm)}${isMined ? ' (mined)' : ''}`).join(' → ')}
        </span>
      )}
      {transaction?.statusReason !== undefined && <span class="quiet"> · {transaction.statusReason}</span>}
    </p>
  );
}

function Legend() {
  const kinds: readonly ColumnKind[] = ['confirmed', 'mined', 'open', 'waiting', 'failed', 'withdrawn', 'gap', 'other'];
  return (
    <ul class="lane-legend" aria-label="Legend">
      {kinds.map((kind) => (
        <li key={kind} class={kind}>
          <i aria-hidden="true">
            <Icon name={icons[kind]} />
          </i>
          {kindTexts[kind]}
        </li>
      ))}
      <li class="self">
        <i aria-hidden="true" />
        self-transfer
      </li>
    </ul>
  );
}
