import type { ComponentChildren, FunctionComponent } from 'preact';
import type { NetworkType } from '../../../gen/relayer/v1/common_pb.js';
import { EvmTransactionRequestSchema, Speed } from '../../../gen/relayer/v1/evm_pb.js';
import { SolanaTransactionRequestSchema } from '../../../gen/relayer/v1/solana_pb.js';
import { MemoSpecSchema, PaymentOperationSchema, StellarTransactionRequestSchema } from '../../../gen/relayer/v1/stellar_pb.js';
import type { Transaction } from '../../../gen/relayer/v1/transaction_pb.js';
import { type FormState, inputOf, problemsOf } from '../model/form.js';
import { kindOf } from '../model/networks.js';
import {
  type Built,
  buildEvm,
  buildSolana,
  buildStellar,
  type EvmDraft,
  emptyEvm,
  emptyPayment,
  emptySolana,
  emptyStellar,
  evmDraftOf,
  evmPaths,
  gwei,
  type PaymentDraft,
  type SolanaDraft,
  type StellarDraft,
  solanaPaths,
  stellarPaths,
} from '../model/send-content.js';
import { AmountField } from '../parts/amount-field.js';
import { Button } from '../parts/button.js';
import { Check, Segments, Select, TextArea, TextInput, TimeInput } from '../parts/inputs.js';
import type { Coin } from '../service/overview.js';
import { type Unit, unitsOf } from '../text/amounts.js';
import { decodeCall } from '../text/decode.js';
import { Call, speedTexts } from './content.js';

/** The units of a price per gas. */
const gasUnits: readonly Unit[] = [{ name: 'wei', decimals: 0 }, gwei];

const evmFields = EvmTransactionRequestSchema.field;
const stellarFields = StellarTransactionRequestSchema.field;
const solanaFields = SolanaTransactionRequestSchema.field;

/** The form of a transaction, and the coin of its network. */
interface FieldsProperties<Draft> extends FormState<Draft> {
  readonly coin: Coin;
}

/** The ways to pay for an EVM transaction, with their names. */
type Prices = Readonly<Partial<Record<EvmDraft['pricing'], string>>>;

/**
 * The fields of an EVM transaction.
 * @param replacement the ways to pay for a replacement, and help for its prices; it keeps its time limit. Absent: the transaction is new
 */
export function EvmFields({
  coin,
  replacement,
  ...form
}: FieldsProperties<EvmDraft> & {
  readonly replacement?: {
    readonly prices: Prices;
    readonly hints: Readonly<Partial<Record<'maxFeePerGas' | 'maxPriorityFeePerGas' | 'gasPrice' | 'speed', string>>>;
  };
}) {
  const { draft, onDraft } = form;
  const call = decodeCall(draft.data.trim());
  const price = (name: 'maxFeePerGas' | 'maxPriorityFeePerGas' | 'gasPrice', label?: string) => {
    const input = inputOf<EvmDraft[typeof name]>(form, evmFields[name], label);
    return <AmountField {...input} units={gasUnits} hint={replacement?.hints[name] ?? input.hint} />;
  };
  const speed = inputOf<Speed>(form, evmFields.speed);
  return (
    <>
      <TextInput {...inputOf(form, evmFields.to)} mono placeholder="0x" />
      <AmountField {...inputOf<EvmDraft['value']>(form, evmFields.value)} units={unitsOf(coin.symbol, coin.decimals)} />
      <TextArea {...inputOf(form, evmFields.data)} rows={3} placeholder="0x" />
      {call !== null && <Call call={call} />}
      <div class="group">
        <Segments
          label="Price"
          choices={replacement?.prices ?? { speed: 'Market', fees: 'Own fees', legacy: 'Legacy' }}
          value={draft.pricing}
          onValue={(pricing) => onDraft({ pricing })}
        />
        <div class="form-row">
          {draft.pricing === 'speed' && (
            <Select
              {...speed}
              hint={replacement?.hints.speed ?? speed.hint}
              choices={[Speed.FASTEST, Speed.FAST, Speed.AVERAGE, Speed.SAFE_LOW].map((one) => [String(one), speedTexts[one]] as const)}
              value={String(speed.value)}
              onValue={(value) => speed.onValue(Number(value))}
            />
          )}
          {draft.pricing === 'fees' && price('maxFeePerGas', 'Max fee per gas')}
          {draft.pricing === 'fees' && price('maxPriorityFeePerGas', 'Priority fee per gas')}
          {draft.pricing === 'legacy' && price('gasPrice')}
          <TextInput {...inputOf(form, evmFields.gasLimit)} inputMode="numeric" />
        </div>
      </div>
      {replacement === undefined && <TimeInput {...inputOf(form, evmFields.validUntil)} />}
    </>
  );
}

/** The fields of a Stellar transaction. */
function StellarFields({ coin, ...form }: FieldsProperties<StellarDraft>) {
  const { draft, onDraft, problems } = form;
  return (
    <>
      <div>
        <Segments
          label="Content"
          choices={{ payments: 'Payments', xdr: 'Transaction XDR' }}
          value={draft.kind}
          onValue={(kind) => onDraft({ kind })}
        />
      </div>
      {draft.kind === 'payments' ? (
        <Payments {...form} />
      ) : (
        <>
          <TextArea {...inputOf(form, stellarFields.transactionXdr, 'Transaction envelope')} rows={6} />
          <Check
            label="Fee bump: wrap the signed envelope, and let the relayer pay"
            checked={draft.feeBump}
            onChecked={(feeBump) => onDraft({ feeBump })}
          />
          <Problem>{problems.feeBump}</Problem>
        </>
      )}
      <div class="form-row">
        <AmountField
          {...inputOf<StellarDraft['maxFee']>(form, stellarFields.maxFee, 'Max fee')}
          units={unitsOf(coin.symbol, coin.decimals)}
          optional
        />
        <TimeInput {...inputOf(form, stellarFields.validUntil)} />
      </div>
    </>
  );
}

function Problem({ children }: { readonly children: ComponentChildren }) {
  return children === undefined ? null : <p class="problem">{children}</p>;
}

function Payments(form: FormState<StellarDraft>) {
  const { draft, onDraft, problems } = form;
  const { payments, memoKind } = draft;
  return (
    <>
      {payments.map((payment, index) => (
        <PaymentFields
          key={index}
          number={index + 1}
          draft={payment}
          problems={problemsOf(`payments.${index}.`, problems)}
          onDraft={(change) => onDraft({ payments: payments.map((one, at) => (at === index ? { ...one, ...change } : one)) })}
          onRemove={payments.length === 1 ? null : () => onDraft({ payments: payments.filter((_, at) => at !== index) })}
        />
      ))}
      <Problem>{problems.operations}</Problem>
      <div class="actions">
        <Button onClick={() => onDraft({ payments: [...payments, emptyPayment] })} text="Add a payment" />
      </div>
      <div class="form-row">
        <Select
          label="Memo"
          choices={[
            ['none', 'none'],
            ['text', 'text'],
            ['id', 'id'],
            ['hash', 'hash'],
            ['returnHash', 'return hash'],
          ]}
          value={memoKind}
          onValue={(kind) => onDraft({ memoKind: kind as StellarDraft['memoKind'] })}
        />
        {memoKind !== 'none' && (
          <TextInput
            {...inputOf(form, MemoSpecSchema.field[memoKind], 'Content of the memo')}
            value={draft.memo}
            problem={problems.memo}
            onValue={(memo) => onDraft({ memo })}
          />
        )}
      </div>
    </>
  );
}

function PaymentFields({
  number,
  onRemove,
  ...form
}: FormState<PaymentDraft> & { readonly number: number; readonly onRemove: (() => void) | null }) {
  const { destination, amount } = PaymentOperationSchema.field;
  const { draft, problems, onDraft } = form;
  return (
    <fieldset class="sub">
      <legend>Payment {number}</legend>
      <TextInput {...inputOf(form, destination)} mono />
      <div class="form-row">
        <TextInput {...inputOf(form, amount, draft.isNative ? 'Amount in XLM' : 'Amount')} inputMode="decimal" />
        <Select
          label="Asset"
          choices={[
            ['native', 'XLM'],
            ['credit', 'an issued asset'],
          ]}
          value={draft.isNative ? 'native' : 'credit'}
          onValue={(asset) => onDraft({ isNative: asset === 'native' })}
        />
      </div>
      {!draft.isNative && (
        <div class="form-row">
          <TextInput label="Asset code" value={draft.code} problem={problems.code} onValue={(code) => onDraft({ code })} />
          <TextInput
            label="Issuer"
            mono
            placeholder="G…"
            value={draft.issuer}
            problem={problems.issuer}
            onValue={(issuer) => onDraft({ issuer })}
          />
        </div>
      )}
      {onRemove !== null && (
        <div class="actions">
          <Button class="danger-quiet" onClick={onRemove} text={`Remove payment ${number}`} />
        </div>
      )}
    </fieldset>
  );
}

/** The fields of a Solana transaction. */
function SolanaFields(form: FormState<SolanaDraft>) {
  const { draft, onDraft } = form;
  const instructions = inputOf(form, solanaFields.instructions);
  return (
    <>
      <div>
        <Segments
          label="Content"
          choices={{ transaction: 'Transaction', instructions: 'Instructions' }}
          value={draft.kind}
          onValue={(kind) => onDraft({ kind })}
        />
      </div>
      {draft.kind === 'transaction' ? (
        <TextArea {...inputOf(form, solanaFields.transaction)} rows={6} />
      ) : (
        <TextArea
          {...instructions}
          rows={12}
          hint={
            <>
              {instructions.hint} A JSON array, as in the API: <code>program_id</code>, <code>accounts</code> with <code>pubkey</code>,{' '}
              <code>is_signer</code> and <code>is_writable</code>, and <code>data</code> in base64.
            </>
          }
        />
      )}
      <TimeInput {...inputOf(form, solanaFields.validUntil)} />
    </>
  );
}

/** The form of a transaction on a network. */
interface NetworkForm<Draft extends object> {
  /** A new transaction. */
  readonly empty: (coin: Coin) => Draft;
  /** The same content as a record, as far as the record has it. */
  readonly replacing: (transaction: Transaction, coin: Coin) => Draft;
  readonly Fields: FunctionComponent<FieldsProperties<Draft>>;
  /** Reads the form. */
  readonly build: (draft: Draft, network: string) => Built;
  readonly paths: (draft: Draft) => Readonly<Record<string, string>>;
}

/** The unit in which amounts of a coin are entered. */
export function unitOf({ symbol, decimals }: Coin): Unit {
  return { name: symbol, decimals };
}

const evmForm: NetworkForm<EvmDraft> = {
  empty: (coin) => emptyEvm(unitOf(coin)),
  replacing: ({ network }, coin) => (network.case === 'evm' ? evmDraftOf(network.value, unitOf(coin)) : emptyEvm(unitOf(coin))),
  Fields: EvmFields,
  build: buildEvm,
  paths: () => evmPaths,
};

const stellarForm: NetworkForm<StellarDraft> = {
  empty: (coin) => emptyStellar(unitOf(coin)),
  // The record does not contain the content.
  replacing: (_, coin) => ({ ...emptyStellar(unitOf(coin)), kind: 'xdr' }),
  Fields: StellarFields,
  build: buildStellar,
  paths: stellarPaths,
};

const solanaForm: NetworkForm<SolanaDraft> = {
  empty: () => emptySolana,
  replacing: ({ network }) => ({ ...emptySolana, transaction: (network.case === 'solana' && network.value.transaction) || '' }),
  Fields: SolanaFields,
  build: buildSolana,
  paths: () => solanaPaths,
};

const forms = { evm: evmForm, stellar: stellarForm, solana: solanaForm } as const;

/** Returns the form of a type of network. Its draft is only for its own functions. */
export function formOf(networkType: NetworkType): NetworkForm<object> {
  return forms[kindOf(networkType).name] as unknown as NetworkForm<object>;
}
