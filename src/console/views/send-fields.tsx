import { EvmTransactionRequestSchema, Speed } from '../../../gen/relayer/v1/evm_pb.js';
import { SolanaTransactionRequestSchema } from '../../../gen/relayer/v1/solana_pb.js';
import { MemoSpecSchema, PaymentOperationSchema, StellarTransactionRequestSchema } from '../../../gen/relayer/v1/stellar_pb.js';
import { type EvmDraft, emptyPayment, type PaymentDraft, type SolanaDraft, type StellarDraft } from '../model/send-content.js';
import { AmountField } from '../parts/amount-field.js';
import { Check, Segments, Select, TextArea, TextInput, TimeInput } from '../parts/inputs.js';
import type { Coin } from '../service/overview.js';
import { type Unit, unitsOf } from '../text/amounts.js';
import { decodeCall } from '../text/decode.js';
import { helpOf } from '../text/help.js';
import { Call, speedTexts } from './content.js';

/** The units of a price per gas. */
export const gasUnits: readonly Unit[] = [
  { name: 'wei', decimals: 0 },
  { name: 'gwei', decimals: 9 },
];

const evmFields = EvmTransactionRequestSchema.field;
const stellarFields = StellarTransactionRequestSchema.field;
const solanaFields = SolanaTransactionRequestSchema.field;

/** A form's values and the problems of its fields. */
interface FieldsProperties<Draft> {
  readonly draft: Draft;
  readonly onDraft: (change: Partial<Draft>) => void;
  readonly problems: Readonly<Record<string, string>>;
  readonly coin: Coin;
}

/** The fields of an EVM transaction. */
export function EvmFields({ draft, onDraft, problems, coin }: FieldsProperties<EvmDraft>) {
  const call = decodeCall(draft.data.trim());
  return (
    <>
      <TextInput
        label="To"
        mono
        placeholder="0x"
        hint={helpOf(evmFields.to)}
        value={draft.to}
        problem={problems.to}
        onValue={(to) => onDraft({ to })}
      />
      <AmountField
        label="Value"
        units={unitsOf(coin.symbol, coin.decimals)}
        value={draft.value}
        problem={problems.value}
        onChange={(value) => onDraft({ value })}
      />
      <TextArea
        label="Data"
        rows={3}
        placeholder="0x"
        hint={helpOf(evmFields.data)}
        value={draft.data}
        problem={problems.data}
        onValue={(data) => onDraft({ data })}
      />
      {call !== null && <Call call={call} />}
      <div class="group">
        <Segments
          label="Price"
          choices={[
            ['speed', 'Market'],
            ['fees', 'Own fees'],
            ['legacy', 'Legacy'],
          ]}
          value={draft.pricing}
          onValue={(pricing) => onDraft({ pricing })}
        />
        <div class="form-row">
          {draft.pricing === 'speed' && (
            <Select
              label="Speed"
              hint={helpOf(evmFields.speed)}
              choices={[Speed.FASTEST, Speed.FAST, Speed.AVERAGE, Speed.SAFE_LOW].map(
                (speed) => [String(speed), speedTexts[speed]] as const,
              )}
              value={String(draft.speed)}
              problem={problems.speed}
              onValue={(speed) => onDraft({ speed: Number(speed) })}
            />
          )}
          {draft.pricing === 'fees' && (
            <>
              <AmountField
                label="Max fee per gas"
                hint={helpOf(evmFields.maxFeePerGas)}
                units={gasUnits}
                value={draft.maxFee}
                problem={problems.maxFee}
                onChange={(maxFee) => onDraft({ maxFee })}
              />
              <AmountField
                label="Priority fee per gas"
                hint={helpOf(evmFields.maxPriorityFeePerGas)}
                units={gasUnits}
                value={draft.priorityFee}
                problem={problems.priorityFee}
                onChange={(priorityFee) => onDraft({ priorityFee })}
              />
            </>
          )}
          {draft.pricing === 'legacy' && (
            <AmountField
              label="Gas price"
              hint={helpOf(evmFields.gasPrice)}
              units={gasUnits}
              value={draft.gasPrice}
              problem={problems.gasPrice}
              onChange={(gasPrice) => onDraft({ gasPrice })}
            />
          )}
          <TextInput
            label="Gas limit"
            inputMode="numeric"
            hint={helpOf(evmFields.gasLimit)}
            value={draft.gasLimit}
            problem={problems.gasLimit}
            onValue={(gasLimit) => onDraft({ gasLimit })}
          />
        </div>
      </div>
      <TimeInput
        label="Valid until"
        hint={helpOf(evmFields.validUntil)}
        value={draft.validUntil}
        problem={problems.validUntil}
        onValue={(validUntil) => onDraft({ validUntil })}
      />
    </>
  );
}

/** The fields of a Stellar transaction. */
export function StellarFields({ draft, onDraft, problems, coin }: FieldsProperties<StellarDraft>) {
  const changePayment = (index: number, change: Partial<PaymentDraft>) =>
    onDraft({ payments: draft.payments.map((payment, at) => (at === index ? { ...payment, ...change } : payment)) });
  return (
    <>
      <div>
        <Segments
          label="Content"
          choices={[
            ['payments', 'Payments'],
            ['xdr', 'Transaction XDR'],
          ]}
          value={draft.kind}
          onValue={(kind) => onDraft({ kind })}
        />
      </div>
      {draft.kind === 'payments' ? (
        <>
          {draft.payments.map((payment, index) => (
            <PaymentFields
              key={index}
              payment={payment}
              index={index}
              isOnly={draft.payments.length === 1}
              problems={problems}
              onPayment={(change) => changePayment(index, change)}
              onRemove={() => onDraft({ payments: draft.payments.filter((_, at) => at !== index) })}
            />
          ))}
          {problems.operations !== undefined && <p class="problem">{problems.operations}</p>}
          <div class="actions">
            <button type="button" onClick={() => onDraft({ payments: [...draft.payments, emptyPayment] })}>
              Add a payment
            </button>
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
              value={draft.memoKind}
              onValue={(memoKind) => onDraft({ memoKind: memoKind as StellarDraft['memoKind'] })}
            />
            {draft.memoKind !== 'none' && (
              <TextInput
                label="Content of the memo"
                hint={helpOf(MemoSpecSchema.field[draft.memoKind])}
                value={draft.memo}
                problem={problems.memo}
                onValue={(memo) => onDraft({ memo })}
              />
            )}
          </div>
        </>
      ) : (
        <>
          <TextArea
            label="Transaction envelope"
            rows={6}
            hint={helpOf(stellarFields.transactionXdr)}
            value={draft.transactionXdr}
            problem={problems.transactionXdr}
            onValue={(transactionXdr) => onDraft({ transactionXdr })}
          />
          <Check
            label="Fee bump: wrap the signed envelope, and let the relayer pay"
            checked={draft.feeBump}
            onChecked={(feeBump) => onDraft({ feeBump })}
          />
          {problems.feeBump !== undefined && <p class="problem">{problems.feeBump}</p>}
        </>
      )}
      <div class="form-row">
        <AmountField
          label="Max fee"
          units={unitsOf(coin.symbol, coin.decimals)}
          value={draft.maxFee}
          hint={helpOf(stellarFields.maxFee)}
          optional
          problem={problems.maxFee}
          onChange={(maxFee) => onDraft({ maxFee })}
        />
        <TimeInput
          label="Valid until"
          hint={helpOf(stellarFields.validUntil)}
          value={draft.validUntil}
          problem={problems.validUntil}
          onValue={(validUntil) => onDraft({ validUntil })}
        />
      </div>
    </>
  );
}

function PaymentFields({
  payment,
  index,
  isOnly,
  problems,
  onPayment,
  onRemove,
}: {
  readonly payment: PaymentDraft;
  readonly index: number;
  readonly isOnly: boolean;
  readonly problems: Readonly<Record<string, string>>;
  readonly onPayment: (change: Partial<PaymentDraft>) => void;
  readonly onRemove: () => void;
}) {
  const problem = (field: string) => problems[`payments.${index}.${field}`];
  return (
    <fieldset class="sub">
      <legend>Payment {index + 1}</legend>
      <TextInput
        label="Destination"
        mono
        hint={helpOf(PaymentOperationSchema.field.destination)}
        value={payment.destination}
        problem={problem('destination')}
        onValue={(destination) => onPayment({ destination })}
      />
      <div class="form-row">
        <TextInput
          label={payment.isNative ? 'Amount in XLM' : 'Amount'}
          inputMode="decimal"
          hint={helpOf(PaymentOperationSchema.field.amount)}
          value={payment.amount}
          problem={problem('amount')}
          onValue={(amount) => onPayment({ amount })}
        />
        <Select
          label="Asset"
          choices={[
            ['native', 'XLM'],
            ['credit', 'an issued asset'],
          ]}
          value={payment.isNative ? 'native' : 'credit'}
          onValue={(asset) => onPayment({ isNative: asset === 'native' })}
        />
      </div>
      {!payment.isNative && (
        <div class="form-row">
          <TextInput label="Asset code" value={payment.code} problem={problem('code')} onValue={(code) => onPayment({ code })} />
          <TextInput
            label="Issuer"
            mono
            placeholder="G…"
            value={payment.issuer}
            problem={problem('issuer')}
            onValue={(issuer) => onPayment({ issuer })}
          />
        </div>
      )}
      {!isOnly && (
        <div class="actions">
          <button type="button" class="danger-quiet" onClick={onRemove}>
            Remove payment {index + 1}
          </button>
        </div>
      )}
    </fieldset>
  );
}

/** The fields of a Solana transaction. */
export function SolanaFields({ draft, onDraft, problems }: FieldsProperties<SolanaDraft>) {
  return (
    <>
      <div>
        <Segments
          label="Content"
          choices={[
            ['transaction', 'Transaction'],
            ['instructions', 'Instructions'],
          ]}
          value={draft.kind}
          onValue={(kind) => onDraft({ kind })}
        />
      </div>
      {draft.kind === 'transaction' ? (
        <TextArea
          label="Transaction"
          rows={6}
          hint={helpOf(solanaFields.transaction)}
          value={draft.transaction}
          problem={problems.transaction}
          onValue={(transaction) => onDraft({ transaction })}
        />
      ) : (
        <TextArea
          label="Instructions"
          rows={12}
          hint={
            <>
              {helpOf(solanaFields.instructions)} A JSON array, as in the API: <code>program_id</code>, <code>accounts</code> with{' '}
              <code>pubkey</code>, <code>is_signer</code> and <code>is_writable</code>, and <code>data</code> in base64.
            </>
          }
          value={draft.instructions}
          problem={problems.instructions}
          onValue={(instructions) => onDraft({ instructions })}
        />
      )}
      <TimeInput
        label="Valid until"
        hint={helpOf(solanaFields.validUntil)}
        value={draft.validUntil}
        problem={problems.validUntil}
        onValue={(validUntil) => onDraft({ validUntil })}
      />
    </>
  );
}
