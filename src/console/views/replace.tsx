import { create } from '@bufbuild/protobuf';
import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { NetworkType } from '../../../gen/relayer/v1/common_pb.js';
import { type EvmTransaction, EvmTransactionRequestSchema, Speed } from '../../../gen/relayer/v1/evm_pb.js';
import type { Transaction } from '../../../gen/relayer/v1/transaction_pb.js';
import { type ReplaceTransactionRequest, ReplaceTransactionRequestSchema } from '../../../gen/relayer/v1/transaction_service_pb.js';
import { fieldProblems } from '../model/field-problems.js';
import { amountInput } from '../model/form.js';
import { type Bid, statedMinimum } from '../model/replacement.js';
import { type Built, buildEvm, type EvmDraft, evmDraftOf, evmPaths, gwei } from '../model/send-content.js';
import { Button } from '../parts/button.js';
import { CopyAsButton } from '../parts/copy-as.js';
import { Dialog } from '../parts/dialog.js';
import { FailureNote, Loading, Note } from '../parts/failure-note.js';
import { Form } from '../parts/form.js';
import { type Action, useAction, useCall } from '../parts/use-call.js';
import { useDraft } from '../parts/use-draft.js';
import { newIdempotencyKey, once, relayers, transactions } from '../service/clients.js';
import { coinOf, relayerOf } from '../service/overview.js';
import { bidText, roughBidText } from '../text/prices.js';
import { EvmFields, formOf, unitOf } from './send-fields.js';

interface ReplaceProperties {
  readonly relayerId: string;
  readonly transaction: Transaction;
  /** The minimum that the service states. Null: it states none. */
  readonly minimum: Bid | null;
  readonly onDone: (record: Transaction | undefined) => void;
  readonly onClose: () => void;
}

/** An action that replaces, and the idempotency key that stays with a request for as long as its outcome is unknown. */
function useReplace(onDone: ReplaceProperties['onDone']): Action<[ReplaceTransactionRequest]> {
  const key = useRef<{ readonly request: string; readonly key: string } | null>(null);
  return useAction(async (request) => {
    // The same request again is a repetition of it; a changed one is another one.
    const text = JSON.stringify(request, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
    if (key.current?.request !== text) key.current = { request: text, key: newIdempotencyKey() };
    const { transaction } = await transactions.replaceTransaction({ ...request, idempotencyKey: key.current.key }, once);
    key.current = null;
    onDone(transaction);
  });
}

/** Prices of a replacement: exactly one of these. */
type Price = { readonly speed: Speed } | { readonly bid: Bid } | { readonly gasPrice: bigint };

/** Returns the request that keeps the content of the record and pays another price. */
function sameContent(relayerId: string, transaction: Transaction, content: EvmTransaction, price: Price): ReplaceTransactionRequest {
  return create(ReplaceTransactionRequestSchema, {
    relayerId,
    transactionId: transaction.id,
    expectedRevision: transaction.revision,
    transaction: {
      case: 'evm',
      value: create(EvmTransactionRequestSchema, {
        ...(content.to === undefined ? {} : { to: content.to }),
        value: content.value,
        ...(content.data === undefined ? {} : { data: content.data }),
        ...(content.gasLimit === undefined ? {} : { gasLimit: content.gasLimit }),
        ...priceFields(price),
      }),
    },
  });
}

function priceFields(price: Price) {
  if ('speed' in price) return { speed: price.speed };
  if ('gasPrice' in price) return { gasPrice: price.gasPrice.toString() };
  return { maxFeePerGas: price.bid.maxFee.toString(), maxPriorityFeePerGas: price.bid.priorityFee.toString() };
}

/** The price of the same kind as the newest attempt. */
function priceOf(bid: Bid, isLegacy: boolean): Price {
  return isLegacy ? { gasPrice: bid.maxFee > bid.priorityFee ? bid.maxFee : bid.priorityFee } : { bid };
}

/** Raises the bid of a transaction and keeps its content: to the minimum, or to a market price. */
export function SpeedUpDialog({ relayerId, transaction, minimum: known, onDone, onClose }: ReplaceProperties) {
  const [choice, setChoice] = useState<'minimum' | 'fast' | 'fastest'>('fast');
  const [stated, setStated] = useState<Bid | null>(null);
  const lane = useCall((signal) => relayers.getLane({ relayerId, limit: 1 }, { ...once, signal }), [relayerId]);
  const replace = useReplace(onDone);
  const name = useId();
  const content = transaction.network.case === 'evm' ? transaction.network.value : null;
  if (content === null || known === null) return null;
  const minimum = stated ?? known;
  const isLegacy = content.gasPrice !== undefined;
  const marketOf = (speed: Speed) => lane.data?.lane?.market.find((market) => market.speed === speed)?.price;
  const cap = lane.data?.lane?.gasPriceCap;
  const isAboveCap = cap !== undefined && minimum.maxFee > BigInt(cap);
  const request = sameContent(
    relayerId,
    transaction,
    content,
    choice === 'minimum' ? priceOf(minimum, isLegacy) : { speed: choice === 'fast' ? Speed.FAST : Speed.FASTEST },
  );
  const underpriced = replace.failure?.reason === 'REPLACEMENT_UNDERPRICED' ? replace.failure : undefined;
  const market = (speed: Speed) => {
    const price = marketOf(speed);
    if (price === undefined) return 'the service sets the price';
    if (cap !== undefined && BigInt(price) > BigInt(cap)) {
      return `about ${roughBidText(BigInt(price), true)} now, but the gas_price_cap limits it to ${roughBidText(BigInt(cap), true)}`;
    }
    return `about ${roughBidText(BigInt(price), true)} now, and at least the minimum`;
  };
  const choices = [
    { value: 'fast', title: 'Market price for fast', text: market(Speed.FAST) },
    { value: 'fastest', title: 'Market price for fastest', text: market(Speed.FASTEST) },
    {
      value: 'minimum',
      title: 'Minimum',
      text: `${bidText(minimum.maxFee, true)} max fee, ${bidText(minimum.priorityFee, true)} priority fee: just enough to outbid the earlier attempts`,
    },
  ] as const;
  return (
    <Dialog title="Speed up the transaction" onClose={onClose}>
      <Form
        class="dialog-form"
        onSubmit={async () => {
          if (await replace.run(request)) onClose();
        }}
      >
        <div class="dialog-body">
          <p>
            The service signs the same content with a higher bid, in the same slot. At most one attempt is mined, so nothing is paid twice.
          </p>
          <fieldset class="choices">
            <legend class="visually-hidden">Price</legend>
            {choices.map(({ value, title, text }) => (
              <label key={value} class="choice-card">
                <input type="radio" name={name} value={value} checked={choice === value} onChange={() => setChoice(value)} />
                <span>
                  <span class="strong">{title}</span>
                  <span class="quiet small">{text}</span>
                </span>
              </label>
            ))}
          </fieldset>
          {isAboveCap && (
            <Note tone="warn">
              Even the minimum is above the gas_price_cap of the relayer, {bidText(BigInt(cap), true)}. Raise the cap first, or cancel the
              transaction.
            </Note>
          )}
          <FailureNote failure={replace.failure} />
          {underpriced !== undefined && (
            <p>
              <Button
                onClick={() => {
                  setStated(statedMinimum(underpriced.metadata, minimum));
                  setChoice('minimum');
                  replace.clear();
                }}
                text="Use the service's minimum"
              />
            </p>
          )}
        </div>
        <Foot action="Speed up" isRunning={replace.isRunning} request={() => request} onClose={onClose} />
      </Form>
    </Dialog>
  );
}

/** Replaces the content of a transaction, with a form for its network. */
export function ReplaceDialog(properties: ReplaceProperties) {
  const { network } = properties.transaction;
  return (
    <Dialog title="Replace the transaction" wide onClose={properties.onClose}>
      {network.case === 'evm' ? (
        <EvmReplaceForm {...properties} content={network.value} />
      ) : (
        <OtherReplaceForm key={relayerOf(properties.relayerId)?.networkType} {...properties} />
      )}
    </Dialog>
  );
}

function kindOfPrice({ gasPrice }: EvmTransaction) {
  return gasPrice === undefined ? 'fees' : 'legacy';
}

function pricesOf({ maxFee, priorityFee }: Bid) {
  const maxFeePerGas = amountInput(maxFee, gwei);
  return { maxFeePerGas, maxPriorityFeePerGas: amountInput(priorityFee, gwei), gasPrice: maxFeePerGas };
}

function EvmReplaceForm({ content, ...properties }: ReplaceProperties & { readonly content: EvmTransaction }) {
  const { relayerId, transaction, minimum } = properties;
  const coin = coinOf(relayerOf(relayerId));
  const [draft, onDraft] = useDraft<EvmDraft>(() => ({
    ...evmDraftOf(content, unitOf(coin)),
    ...(minimum === null ? {} : { ...pricesOf(minimum), pricing: kindOfPrice(content) }),
  }));
  // The service changes the record too, such as by a fee bump; only another content makes these fields outdated.
  const opened = useRef({ revision: transaction.revision, content: contentKey(content) });
  const isOutdated = contentKey(content) !== opened.current.content;
  const least = (price: bigint) => `minimum ${bidText(price, true)}`;
  const hints = minimum && {
    maxFeePerGas: least(minimum.maxFee),
    gasPrice: least(minimum.maxFee),
    maxPriorityFeePerGas: least(minimum.priorityFee),
  };
  return (
    <ReplaceForm
      {...properties}
      revision={isOutdated ? opened.current.revision : transaction.revision}
      build={() => buildEvm(draft)}
      paths={evmPaths}
      onUnderpriced={(bid) => onDraft({ ...pricesOf(bid), pricing: kindOfPrice(content) })}
    >
      {(problems) => (
        <>
          <p class="quiet">The fields hold the present content. What you change replaces it; the transaction keeps its id and its nonce.</p>
          {isOutdated && <Note tone="warn">The content has changed since this form was opened. Close it, and open it again.</Note>}
          <EvmFields
            coin={coin}
            draft={draft}
            problems={problems}
            onDraft={onDraft}
            replacement={{
              prices: { ...(content.gasPrice === undefined ? { fees: 'Fees' } : { legacy: 'Gas price' }), speed: 'Market price by speed' },
              hints: { ...hints, speed: 'The service bids the market price, and at least the minimum.' },
            }}
          />
        </>
      )}
    </ReplaceForm>
  );
}

function contentKey({ to, value, data }: EvmTransaction): string {
  return `${to} ${value} ${data}`;
}

/** The form of a replacement: its fields, and what reads them. */
function ReplaceForm({
  relayerId,
  transaction: { id },
  minimum,
  revision,
  build,
  paths,
  onUnderpriced,
  onDone,
  onClose,
  children,
}: ReplaceProperties & {
  readonly revision: bigint;
  readonly build: () => Built;
  readonly paths: Readonly<Record<string, string>>;
  /** Puts the minimum that the service states into the form. */
  readonly onUnderpriced?: (minimum: Bid) => void;
  readonly children: (problems: Readonly<Record<string, string>>) => ComponentChildren;
}) {
  const [own, setOwn] = useState<Readonly<Record<string, string>>>({});
  const replace = useReplace(onDone);
  const { at, rest } = fieldProblems(replace.failure, paths);
  const underpriced = replace.failure?.reason === 'REPLACEMENT_UNDERPRICED' ? replace.failure : undefined;
  const read = (): ReplaceTransactionRequest | null => {
    const built = build();
    setOwn('problems' in built ? built.problems : {});
    if ('problems' in built) return null;
    const values = { relayerId, transactionId: id, expectedRevision: revision, transaction: built.content };
    return create(ReplaceTransactionRequestSchema, values);
  };
  const submit = async () => {
    const request = read();
    if (request !== null && (await replace.run(request))) onClose();
  };
  return (
    <Form class="dialog-form" onSubmit={submit}>
      <div class="dialog-body">
        {children({ ...at, ...own })}
        <FailureNote failure={rest} />
        {underpriced !== undefined && onUnderpriced !== undefined && (
          <p>
            <Button
              onClick={() => {
                onUnderpriced(statedMinimum(underpriced.metadata, minimum ?? { maxFee: 0n, priorityFee: 0n }));
                replace.clear();
              }}
              text="Use the service's minimum"
            />
          </p>
        )}
      </div>
      <Foot action="Replace" isRunning={replace.isRunning} request={read} onClose={onClose} />
    </Form>
  );
}

/** The buttons of a dialog that replaces. */
function Foot({
  action,
  isRunning,
  request,
  onClose,
}: {
  readonly action: string;
  readonly isRunning: boolean;
  readonly request: () => ReplaceTransactionRequest | null;
  readonly onClose: () => void;
}) {
  return (
    <footer class="dialog-foot">
      <CopyAsButton request={request} />
      <span class="grow" />
      <Button onClick={onClose} text="Close" />
      <Button type="submit" class="primary" disabled={isRunning} text={isRunning ? 'Working…' : action} />
    </footer>
  );
}

/** On networks other than EVM: the form that sends. */
function OtherReplaceForm(properties: ReplaceProperties) {
  const { relayerId, transaction } = properties;
  const relayer = relayerOf(relayerId);
  const coin = coinOf(relayer);
  const { replacing, Fields, build, paths } = formOf(relayer?.networkType ?? NetworkType.UNSPECIFIED);
  const [draft, onDraft] = useDraft(() => replacing(transaction, coin));
  if (relayer === undefined) return <Loading what="the relayer" />;
  return (
    <ReplaceForm {...properties} revision={transaction.revision} build={() => build(draft, relayer.network)} paths={paths(draft)}>
      {(problems) => <Fields draft={draft} problems={problems} onDraft={onDraft} coin={coin} />}
    </ReplaceForm>
  );
}
