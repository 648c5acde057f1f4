import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { NetworkType } from '../../../gen/relayer/v1/common_pb.js';
import { capitalized } from '../model/lane.js';
import { locationTo } from '../model/route.js';
import { Amount } from '../parts/amount.js';
import { Badge } from '../parts/badge.js';
import { Button } from '../parts/button.js';
import { Hash } from '../parts/copy.js';
import { Note } from '../parts/failure-note.js';
import { Form } from '../parts/form.js';
import { ConfirmDialog } from '../parts/form-dialog.js';
import { Icon } from '../parts/icon.js';
import { PageTitle } from '../parts/page-title.js';
import { toast } from '../parts/toast.js';
import { useAction } from '../parts/use-call.js';
import { useVisibleCurrent } from '../parts/use-visible-current.js';
import { once, relayers, transactions } from '../service/clients.js';
import { goTo } from '../service/location.js';
import { coinOf, networkOf, overview, relayerOf } from '../service/overview.js';
import { may, scopes } from '../service/session.js';

const tabs = [
  { part: 'lane', title: 'Lane', scope: scopes.read },
  { part: 'transactions', title: 'Transactions', scope: scopes.read },
  { part: 'send', title: 'Send', scope: scopes.write },
  { part: 'sign', title: 'Sign', scope: scopes.sign },
  { part: 'settings', title: 'Settings', scope: scopes.admin },
] as const;

/** The views of a relayer. */
export type RelayerTab = (typeof tabs)[number]['part'];

/** What all views of a relayer have in common: who it is, how it is, its actions and its tabs. */
export function RelayerFrame({
  relayerId,
  tab,
  title,
  children,
}: {
  readonly relayerId: string;
  readonly tab: RelayerTab;
  /** The heading of the view, which follows the name of the relayer in the title of the tab. */
  readonly title: string;
  readonly children: ComponentChildren;
}) {
  const relayer = relayerOf(relayerId);
  const network = networkOf(relayer);
  const coin = coinOf(relayer);
  const row = useRef<HTMLElement>(null);
  useVisibleCurrent(row, tab);
  return (
    <>
      <div class="relayer-head">
        <div class="relayer-name">
          <p class="crumbs">
            <a href="#/">Overview</a> <span aria-hidden="true">/</span>
          </p>
          <PageTitle>
            {relayer?.name ?? relayerId}
            <span class="visually-hidden">: {title}</span>
          </PageTitle>
          {relayer?.disabledReason !== undefined && <Badge tone="bad" icon="alert" text="disabled" />}
          {relayer?.paused && <Badge tone="warn" icon="pause" text="paused" />}
          {relayer?.lowBalance && <Badge tone="bad" icon="alert" text="balance is low" />}
          {relayer !== undefined && (
            <dl class="facts inline">
              <div>
                <dt>Network</dt>
                <dd>{relayer.network}</dd>
              </div>
              <div>
                <dt>Account</dt>
                <dd>
                  <Hash value={relayer.address} what="address" />
                </dd>
              </div>
              <div>
                <dt>Balance</dt>
                <dd>{relayer.balance === undefined ? 'not known yet' : <Amount value={relayer.balance} {...coin} />}</dd>
              </div>
              <div>
                <dt>Relayer id</dt>
                <dd>
                  <Hash value={relayer.id} what="relayer id" keep={12} />
                </dd>
              </div>
            </dl>
          )}
        </div>
        <RelayerActions relayerId={relayerId} isPaused={relayer?.paused} />
      </div>
      {relayer === undefined && overview.value.isComplete && (
        <Note tone="warn">The overview has no relayer {relayerId}. It may be deleted, or the API key may not use it.</Note>
      )}
      {relayer?.disabledReason !== undefined && <Note tone="bad">The service has disabled this relayer: {relayer.disabledReason}</Note>}
      {network?.problem !== undefined && (
        <Note tone="bad">
          No RPC node of {network.name} can be used: {network.problem}
        </Note>
      )}
      <nav ref={row} class="tabs" aria-label="Relayer">
        <ul>
          {tabs.map(({ part, title: text, scope }) =>
            may(scope) ? (
              <li key={part}>
                <a href={locationTo(['relayers', relayerId, part])} aria-current={part === tab ? 'page' : undefined}>
                  {text}
                </a>
              </li>
            ) : null,
          )}
        </ul>
        {may(scopes.read) && (
          <FindTransaction
            relayerId={relayerId}
            what={`transaction id${relayer === undefined || relayer.networkType === NetworkType.EVM ? ' or nonce' : ''}`}
          />
        )}
      </nav>
      {children}
    </>
  );
}

/** Opens a transaction by its id, or by its nonce, which the service can find on EVM networks. */
function FindTransaction({ relayerId, what }: { readonly relayerId: string; readonly what: string }) {
  const id = useId();
  const find = useAction(async (text: string) => {
    const nonce = /^\d+$/.test(text) ? BigInt(text) : null;
    const { transaction } =
      nonce === null
        ? await transactions.getTransaction({ relayerId, transactionId: text }, once)
        : await transactions.getTransactionByNonce({ relayerId, nonce }, once);
    if (transaction !== undefined) goTo(locationTo(['relayers', relayerId, 'transactions', transaction.id]));
  });
  return (
    <Form
      class="find"
      onSubmit={(typed) => {
        const text = String(typed.get('find')).trim();
        if (text !== '') void find.run(text);
      }}
    >
      <label class="visually-hidden" htmlFor={id}>
        Find by {what}
      </label>
      <input
        id={id}
        name="find"
        placeholder={capitalized(what)}
        autoComplete="off"
        spellcheck={false}
        aria-invalid={find.failure !== undefined}
        onInput={find.clear}
      />
      <button type="submit" aria-label="Find transaction" disabled={find.isRunning}>
        <Icon name="search" />
      </button>
      {find.failure !== undefined && (
        <p class="problem" role="alert">
          {find.failure.sentence}
        </p>
      )}
    </Form>
  );
}

function RelayerActions({ relayerId, isPaused }: { readonly relayerId: string; readonly isPaused: boolean | undefined }) {
  const [asked, setAsked] = useState<'pause' | 'resume' | 'cancel' | null>(null);
  const close = () => setAsked(null);
  const pause = async (paused: boolean) => {
    await relayers.updateRelayer({ relayerId, paused, updateMask: { paths: ['paused'] } }, once);
    toast(paused ? `Paused: ${relayerId}` : `Resumed: ${relayerId}`);
  };
  const cancel = async () => {
    const { result } = await transactions.cancelPendingTransactions({ relayerId }, once);
    const canceled = result?.queuedForCancellationTransactionIds.length ?? 0;
    const failed = result?.failedToQueueTransactionIds.length ?? 0;
    toast(`Canceled or being canceled: ${canceled}${failed === 0 ? '' : `. Could not be canceled: ${failed}`}`);
  };
  return (
    <div class="actions">
      {may(scopes.admin) && isPaused !== undefined && (
        <Button onClick={() => setAsked(isPaused ? 'resume' : 'pause')} text={isPaused ? 'Resume' : 'Pause'} />
      )}
      {may(scopes.write) && <Button class="danger-quiet" onClick={() => setAsked('cancel')} text="Cancel all open" />}
      {(asked === 'pause' || asked === 'resume') && (
        <ConfirmDialog
          title={asked === 'pause' ? 'Pause the relayer' : 'Resume the relayer'}
          action={asked === 'pause' ? 'Pause' : 'Resume'}
          destructive={asked === 'pause'}
          onConfirm={() => pause(asked === 'pause')}
          onClose={close}
        >
          <p>
            {asked === 'pause'
              ? 'A paused relayer accepts no transactions and signs none of those that wait. Transactions in flight continue.'
              : 'The relayer accepts transactions again, and signs those that wait.'}
          </p>
        </ConfirmDialog>
      )}
      {asked === 'cancel' && (
        <ConfirmDialog title="Cancel all open transactions" action="Cancel all" typed={relayerId} onConfirm={cancel} onClose={close}>
          <p>
            The service cancels every transaction of this relayer that is not mined yet. It withdraws those that are not signed, and
            replaces the others by self-transfers, which cost a fee each. A transaction can still be mined before its cancellation.
          </p>
        </ConfirmDialog>
      )}
    </div>
  );
}
