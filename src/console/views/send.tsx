import { create } from '@bufbuild/protobuf';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { NetworkType } from '../../../gen/relayer/v1/common_pb.js';
import type { Transaction } from '../../../gen/relayer/v1/transaction_pb.js';
import { SendTransactionRequestSchema } from '../../../gen/relayer/v1/transaction_service_pb.js';
import { fieldProblems } from '../model/field-problems.js';
import { kindOf, networkTypes } from '../model/networks.js';
import { locationTo } from '../model/route.js';
import type { SendContent } from '../model/send-content.js';
import { StatusBadge } from '../parts/badge.js';
import { Button } from '../parts/button.js';
import { CopyAsButton } from '../parts/copy-as.js';
import { FailureNote, Loading } from '../parts/failure-note.js';
import { Form } from '../parts/form.js';
import { ConfirmDialog } from '../parts/form-dialog.js';
import { Select, TextInput } from '../parts/inputs.js';
import { useAction } from '../parts/use-call.js';
import { useDraft } from '../parts/use-draft.js';
import { newIdempotencyKey, once, transactions } from '../service/clients.js';
import { type Coin, coinOf, overview, relayerOf } from '../service/overview.js';
import { may, scopes } from '../service/session.js';
import { Summary } from './content.js';
import { RelayerFrame } from './relayer-frame.js';
import { formOf } from './send-fields.js';

/** Sends a transaction by a relayer. */
export function SendView({ relayerId }: { readonly relayerId: string }) {
  return (
    <RelayerFrame relayerId={relayerId} tab="send" title="Send">
      <ByNetwork relayerId={relayerId}>{(target) => <SendForm key={target.networkType} {...target} relayerId={relayerId} />}</ByNetwork>
    </RelayerFrame>
  );
}

/** What a form needs to know of a relayer's network. */
export interface Target {
  readonly networkType: NetworkType;
  /** The name of the network. Empty: not known. */
  readonly network: string;
  readonly coin: Coin;
}

/** Finds out the network of a relayer. A key that may not read relayers says it instead. */
export function ByNetwork({
  relayerId,
  children,
}: {
  readonly relayerId: string;
  readonly children: (target: Target) => ComponentChildren;
}) {
  const relayer = relayerOf(relayerId);
  const [chosen, setChosen] = useState<NetworkType>(NetworkType.EVM);
  const [network, setNetwork] = useState('');
  if (relayer !== undefined) return <>{children({ networkType: relayer.networkType, network: relayer.network, coin: coinOf(relayer) })}</>;
  if (may(scopes.read)) return overview.value.isComplete ? null : <Loading what="the relayer" />;
  return (
    <>
      <div class="form-row narrow">
        <Select
          label="Network type"
          hint="This API key may not read relayers, so the page cannot know it."
          choices={networkTypes.map((type) => [String(type), kindOf(type).text] as const)}
          value={String(chosen)}
          onValue={(value) => setChosen(Number(value))}
        />
        {chosen === NetworkType.STELLAR && <TextInput label="Name of the network" value={network} onValue={setNetwork} />}
      </div>
      {children({ networkType: chosen, network, coin: coinOf({ network, networkType: chosen }) })}
    </>
  );
}

/** What was sent. */
interface Sent {
  readonly transaction: Transaction;
  readonly warnings: readonly string[];
  /** True: the service returned the stored response of an earlier call with the same key. */
  readonly isReplayed: boolean;
}

function SendForm({ relayerId, networkType, network, coin }: Target & { readonly relayerId: string }) {
  const { empty, Fields, build, paths } = formOf(networkType);
  const [draft, onDraft] = useDraft(() => empty(coin));
  // The key stays until a call has succeeded: a call whose response was lost may have been accepted, and must not be sent twice.
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey);
  const [asked, setAsked] = useState<SendContent | null>(null);
  const [own, setOwn] = useState<Readonly<Record<string, string>>>({});
  const [sent, setSent] = useState<Sent | null>(null);
  const send = useAction(async (content: SendContent) => {
    let isReplayed = false;
    const { transaction, metadata } = await transactions.sendTransaction(
      { relayerId, transaction: content, idempotencyKey },
      { ...once, onHeader: (header) => (isReplayed = header.get('idempotency-replayed') === 'true') },
    );
    if (transaction !== undefined) setSent({ transaction, warnings: metadata?.logs.map(({ message }) => message) ?? [], isReplayed });
    setIdempotencyKey(newIdempotencyKey());
  });
  const { at, rest } = fieldProblems(send.failure, { ...paths(draft), idempotencyKey: 'idempotency_key' });
  const read = (): SendContent | null => {
    send.clear();
    const built = build(draft, network);
    setOwn('problems' in built ? built.problems : {});
    return 'problems' in built ? null : built.content;
  };
  return (
    <Form class="card form narrow" onSubmit={() => setAsked(read())}>
      <Fields draft={draft} onDraft={onDraft} problems={{ ...at, ...own }} coin={coin} />
      <details>
        <summary>Idempotency key</summary>
        <TextInput
          label="Idempotency key"
          mono
          hint="The same call with the same key sends nothing twice. A new key is made after each success."
          value={idempotencyKey}
          problem={at.idempotencyKey}
          onValue={setIdempotencyKey}
        />
      </details>
      <FailureNote failure={rest} />
      {sent !== null && <SentNote sent={sent} relayerId={relayerId} />}
      <div class="actions">
        <Button type="submit" class="primary" disabled={send.isRunning} text={send.isRunning ? 'Sending…' : 'Review and send'} />
        <CopyAsButton
          request={() => {
            const content = read();
            return content === null ? null : create(SendTransactionRequestSchema, { relayerId, transaction: content, idempotencyKey });
          }}
        />
      </div>
      {asked !== null && (
        <ConfirmDialog
          title="Send this transaction?"
          action="Send"
          destructive={false}
          // The form shows what is wrong, at its fields.
          onConfirm={async () => {
            setSent(null);
            void send.run(asked);
          }}
          onClose={() => setAsked(null)}
        >
          <Summary content={asked} coin={coin} relayerId={relayerId} network={network} />
        </ConfirmDialog>
      )}
    </Form>
  );
}

function SentNote({ sent: { transaction, warnings, isReplayed }, relayerId }: { readonly sent: Sent; readonly relayerId: string }) {
  return (
    <div class="note good" role="status">
      <div class="note-body">
        <p>
          {isReplayed ? 'Nothing was sent again: this key belongs to ' : 'Accepted: '}
          {may(scopes.read) ? (
            <a href={locationTo(['relayers', relayerId, 'transactions', transaction.id])}>{transaction.id}</a>
          ) : (
            <code>{transaction.id}</code>
          )}{' '}
          <StatusBadge status={transaction.status} />
        </p>
        {transaction.statusReason !== undefined && <p class="quiet small">{transaction.statusReason}</p>}
        {warnings.map((warning) => (
          <p key={warning} class="warn-text">
            {warning}
          </p>
        ))}
      </div>
    </div>
  );
}
