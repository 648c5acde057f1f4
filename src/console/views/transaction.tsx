import { create } from '@bufbuild/protobuf';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { type Attempt, type Transaction, TransactionStatus } from '../../../gen/relayer/v1/transaction_pb.js';
import { GetTransactionRequestSchema } from '../../../gen/relayer/v1/transaction_service_pb.js';
import { bidOf, priorityFeeOf, purposeText } from '../model/attempts.js';
import { eventTexts } from '../model/deliveries.js';
import { capitalized } from '../model/lane.js';
import { msOf } from '../model/ms-of.js';
import { type Bid, minimumBid } from '../model/replacement.js';
import { locationTo } from '../model/route.js';
import { failureText, isChangeable, stepsOf } from '../model/timeline.js';
import { Amount } from '../parts/amount.js';
import { Badge, statusLooks } from '../parts/badge.js';
import { Button } from '../parts/button.js';
import { CopyButton, Hash } from '../parts/copy.js';
import { CopyAsButton } from '../parts/copy-as.js';
import { Empty, FailureNote, Loading } from '../parts/failure-note.js';
import { ConfirmDialog } from '../parts/form-dialog.js';
import { Icon } from '../parts/icon.js';
import { type Column, Table } from '../parts/table.js';
import { Age, Time } from '../parts/time.js';
import { toast } from '../parts/toast.js';
import { useCall } from '../parts/use-call.js';
import { notifications, once, relayers, transactions } from '../service/clients.js';
import { currentQuery, replaceLocation } from '../service/location.js';
import { coinOf, relayerOf } from '../service/overview.js';
import { may, scopes } from '../service/session.js';
import { followTransaction } from '../service/transaction.js';
import { bidText } from '../text/prices.js';
import { durationText } from '../text/times.js';
import { TransactionContent } from './content.js';
import { deliveryColumns } from './delivery.js';
import { RelayerFrame } from './relayer-frame.js';
import { ReplaceDialog, SpeedUpDialog } from './replace.js';

/** A transaction: where it is in its life, what it waits for, its attempts, its content, and what an operator can do about it. */
export function TransactionView({ relayerId, transactionId }: { readonly relayerId: string; readonly transactionId: string }) {
  const followed = useMemo(() => followTransaction(relayerId, transactionId), [relayerId, transactionId]);
  useEffect(() => followed.stop, [followed]);
  const transaction = followed.transaction.value;
  return (
    <RelayerFrame relayerId={relayerId} tab="transactions" title={`transaction ${transactionId}`}>
      <FailureNote failure={followed.failure.value} />
      {transaction === null ? (
        followed.failure.value === undefined && <Loading what="the transaction" />
      ) : (
        <TransactionContentView relayerId={relayerId} transaction={transaction} take={followed.take} />
      )}
    </RelayerFrame>
  );
}

type Asked = 'replace' | 'speed-up' | 'cancel' | null;

function TransactionContentView({
  relayerId,
  transaction,
  take,
}: {
  readonly relayerId: string;
  readonly transaction: Transaction;
  readonly take: (record: Transaction | undefined) => void;
}) {
  const { id, status, revision } = transaction;
  const attempts = useCall(
    (signal) => transactions.listAttempts({ relayerId, transactionId: id, pageSize: 100 }, { ...once, signal }),
    [relayerId, id],
  );
  // A record of a new revision may have a new attempt.
  useEffect(attempts.reload, [revision]);
  const list = attempts.data?.attempts ?? [];
  return (
    <>
      <StatusCard transaction={transaction} />
      <Actions
        relayerId={relayerId}
        transaction={transaction}
        isSigned={list.length > 0}
        minimum={minimumBid(attempts.data?.minimumReplacementPrice)}
        take={take}
      />
      <Timeline transaction={transaction} relayerId={relayerId} />
      <section class="panel" aria-label="Attempts">
        <div class="panel-head">
          <h2>Attempts</h2>
          <span class="quiet small">newest first; at most one is mined</span>
        </div>
        <FailureNote failure={attempts.failure} onRetry={attempts.reload} />
        {attempts.data === undefined ? (
          attempts.isLoading && <Loading what="the attempts" />
        ) : list.length === 0 ? (
          <Empty title="Nothing is signed yet." />
        ) : (
          <Table caption="Attempts, newest first" columns={attemptColumns(list)} rows={list} keyOf={({ version }) => version} />
        )}
      </section>
      <TransactionContent transaction={transaction} coin={coinOf(relayerOf(relayerId))} />
      {may(scopes.notifications) && <Deliveries relayerId={relayerId} transactionId={id} revision={revision} status={status} />}
    </>
  );
}

/** The status with its reason. */
function StatusCard({ transaction }: { readonly transaction: Transaction }) {
  const { status, statusReason, failureReason, id, traceId, validUntil, approval } = transaction;
  const { tone, icon, text } = statusLooks[status];
  return (
    <section class={`verdict ${tone}`} aria-label="Status">
      <Icon name={icon} />
      <div class="verdict-text">
        <div role="status">
          <h2>
            {capitalized(text)}
            <IsCanceling transaction={transaction} />
          </h2>
        </div>
        {statusReason !== undefined && <p>{statusReason}</p>}
        {failureReason !== undefined && <p class="quiet">{failureText(failureReason)}</p>}
        {validUntil !== undefined && (
          <p class="quiet small">
            Valid until <Time at={validUntil} />
          </p>
        )}
        {approval?.expiresAt !== undefined && status === TransactionStatus.PENDING && approval.given.length < approval.required && (
          <p class="quiet small">
            Must be approved by <Time at={approval.expiresAt} />
          </p>
        )}
        <p class="quiet small">
          Transaction <code>{id}</code> <CopyButton text={id} what="transaction id" />
        </p>
        {traceId !== undefined && (
          <p class="quiet small">
            Trace <code>{traceId}</code> <CopyButton text={traceId} what="trace id" />
          </p>
        )}
      </div>
    </section>
  );
}

function IsCanceling({ transaction: { network, status } }: { readonly transaction: Transaction }) {
  if (network.case !== 'evm' || !network.value.isCanceled || !isChangeable(status)) return null;
  return <span class="quiet">, being canceled</span>;
}

/** What an operator can do about the transaction. */
function Actions({
  relayerId,
  transaction,
  isSigned,
  minimum,
  take,
}: {
  readonly relayerId: string;
  readonly transaction: Transaction;
  readonly isSigned: boolean;
  readonly minimum: Bid | null;
  readonly take: (record: Transaction | undefined) => void;
}) {
  const { id, status, revision, network } = transaction;
  const canChange = may(scopes.write) && isChangeable(status);
  const isCanceling = network.case === 'evm' && network.value.isCanceled;
  const canSpeedUp = canChange && minimum !== null && !isCanceling;
  const [asked, setAsked] = useState<Asked>(null);
  // A link from the lane asks for the dialog at once; it opens when the attempts are known.
  const wish = currentQuery.value.get('do');
  useEffect(() => {
    if (wish !== 'speed-up' || !canSpeedUp) return;
    setAsked('speed-up');
    replaceLocation(locationTo(['relayers', relayerId, 'transactions', id]));
  }, [wish, canSpeedUp]);
  const cancel = async () => {
    const { transaction: record } = await transactions.cancelTransaction(
      { relayerId, transactionId: id, expectedRevision: revision },
      once,
    );
    take(record);
    toast(record?.status === TransactionStatus.CANCELED ? 'The transaction is canceled.' : 'The transaction is being canceled.');
  };
  const close = () => setAsked(null);
  const replaced = (record: Transaction | undefined) => {
    take(record);
    toast('The transaction is replaced.');
  };
  return (
    <div class="actions">
      {canSpeedUp && <Button class="primary" onClick={() => setAsked('speed-up')} text="Speed up" />}
      {canChange && !isCanceling && <Button onClick={() => setAsked('replace')} text="Replace" />}
      {canChange && <Button class="danger-quiet" onClick={() => setAsked('cancel')} text="Cancel transaction" />}
      <CopyAsButton request={() => create(GetTransactionRequestSchema, { relayerId, transactionId: id })} />
      {asked === 'cancel' && (
        <ConfirmDialog title="Cancel the transaction" action="Cancel transaction" typed={id} onConfirm={cancel} onClose={close}>
          <p>
            {isSigned
              ? 'It is signed: the service outbids it by a self-transfer in its slot, which costs a fee. It can still be mined before that.'
              : 'It is not signed yet: the service withdraws it at once, and nothing is paid.'}
          </p>
        </ConfirmDialog>
      )}
      {asked === 'speed-up' && (
        <SpeedUpDialog relayerId={relayerId} transaction={transaction} minimum={minimum} onDone={replaced} onClose={close} />
      )}
      {asked === 'replace' && (
        <ReplaceDialog relayerId={relayerId} transaction={transaction} minimum={minimum} onDone={replaced} onClose={close} />
      )}
    </div>
  );
}

const stepIcons = { done: 'check', now: 'clock', later: 'dot', skipped: 'dash' } as const;
const stepTexts = { done: 'done', now: 'now', later: 'not yet', skipped: 'left out' } as const;

function Timeline({ relayerId, transaction }: { readonly relayerId: string; readonly transaction: Transaction }) {
  const { feePaid, gasUsed, createdAt } = transaction;
  const steps = stepsOf(transaction);
  const coin = coinOf(relayerOf(relayerId));
  return (
    <section class="panel" aria-label="Timeline">
      <ol class="timeline">
        {steps.map(({ title, at, state, note }, index) => (
          <li key={title} class={state}>
            <span class="step-mark">
              <Icon name={stepIcons[state]} />
              <span class="visually-hidden">{stepTexts[state]}</span>
            </span>
            <span class="strong">{title}</span>
            {at !== undefined && (
              <span>
                <Time at={at} />
                {index > 0 && createdAt !== undefined && <span class="quiet"> (after {durationText(msOf(at) - msOf(createdAt))})</span>}
              </span>
            )}
            {state === 'now' && createdAt !== undefined && (
              <span class="quiet">
                waiting for <Age at={steps.findLast((step) => step.state === 'done' && step.at !== undefined)?.at ?? createdAt} />
              </span>
            )}
            {note !== null && <span class="quiet">{note}</span>}
            {title === 'Mined' && feePaid !== undefined && (
              <span class="quiet">
                fee <Amount value={feePaid} {...coin} />
                {gasUsed !== undefined && `, ${gasUsed.toLocaleString('en')} gas`}
              </span>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The columns that the attempts of this network fill. */
function attemptColumns(attempts: readonly Attempt[]): readonly Column<Attempt>[] {
  const isEvm = attempts.some(({ network }) => network.case === 'evm');
  const hasBids = attempts.some((attempt) => bidOf(attempt) !== null);
  const price = (wei: bigint | null) => (wei === null ? '' : <span class="number">{bidText(wei, isEvm)}</span>);
  return [
    { title: 'Attempt', cell: ({ version }) => `#${version}` },
    {
      title: 'State',
      cell: ({ isMined, version }) =>
        isMined ? (
          <Badge tone="good" icon="check" text="mined" />
        ) : (
          <span class="quiet">{version === attempts[0]?.version ? 'newest' : 'outbid'}</span>
        ),
    },
    { title: 'Purpose', cell: ({ purpose }) => purposeText(purpose) },
    ...(hasBids ? [{ title: isEvm ? 'Max fee' : 'Fee', align: 'right' as const, cell: (attempt: Attempt) => price(bidOf(attempt)) }] : []),
    ...(isEvm
      ? [
          { title: 'Priority fee', align: 'right' as const, cell: (attempt: Attempt) => price(priorityFeeOf(attempt)) },
          {
            title: 'Gas limit',
            align: 'right' as const,
            cell: ({ network }: Attempt) => (network.case === 'evm' ? network.value.gasLimit.toLocaleString('en') : ''),
          },
        ]
      : []),
    { title: 'Hash', cell: ({ hash }) => <Hash value={hash} what="hash" /> },
    { title: 'Signed', align: 'right', cell: ({ createdAt }) => <Time at={createdAt} /> },
  ];
}

/** The deliveries of this transaction's events. They begin when the record changes, so they are loaded again then. */
function Deliveries({
  relayerId,
  transactionId,
  revision,
  status,
}: {
  readonly relayerId: string;
  readonly transactionId: string;
  readonly revision: bigint;
  readonly status: TransactionStatus;
}) {
  const relayer = useCall((signal) => relayers.getRelayer({ relayerId }, { ...once, signal }), [relayerId]);
  const notificationId = relayer.data?.relayer?.notificationId;
  const deliveries = useCall(
    async (signal) =>
      notificationId === undefined
        ? undefined
        : (await notifications.listDeliveries({ notificationId, transactionId, pageSize: 20 }, { ...once, signal })).deliveries,
    [notificationId, transactionId],
  );
  useEffect(deliveries.reload, [revision, status]);
  if (relayer.data !== undefined && notificationId === undefined) return null;
  return (
    <section class="panel" aria-label="Webhook deliveries">
      <div class="panel-head">
        <h2>Webhook deliveries</h2>
        <div class="actions">
          <button type="button" onClick={deliveries.reload}>
            <Icon name="reload" /> Reload
          </button>
        </div>
      </div>
      <FailureNote
        failure={relayer.failure ?? deliveries.failure}
        onRetry={relayer.failure === undefined ? deliveries.reload : relayer.reload}
      />
      {deliveries.data === undefined ? (
        deliveries.failure === undefined && relayer.failure === undefined && <Loading what="the deliveries" />
      ) : deliveries.data.length === 0 ? (
        <Empty title="No event of this transaction is stored." />
      ) : (
        <Table
          caption="Webhook deliveries, newest first"
          columns={deliveryColumns(({ id, event }) => (
            <a href={locationTo(['webhooks', notificationId ?? ''], { delivery: id })}>{eventTexts[event]}</a>
          ))}
          rows={deliveries.data}
          keyOf={({ id }) => id}
        />
      )}
    </section>
  );
}
