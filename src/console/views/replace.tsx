import { create } from '@bufbuild/protobuf';
import { useId, useRef, useState } from 'preact/hooks';
import { type EvmTransaction, EvmTransactionRequestSchema, Speed } from '../../../gen/relayer/v1/evm_pb.js';
import { SolanaTransactionRequestSchema } from '../../../gen/relayer/v1/solana_pb.js';
import { StellarTransactionRequestSchema } from '../../../gen/relayer/v1/stellar_pb.js';
import type { Transaction } from '../../../gen/relayer/v1/transaction_pb.js';
import { type ReplaceTransactionRequest, ReplaceTransactionRequestSchema } from '../../../gen/relayer/v1/transaction_service_pb.js';
import { fieldProblems } from '../model/field-problems.js';
import { type Bid, statedMinimum } from '../model/replacement.js';
import { AmountField, type AmountInput, amountInput } from '../parts/amount-field.js';
import { CopyAsButton } from '../parts/copy-as.js';
import { Dialog } from '../parts/dialog.js';
import { FailureNote, Loading, Note } from '../parts/failure-note.js';
import { Form } from '../parts/form.js';
import { Segments, Select, TextArea, TextInput } from '../parts/inputs.js';
import { type Action, useAction, useCall } from '../parts/use-call.js';
import { newIdempotencyKey, once, relayers, transactions } from '../service/clients.js';
import { coinOf, relayerOf } from '../service/overview.js';
import { parseUnits, type Unit, unitsOf } from '../text/amounts.js';
import { decodeCall } from '../text/decode.js';
import { helpOf } from '../text/help.js';
import { bidText, roughBidText } from '../text/prices.js';
import { Call, speedTexts } from './content.js';

/** The units of a price per gas. */
const gasUnits: readonly Unit[] = [
  { name: 'wei', decimals: 0 },
  { name: 'gwei', decimals: 9 },
];
const gwei: Unit = { name: 'gwei', decimals: 9 };

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
              <button
                type="button"
                onClick={() => {
                  setStated(statedMinimum(underpriced.metadata, minimum));
                  setChoice('minimum');
                  replace.clear();
                }}
              >
                Use the service's minimum
              </button>
            </p>
          )}
        </div>
        <footer class="dialog-foot">
          <CopyAsButton request={() => request} />
          <span class="grow" />
          <button type="button" onClick={onClose}>
            Close
          </button>
          <button type="submit" class="primary" disabled={replace.isRunning}>
            {replace.isRunning ? 'Working…' : 'Speed up'}
          </button>
        </footer>
      </Form>
    </Dialog>
  );
}

/** Replaces the content of a transaction, with a form for its network. */
export function ReplaceDialog(properties: ReplaceProperties) {
  return (
    <Dialog title="Replace the transaction" wide onClose={properties.onClose}>
      {properties.transaction.network.case === 'evm' ? (
        <EvmReplaceForm {...properties} content={properties.transaction.network.value} />
      ) : (
        <WireReplaceForm {...properties} />
      )}
    </Dialog>
  );
}

function EvmReplaceForm({
  relayerId,
  transaction,
  minimum,
  content,
  onDone,
  onClose,
}: ReplaceProperties & { readonly content: EvmTransaction }) {
  const coin = coinOf(relayerOf(relayerId));
  const coinUnits = unitsOf(coin.symbol, coin.decimals);
  const coinUnit = coinUnits.at(-1) ?? gwei;
  const isLegacy = content.gasPrice !== undefined;
  const [to, setTo] = useState(content.to ?? '');
  const [value, setValue] = useState<AmountInput>(amountInput(BigInt(content.value), coinUnit));
  const [data, setData] = useState(content.data ?? '');
  const [gasLimit, setGasLimit] = useState(content.gasLimit?.toString() ?? '');
  const [pricing, setPricing] = useState<'fees' | 'speed'>(minimum === null ? 'speed' : 'fees');
  const [speed, setSpeed] = useState(String(content.speed ?? Speed.FAST));
  const [maxFee, setMaxFee] = useState<AmountInput>(amountInput(minimum?.maxFee ?? 0n, gwei));
  const [priorityFee, setPriorityFee] = useState<AmountInput>(amountInput(minimum?.priorityFee ?? 0n, gwei));
  const [problem, setProblem] = useState<string | null>(null);
  const replace = useReplace(onDone);
  const call = decodeCall(data);
  // The service changes the record too, such as by a fee bump; only another content makes these fields outdated.
  const opened = useRef({ revision: transaction.revision, content: contentKey(content) });
  const isOutdated = contentKey(content) !== opened.current.content;
  const problems = fieldProblems(replace.failure, {
    to: 'evm.to',
    value: 'evm.value',
    data: 'evm.data',
    gasLimit: 'evm.gas_limit',
    maxFee: isLegacy ? 'evm.gas_price' : 'evm.max_fee_per_gas',
    priorityFee: 'evm.max_priority_fee_per_gas',
  });
  const underpriced = replace.failure?.reason === 'REPLACEMENT_UNDERPRICED' ? replace.failure : undefined;

  /** Returns the request that the fields say, or what is wrong with them. */
  const read = (): ReplaceTransactionRequest | string => {
    const amount = parseUnits(value.text, value.unit);
    if ('problem' in amount) return `value: ${amount.problem}`;
    if (gasLimit.trim() !== '' && !/^\d{1,19}$/.test(gasLimit.trim())) return 'gas limit: write digits only';
    let price: Price = { speed: Number(speed) };
    if (pricing === 'fees') {
      const fee = parseUnits(maxFee.text, maxFee.unit);
      if ('problem' in fee) return `${isLegacy ? 'gas price' : 'max fee'}: ${fee.problem}`;
      const priority = parseUnits(priorityFee.text, priorityFee.unit);
      if (!isLegacy && 'problem' in priority) return `priority fee: ${priority.problem}`;
      price = isLegacy || 'problem' in priority ? { gasPrice: fee.amount } : { bid: { maxFee: fee.amount, priorityFee: priority.amount } };
    }
    return create(ReplaceTransactionRequestSchema, {
      relayerId,
      transactionId: transaction.id,
      expectedRevision: isOutdated ? opened.current.revision : transaction.revision,
      transaction: {
        case: 'evm',
        value: create(EvmTransactionRequestSchema, {
          ...(to.trim() === '' ? {} : { to: to.trim() }),
          value: amount.amount.toString(),
          ...(data.trim() === '' ? {} : { data: data.trim() }),
          ...(gasLimit.trim() === '' ? {} : { gasLimit: BigInt(gasLimit.trim()) }),
          ...priceFields(price),
        }),
      },
    });
  };
  const submit = async () => {
    const request = read();
    setProblem(typeof request === 'string' ? request : null);
    if (typeof request !== 'string' && (await replace.run(request))) onClose();
  };
  return (
    <Form class="dialog-form" onSubmit={submit}>
      <div class="dialog-body">
        <p class="quiet">The fields hold the present content. What you change replaces it; the transaction keeps its id and its nonce.</p>
        {isOutdated && <Note tone="warn">The content has changed since this form was opened. Close it, and open it again.</Note>}
        <TextInput
          label="To"
          value={to}
          onValue={setTo}
          mono
          problem={problems.at.to}
          hint={helpOf(EvmTransactionRequestSchema.field.to)}
        />
        <div class="form-row">
          <AmountField label="Value" units={coinUnits} value={value} onChange={setValue} problem={problems.at.value} />
          <TextInput
            label="Gas limit"
            value={gasLimit}
            onValue={setGasLimit}
            inputMode="numeric"
            problem={problems.at.gasLimit}
            hint={helpOf(EvmTransactionRequestSchema.field.gasLimit)}
          />
        </div>
        <TextArea
          label="Data"
          value={data}
          onValue={setData}
          problem={problems.at.data}
          hint={helpOf(EvmTransactionRequestSchema.field.data)}
        />
        {call !== null && <Call call={call} />}
        <Segments
          label="Price"
          choices={[
            ['fees', isLegacy ? 'Gas price' : 'Fees'],
            ['speed', 'Market price by speed'],
          ]}
          value={pricing}
          onValue={setPricing}
        />
        {pricing === 'speed' ? (
          <Select
            label="Speed"
            value={speed}
            onValue={setSpeed}
            choices={[Speed.FASTEST, Speed.FAST, Speed.AVERAGE, Speed.SAFE_LOW].map((one) => [String(one), speedTexts[one]] as const)}
            hint="The service bids the market price, and at least the minimum."
          />
        ) : (
          <div class="form-row">
            <AmountField
              label={isLegacy ? 'Gas price' : 'Max fee per gas'}
              units={gasUnits}
              value={maxFee}
              onChange={setMaxFee}
              problem={problems.at.maxFee}
              {...(minimum === null ? {} : { hint: `minimum ${bidText(minimum.maxFee, true)}` })}
            />
            {!isLegacy && (
              <AmountField
                label="Priority fee per gas"
                units={gasUnits}
                value={priorityFee}
                onChange={setPriorityFee}
                problem={problems.at.priorityFee}
                {...(minimum === null ? {} : { hint: `minimum ${bidText(minimum.priorityFee, true)}` })}
              />
            )}
          </div>
        )}
        {problem !== null && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <FailureNote failure={problems.rest} />
        {underpriced !== undefined && (
          <p>
            <button
              type="button"
              onClick={() => {
                const bid = statedMinimum(underpriced.metadata, minimum ?? { maxFee: 0n, priorityFee: 0n });
                setPricing('fees');
                setMaxFee(amountInput(bid.maxFee, gwei));
                setPriorityFee(amountInput(bid.priorityFee, gwei));
                replace.clear();
              }}
            >
              Use the service's minimum
            </button>
          </p>
        )}
      </div>
      <Foot replace={replace} read={read} onProblem={setProblem} onClose={onClose} />
    </Form>
  );
}

function contentKey({ to, value, data }: EvmTransaction): string {
  return `${to} ${value} ${data}`;
}

function Foot({
  replace,
  read,
  onProblem,
  onClose,
}: {
  readonly replace: Action<[ReplaceTransactionRequest]>;
  readonly read: () => ReplaceTransactionRequest | string;
  readonly onProblem: (problem: string) => void;
  readonly onClose: () => void;
}) {
  return (
    <footer class="dialog-foot">
      <CopyAsButton
        request={() => {
          const request = read();
          if (typeof request !== 'string') return request;
          onProblem(request);
          return null;
        }}
      />
      <span class="grow" />
      <button type="button" onClick={onClose}>
        Close
      </button>
      <button type="submit" class="primary" disabled={replace.isRunning}>
        {replace.isRunning ? 'Working…' : 'Replace'}
      </button>
    </footer>
  );
}

/**
 * On Stellar and Solana: the new content as an envelope or a transaction in wire form. The record of Stellar does not contain the content.
 */
function WireReplaceForm({ relayerId, transaction, onDone, onClose }: ReplaceProperties) {
  const { network } = transaction;
  const isStellar = network.case === 'stellar';
  const relayer = relayerOf(relayerId);
  const [text, setText] = useState(network.case === 'solana' ? (network.value.transaction ?? '') : '');
  const [maxFee, setMaxFee] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const replace = useReplace(onDone);
  const read = (): ReplaceTransactionRequest | string => {
    const wire = text.trim();
    if (wire === '') return isStellar ? 'enter the envelope' : 'enter the transaction';
    if (maxFee.trim() !== '' && !/^\d{1,18}$/.test(maxFee.trim())) return 'maximum fee: write digits only';
    return create(ReplaceTransactionRequestSchema, {
      relayerId,
      transactionId: transaction.id,
      expectedRevision: transaction.revision,
      transaction: isStellar
        ? {
            case: 'stellar',
            value: {
              network: relayer?.network ?? '',
              transactionXdr: wire,
              ...(maxFee.trim() === '' ? {} : { maxFee: BigInt(maxFee.trim()) }),
            },
          }
        : { case: 'solana', value: { transaction: wire } },
    });
  };
  if (relayer === undefined) return <Loading what="the relayer" />;
  return (
    <Form
      class="dialog-form"
      onSubmit={async () => {
        const request = read();
        setProblem(typeof request === 'string' ? request : null);
        if (typeof request !== 'string' && (await replace.run(request))) onClose();
      }}
    >
      <div class="dialog-body">
        <TextArea
          label={isStellar ? 'Transaction envelope' : 'Transaction'}
          rows={6}
          value={text}
          onValue={setText}
          hint={helpOf(isStellar ? StellarTransactionRequestSchema.field.transactionXdr : SolanaTransactionRequestSchema.field.transaction)}
        />
        {isStellar && (
          <TextInput
            label="Maximum fee in stroops"
            value={maxFee}
            onValue={setMaxFee}
            inputMode="numeric"
            hint={helpOf(StellarTransactionRequestSchema.field.maxFee)}
          />
        )}
        {problem !== null && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <FailureNote failure={replace.failure} />
      </div>
      <Foot replace={replace} read={read} onProblem={setProblem} onClose={onClose} />
    </Form>
  );
}
