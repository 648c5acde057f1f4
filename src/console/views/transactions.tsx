import { useEffect, useRef, useState } from 'preact/hooks';
import { RecordView } from '../../../gen/relayer/v1/common_pb.js';
import { type Transaction, TransactionStatus } from '../../../gen/relayer/v1/transaction_pb.js';
import { hashWordOf } from '../model/networks.js';
import { locationTo } from '../model/route.js';
import { isCancelable, mergeTransactions, statusesFrom, statusNames } from '../model/transaction-list.js';
import { Amount } from '../parts/amount.js';
import { StatusBadge, statusText } from '../parts/badge.js';
import { BulkReport, useBulk } from '../parts/bulk.js';
import { Button } from '../parts/button.js';
import { Hash, shortened } from '../parts/copy.js';
import { ConfirmDialog } from '../parts/form-dialog.js';
import { ListPanel } from '../parts/list-panel.js';
import type { Column } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { usePages } from '../parts/use-pages.js';
import { once, transactions } from '../service/clients.js';
import { currentQuery, replaceLocation } from '../service/location.js';
import { type Coin, coinOf, relayerOf } from '../service/overview.js';
import { may, scopes } from '../service/session.js';
import { follow } from '../service/streams.js';
import { RelayerFrame } from './relayer-frame.js';

const pageSize = 50;

/** After this many new records the list is loaded again from its first page. */
const maxAdded = 300;

/** How long changes are collected before they are drawn: a busy relayer changes hundreds of records a second. */
const collectMs = 150;

/** The transactions of a relayer, newest first, as they change. */
export function TransactionsView({ relayerId }: { readonly relayerId: string }) {
  const filter = currentQuery.value.get('status') ?? '';
  const statuses = statusesFrom(filter);
  const pages = usePages<Transaction>(
    async (pageToken, signal) => {
      const page = await transactions.listTransactions(
        { relayerId, status: statuses, pageSize, pageToken, view: RecordView.BASIC },
        { ...once, signal },
      );
      return { rows: page.transactions, nextPageToken: page.nextPageToken };
    },
    [relayerId, filter],
  );
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isAsking, setAsking] = useState(false);
  const bulk = useBulk();
  const added = useRef(0);
  useLiveTransactions(relayerId, (changed) =>
    pages.change((rows) => {
      const merged = mergeTransactions(rows, changed, statusesFrom(currentQuery.peek().get('status') ?? ''));
      added.current += Math.max(0, merged.length - rows.length);
      return merged;
    }),
  );
  // A busy relayer would make the page ever longer.
  useEffect(() => {
    if (added.current < maxAdded) return;
    added.current = 0;
    pages.reload();
  });
  const coin = coinOf(relayerOf(relayerId));
  const cancelable = pages.rows.filter(({ status }) => isCancelable(status));
  const chosen = cancelable.filter(({ id }) => selected.has(id)).map(({ id }) => id);
  const isAllChosen = cancelable.length > 0 && chosen.length === cancelable.length;
  const mayWrite = may(scopes.write);
  const setFilter = (next: readonly TransactionStatus[]) => {
    setSelected(new Set());
    replaceLocation(locationTo(['relayers', relayerId, 'transactions'], { status: next.map((status) => statusNames[status]).join(',') }));
  };
  return (
    <RelayerFrame relayerId={relayerId} tab="transactions" title="Transactions">
      <div class="toolbar">
        <StatusFilter statuses={statuses} onStatuses={setFilter} />
        <div class="actions">
          {mayWrite && cancelable.length > 0 && (
            <label class="choice">
              <input
                type="checkbox"
                checked={isAllChosen}
                onChange={() => setSelected(new Set(isAllChosen ? [] : cancelable.map(({ id }) => id)))}
              />
              Select {cancelable.length} shown that can be canceled
            </label>
          )}
          {mayWrite && (
            <Button
              class="danger-quiet"
              disabled={chosen.length === 0}
              onClick={() => setAsking(true)}
              text={`Cancel selected (${chosen.length})`}
            />
          )}
        </div>
      </div>
      <BulkReport bulk={bulk} total={undefined} doing="Canceling" done="Canceled or being canceled:" />
      <ListPanel
        what="Transactions"
        pages={pages}
        empty={statuses.length > 0 ? 'No transaction has one of these statuses.' : 'This relayer has no transactions yet.'}
        caption="Transactions, newest first"
        columns={columnsOf(coin, mayWrite, selected, (id) => setSelected((before) => toggled(before, id)))}
        keyOf={({ id }) => id}
        rowClass={({ status }) => (status === TransactionStatus.FAILED ? 'bad' : undefined)}
      />
      {isAsking && (
        <ConfirmDialog
          title={`Cancel ${chosen.length} ${chosen.length === 1 ? 'transaction' : 'transactions'}`}
          action="Cancel selected"
          onConfirm={async () => {
            const ids = chosen;
            setSelected(new Set());
            void bulk.start(ids, (transactionId, signal) =>
              transactions.cancelTransaction({ relayerId, transactionId }, { ...once, signal }),
            );
          }}
          onClose={() => setAsking(false)}
        >
          <p>
            The service withdraws those that are not signed, and replaces the others by self-transfers, which cost a fee each. A transaction
            can still be mined before its cancellation.
          </p>
          <ul class="ids">
            {chosen.slice(0, 8).map((id) => (
              <li key={id}>
                <code>{id}</code>
              </li>
            ))}
            {chosen.length > 8 && <li>and {chosen.length - 8} more</li>}
          </ul>
        </ConfirmDialog>
      )}
    </RelayerFrame>
  );
}

function toggled(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(ids);
  if (!next.delete(id)) next.add(id);
  return next;
}

/** Calls back with the records that have changed, a few times a second. */
function useLiveTransactions(relayerId: string, onChanged: (changed: readonly Transaction[]) => void): void {
  const newest = useRef(onChanged);
  newest.current = onChanged;
  useEffect(() => {
    const changed = new Map<string, Transaction>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let resumeToken: string | undefined;
    const stop = follow({
      open: (signal) => transactions.watchTransactions({ relayerId, ...(resumeToken === undefined ? {} : { resumeToken }) }, { signal }),
      onMessage: (message) => {
        resumeToken = message.resumeToken;
        if (message.event.case !== 'transaction') return;
        changed.set(message.event.value.id, message.event.value);
        timer ??= setTimeout(() => {
          timer = undefined;
          newest.current([...changed.values()]);
          changed.clear();
        }, collectMs);
      },
      onExpired: () => {
        resumeToken = undefined;
      },
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [relayerId]);
}

function StatusFilter({
  statuses,
  onStatuses,
}: {
  readonly statuses: readonly TransactionStatus[];
  readonly onStatuses: (statuses: readonly TransactionStatus[]) => void;
}) {
  const all = Object.keys(statusNames).map(Number) as TransactionStatus[];
  return (
    <fieldset class="chips">
      <legend class="visually-hidden">Statuses</legend>
      <Button aria-pressed={statuses.length === 0} onClick={() => onStatuses([])} text="all" />
      {all.map((status) => (
        <Button
          key={status}
          aria-pressed={statuses.includes(status)}
          onClick={() => onStatuses(statuses.includes(status) ? statuses.filter((one) => one !== status) : [...statuses, status])}
          text={statusText(status)}
        />
      ))}
    </fieldset>
  );
}

function columnsOf(
  coin: Coin,
  mayWrite: boolean,
  selected: ReadonlySet<string>,
  onToggle: (id: string) => void,
): readonly Column<Transaction>[] {
  return [
    {
      title: 'Transaction',
      cell: ({ id, relayerId, status }) => (
        <span class="check-cell">
          {mayWrite && (
            <input
              type="checkbox"
              aria-label={`Select ${id}`}
              checked={selected.has(id) && isCancelable(status)}
              disabled={!isCancelable(status)}
              onChange={() => onToggle(id)}
            />
          )}
          <a href={locationTo(['relayers', relayerId, 'transactions', id])} title={id}>
            <code>{shortened(id, 8)}</code>
          </a>
        </span>
      ),
    },
    { title: 'Status', cell: ({ status, delayedAt }) => <StatusBadge status={status} delayedAt={delayedAt} /> },
    { title: 'Number', align: 'right', cell: numberCell },
    { title: 'To', cell: receiverCell },
    { title: 'Value', align: 'right', cell: (transaction) => valueCell(transaction, coin) },
    {
      title: 'Fee paid',
      align: 'right',
      wideOnly: true,
      cell: ({ feePaid }) => feePaid !== undefined && <Amount value={feePaid} {...coin} />,
    },
    {
      title: 'Accepted',
      cell: ({ createdAt }) => (
        <span class="number">
          <Time at={createdAt} />
        </span>
      ),
    },
    {
      title: 'Reason',
      wideOnly: true,
      cell: ({ statusReason }) =>
        statusReason !== undefined && (
          <div class="clamped one-line quiet small" title={statusReason}>
            {statusReason}
          </div>
        ),
    },
  ];
}

/** The nonce, or the sequence number on Stellar. */
function numberCell({ network }: Transaction) {
  if (network.case === 'evm') return network.value.nonce?.toString() ?? <span class="quiet">–</span>;
  return network.case === 'stellar' ? (network.value.sequenceNumber ?? <span class="quiet">–</span>) : null;
}

/** The receiver on an EVM network, or the hash. */
export function receiverCell({ network, hash }: Transaction) {
  if (network.case === 'evm') {
    return network.value.to === undefined ? (
      <span class="quiet">creates a contract</span>
    ) : (
      <Hash value={network.value.to} what="receiver" />
    );
  }
  return hash === undefined ? <span class="quiet">not signed yet</span> : <Hash value={hash} what={hashWordOf({ network })} />;
}

/** The value on an EVM network. */
export function valueCell({ network }: Transaction, coin: Coin) {
  return network.case === 'evm' ? <Amount value={network.value.value} {...coin} /> : null;
}
