import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { NetworkType } from '../../../gen/relayer/v1/common_pb.js';
import { Speed } from '../../../gen/relayer/v1/evm_pb.js';
import type { Lane, LaneSlot, LaneTransaction } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { bidOf } from '../model/attempts.js';
import { counted, kindOf, kindTexts, type Verdict, verdictOf } from '../model/lane.js';
import { locationTo } from '../model/route.js';
import { StatusBadge } from '../parts/badge.js';
import { Button } from '../parts/button.js';
import { shortened } from '../parts/copy.js';
import { Empty, FailureNote, Loading } from '../parts/failure-note.js';
import { Icon } from '../parts/icon.js';
import { type Column, Table } from '../parts/table.js';
import { Age } from '../parts/time.js';
import { type FollowedLane, followLane } from '../service/lane.js';
import { relayerOf } from '../service/overview.js';
import { may, scopes } from '../service/session.js';
import { bidText, roughBidText } from '../text/prices.js';
import { speedTexts } from './content.js';
import { LaneChart } from './lane-chart.js';
import { RelayerFrame } from './relayer-frame.js';

/** The lane of a relayer: what every number of its account is used for, what each attempt bids, and what all of them wait for. */
export function LaneView({ relayerId }: { readonly relayerId: string }) {
  const followed = useMemo(() => followLane(relayerId), [relayerId]);
  useEffect(() => () => followed.stop(), [followed]);
  const lane = followed.lane.value;
  return (
    <RelayerFrame relayerId={relayerId} tab="lane" title="Lane">
      <FailureNote failure={followed.failure.value} />
      {lane === null ? (
        followed.failure.value === undefined && <Loading what="the lane" />
      ) : (
        <LaneContent relayerId={relayerId} followed={followed} lane={lane} />
      )}
    </RelayerFrame>
  );
}

function LaneContent({ relayerId, followed, lane }: { readonly relayerId: string; readonly followed: FollowedLane; readonly lane: Lane }) {
  const [isList, setList] = useState(false);
  const relayer = relayerOf(relayerId);
  const isEvm = relayer === undefined || relayer.networkType === NetworkType.EVM;
  const numberWord = isEvm ? 'nonce' : 'sequence number';
  const slots = followed.slots.value;
  const head = lane.chainNumber === undefined ? undefined : slots.get(BigInt(lane.chainNumber));
  const verdict = verdictOf(lane, {
    isPaused: relayer?.paused === true,
    disabledReason: relayer?.disabledReason,
    head,
    inFlight: relayer?.inFlight ?? 0,
    numberWord,
  });
  const hasNumbers = followed.span.value !== null;
  return (
    <>
      <VerdictCard relayerId={relayerId} verdict={verdict} head={head} lane={lane} isEvm={isEvm} />
      <LaneFacts lane={lane} inFlight={relayer?.inFlight} isEvm={isEvm} numberWord={numberWord} />
      <div class={hasNumbers ? 'lane-layout' : 'lane-layout alone'}>
        {hasNumbers && (
          <section class="panel lane-panel" aria-label="Slots">
            <div class="panel-head">
              <h2>Slots by {numberWord}</h2>
              <div class="actions">
                <fieldset class="segments">
                  <legend class="visually-hidden">Show the slots as</legend>
                  <Button aria-pressed={!isList} onClick={() => setList(false)} text="Chart" />
                  <Button aria-pressed={isList} onClick={() => setList(true)} text="List" />
                </fieldset>
              </div>
            </div>
            {isList ? (
              <SlotList relayerId={relayerId} followed={followed} lane={lane} isEvm={isEvm} numberWord={numberWord} />
            ) : (
              <LaneChart relayerId={relayerId} followed={followed} lane={lane} isEvm={isEvm} numberWord={numberWord} />
            )}
          </section>
        )}
        <Queue relayerId={relayerId} lane={lane} hasNumbers={hasNumbers} />
      </div>
    </>
  );
}

/** What the lane waits for, large enough to be read first. */
function VerdictCard({
  relayerId,
  verdict,
  head,
  lane,
  isEvm,
}: {
  readonly relayerId: string;
  readonly verdict: Verdict;
  readonly head: LaneSlot | undefined;
  readonly lane: Lane;
  readonly isEvm: boolean;
}) {
  const { tone, headline, detail, transactionId } = verdict;
  const icon = ({ good: 'check', busy: 'clock', warn: 'alert', bad: 'alert' } as const)[tone];
  const comparison = head?.transaction?.id === transactionId ? bidComparison(head?.transaction, lane, isEvm) : null;
  return (
    <section class={`verdict ${tone}`} aria-label="What the lane waits for">
      <Icon name={icon} />
      <div class="verdict-text">
        <div role="status">
          <h2>{headline}</h2>
        </div>
        {detail !== null && <p>{detail}</p>}
        {comparison !== null && <p class="quiet">{comparison}</p>}
      </div>
      {transactionId !== null && (
        <div class="actions">
          <a class="button" href={locationTo(['relayers', relayerId, 'transactions', transactionId])}>
            Open transaction
          </a>
          {may(scopes.write) && head?.transaction?.id === transactionId && (
            <a class="button primary" href={locationTo(['relayers', relayerId, 'transactions', transactionId], { do: 'speed-up' })}>
              Speed up
            </a>
          )}
        </div>
      )}
    </section>
  );
}

/** Compares the bid of a transaction with what the network asks. Null: nothing to compare. */
function bidComparison(transaction: LaneTransaction | undefined, lane: Lane, isEvm: boolean): string | null {
  const bid = highestBid(transaction);
  if (bid === null) return null;
  const bids = `Its ${counted(transaction?.attempts.length ?? 0, 'attempt')} ${transaction?.attempts.length === 1 ? 'bids' : 'bid up to'} ${roughBidText(bid, isEvm)}`;
  const asks = [
    ...(lane.baseFee === undefined ? [] : [`the base fee is ${roughBidText(BigInt(lane.baseFee), isEvm)}`]),
    ...lane.market.filter(({ speed }) => speed === Speed.FAST).map(({ price }) => `fast is ${roughBidText(BigInt(price), isEvm)}`),
    ...(lane.gasPriceCap === undefined ? [] : [`the cap is ${roughBidText(BigInt(lane.gasPriceCap), isEvm)}`]),
  ];
  return asks.length === 0 ? `${bids}.` : `${bids}; ${asks.join(', ')}.`;
}

function highestBid(transaction: LaneTransaction | undefined): bigint | null {
  return (transaction?.attempts ?? [])
    .map(bidOf)
    .filter((bid) => bid !== null)
    .reduce<bigint | null>((a, b) => (a === null || b > a ? b : a), null);
}

function LaneFacts({
  lane,
  inFlight,
  isEvm,
  numberWord,
}: {
  readonly lane: Lane;
  readonly inFlight: number | undefined;
  readonly isEvm: boolean;
  readonly numberWord: string;
}) {
  const price = (value: string) => (
    <span class="number" title={bidText(BigInt(value), isEvm)}>
      {roughBidText(BigInt(value), isEvm)}
    </span>
  );
  return (
    <dl class="facts tiles">
      <div>
        <dt>In flight</dt>
        <dd>
          <span class="figure">{inFlight ?? '–'}</span>
          {lane.inFlightLimit !== undefined && <span class="quiet"> limit {lane.inFlightLimit}, not counting mined ones</span>}
        </dd>
      </div>
      <div>
        <dt>Waiting to be signed</dt>
        <dd>
          <span class="figure">{lane.waitingCount}</span>
        </dd>
      </div>
      {lane.chainNumber !== undefined && (
        <div>
          <dt>Chain’s next {numberWord}</dt>
          <dd class="figure">{lane.chainNumber}</dd>
        </div>
      )}
      {lane.nextNumber !== undefined && (
        <div>
          <dt>Next {numberWord} to sign</dt>
          <dd class="figure">{lane.nextNumber}</dd>
        </div>
      )}
      {lane.baseFee !== undefined && (
        <div>
          <dt>Base fee</dt>
          <dd class="figure">{price(lane.baseFee)}</dd>
        </div>
      )}
      {lane.market.length > 0 && (
        <div>
          <dt>Market: {lane.market.map(({ speed }) => speedTexts[speed]).join(' · ')}</dt>
          <dd>{lane.market.map(({ price: value }) => roughBidText(BigInt(value), isEvm)).join(' · ')}</dd>
        </div>
      )}
      {lane.gasPriceCap !== undefined && (
        <div>
          <dt>Price cap</dt>
          <dd class="figure">{price(lane.gasPriceCap)}</dd>
        </div>
      )}
    </dl>
  );
}

/** The transactions that have no number yet; all open ones if the network has no numbers. */
function Queue({ relayerId, lane, hasNumbers }: { readonly relayerId: string; readonly lane: Lane; readonly hasNumbers: boolean }) {
  const title = hasNumbers ? 'Queue' : 'Open transactions';
  const hidden = hasNumbers ? lane.waitingCount - lane.waiting.length : 0;
  return (
    <section class="panel queue" aria-label={title}>
      <div class="panel-head">
        <h2>{title}</h2>
        <span class="quiet small">
          {hasNumbers ? counted(lane.waitingCount, 'transaction') : 'in no order: this network has no numbers'}
        </span>
      </div>
      {lane.waiting.length === 0 ? (
        <Empty title={hasNumbers ? 'No transaction waits for a number.' : 'No transaction is open.'} />
      ) : (
        <ol>
          {lane.waiting.map((transaction, index) => (
            <li key={transaction.id}>
              <a href={locationTo(['relayers', relayerId, 'transactions', transaction.id])}>
                <code>{shortened(transaction.id, 8)}</code>
              </a>
              <StatusBadge status={transaction.status} delayedAt={transaction.delayedAt} />
              <span class="quiet small">
                <Age at={transaction.createdAt ?? { seconds: 0n, nanos: 0 }} />
                {transaction.attempts.length > 0 && ` · ${counted(transaction.attempts.length, 'attempt')}`}
              </span>
              {/* Most of them wait for the same: it is said once. */}
              {transaction.statusReason !== undefined && transaction.statusReason !== lane.waiting[index - 1]?.statusReason && (
                <p class="small">{transaction.statusReason}</p>
              )}
            </li>
          ))}
          {hidden > 0 && <li class="quiet">and {counted(hidden, 'more transaction')}</li>}
        </ol>
      )}
    </section>
  );
}

/** The slots of a page of the list. */
const listLength = 50;

/** The slots as a table: the same as in the chart, for screen readers and for copying. */
function SlotList({
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
  const chain = BigInt(lane.chainNumber ?? lane.slots[0]?.number ?? '0');
  const start = useRef(chain > 5n ? chain - 5n : 0n);
  const [from, setFrom] = useState(start.current);
  useEffect(() => followed.want(from, listLength), [followed, from]);
  const slots = followed.slots.value;
  const rows = Array.from({ length: listLength }, (_, index) => from + BigInt(index))
    .filter((number) => span === null || number < span.to)
    .map((number) => ({ number, slot: slots.get(number) }));
  const columns: readonly Column<(typeof rows)[number]>[] = [
    {
      title: numberWord === 'nonce' ? 'Nonce' : 'Sequence number',
      cell: ({ number, slot }) => (
        <span class="number">
          {slot?.transaction === undefined ? (
            number.toString()
          ) : (
            <a href={locationTo(['relayers', relayerId, 'transactions', slot.transaction.id])}>{number.toString()}</a>
          )}
          {number === chain && <span class="badge busy">chain is here</span>}
        </span>
      ),
    },
    {
      title: 'State',
      cell: ({ slot }) =>
        slot?.transaction === undefined ? (
          kindTexts[kindOf(slot)]
        ) : (
          <StatusBadge status={slot.transaction.status} delayedAt={slot.transaction.delayedAt} />
        ),
    },
    { title: 'Attempts', align: 'right', cell: ({ slot }) => slot?.transaction?.attempts.length ?? '' },
    {
      title: 'Bids',
      align: 'right',
      cell: ({ slot }) => {
        const bid = highestBid(slot?.transaction);
        return bid === null ? '' : <span class="number">{bidText(bid, isEvm)}</span>;
      },
    },
    {
      title: 'Accepted',
      align: 'right',
      cell: ({ slot }) =>
        slot?.transaction?.createdAt === undefined ? (
          ''
        ) : (
          <span class="number">
            <Age at={slot.transaction.createdAt} />
          </span>
        ),
    },
    { title: 'Waits for, or why it ended', cell: ({ slot }) => slot?.transaction?.statusReason ?? '' },
  ];
  const step = BigInt(listLength);
  return (
    <>
      {rows.length === 0 ? (
        <Empty title={`No ${numberWord} is used yet.`} />
      ) : (
        <Table caption={`Slots by ${numberWord}`} columns={columns} rows={rows} keyOf={({ number }) => number.toString()} />
      )}
      <div class="more actions">
        <Button disabled={from === 0n} onClick={() => setFrom(from > step ? from - step : 0n)} text="Earlier" />
        <Button onClick={() => setFrom(chain > 5n ? chain - 5n : 0n)} text="To the chain" />
        <Button disabled={span === null || from + step >= span.to} onClick={() => setFrom(from + step)} text="Later" />
      </div>
    </>
  );
}
