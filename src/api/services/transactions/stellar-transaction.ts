import { create, type Message, type MessageInitShape } from '@bufbuild/protobuf';
import { isReflectList, isReflectMessage, type ReflectMessage, type ReflectMessageGet, reflect } from '@bufbuild/protobuf/reflect';
import {
  type AssetSpec,
  type AuthSpec,
  type ContractSource,
  type MemoSpec,
  type OperationSpec,
  OperationSpecSchema,
  type ScI128,
  type ScI256,
  type ScU128,
  type ScU256,
  type ScVal,
  type StellarTransaction,
  type StellarTransactionRequest,
  StellarTransactionSchema,
  type WasmSource,
} from '../../../../gen/relayer/v1/stellar_pb.js';
import { type StellarAttempt, StellarAttemptSchema } from '../../../../gen/relayer/v1/transaction_pb.js';
import { restNameOf } from '../../../codec/field-rules.js';
import { onNetwork } from '../../../core/records/on-network.js';
import {
  maxValueDepth,
  type StellarAsset,
  type StellarAuth,
  type StellarContent,
  type StellarContractSource,
  type StellarField,
  type StellarFields,
  type StellarMemo,
  type StellarOperation,
  type StellarRequest,
  type StellarValue,
  type StellarWasm,
  type StellarWideKind,
} from '../../../core/records/stellar.js';
import type { Attempt, TransactionView } from '../../../core/records/transaction.js';
import { present, presentAmount, validUntilOf } from '../shared/present.js';

/** Returns the Stellar transaction that a caller requests. */
export function stellarRequestOf(request: StellarTransactionRequest): StellarRequest {
  const { network, sourceAccount, operations, transactionXdr, memo, feeBump, maxFee } = request;
  return {
    network: 'stellar',
    networkName: network,
    sourceAccount,
    operations: operations.map(operationOf),
    transactionXdr,
    memo: memo && memoOf(memo),
    ...validUntilOf(request),
    feeBump,
    maxFeeStroops: maxFee,
  };
}

/** The Stellar part of a transaction's record. The fee is the shown attempt's bid, or the fee charged once it is in a ledger. */
export function protoOfStellarTransaction({ transaction, shown }: TransactionView): StellarTransaction {
  const content = onNetwork('stellar', transaction.content);
  const says = shown === null ? null : onNetwork('stellar', shown.fields);
  const facts = transaction.mined?.facts ?? null;
  return create(StellarTransactionSchema, {
    sourceAccount: (says ?? content).sourceAccount,
    ...presentAmount('fee', facts?.feePaid ?? says?.bid.feeStroops ?? null),
    ...presentAmount('sequenceNumber', says?.sequence ?? null),
    ...present('transactionResultXdr', facts?.returnValueXdr ?? null),
    ...(transaction.approval === null ? {} : approvedContent(content)),
  });
}

/** What keys that approve content decide about: it is in no attempt yet. */
function approvedContent(content: StellarContent): MessageInitShape<typeof StellarTransactionSchema> {
  if (content.kind === 'fee_bump') return { envelopeXdr: content.envelope };
  return { operationsXdr: [...content.operations], memoXdr: content.memo };
}

/** The Stellar part of an attempt's record. */
export function protoOfStellarAttempt({ raw, fields }: Attempt): StellarAttempt {
  const { sourceAccount, sequence, bid } = onNetwork('stellar', fields);
  return create(StellarAttemptSchema, {
    sourceAccount,
    sequenceNumber: sequence.toString(),
    fee: bid.feeStroops.toString(),
    envelopeXdr: raw,
  });
}

function memoOf({ memo }: MemoSpec): StellarMemo {
  switch (memo.case) {
    case undefined:
      return { kind: 'unset' };
    case 'none':
      return { kind: 'none' };
    case 'text':
      return { kind: 'text', text: memo.value };
    case 'id':
      return { kind: 'id', id: memo.value };
    case 'hash':
      return { kind: 'hash', bytes: memo.value };
    case 'returnHash':
      return { kind: 'return', bytes: memo.value };
  }
}

function operationOf({ operation, sourceAccount }: OperationSpec): StellarOperation {
  return { ...operationContentOf(operation), sourceAccount };
}

function operationContentOf(operation: OperationSpec['operation']): StellarOperation {
  switch (operation.case) {
    case undefined:
      return { kind: 'unset' };
    case 'payment': {
      const { destination, amount, asset } = operation.value;
      return { kind: 'payment', destination, amount, asset: asset && assetOf(asset) };
    }
    case 'invokeContract': {
      const { contractAddress, functionName, args, auth } = operation.value;
      const values = args.map((arg) => stellarValueOf(arg));
      return { kind: 'invoke_contract', contractAddress, functionName, args: values, auth: auth && authOf(auth) };
    }
    case 'createContract': {
      const { source, wasmHash, salt, constructorArgs, auth } = operation.value;
      return {
        kind: 'create_contract',
        source: source && sourceOf(source),
        wasmHash,
        salt,
        constructorArgs: constructorArgs.map((arg) => stellarValueOf(arg)),
        auth: auth && authOf(auth),
      };
    }
    case 'uploadWasm': {
      const { wasm, auth } = operation.value;
      return { kind: 'upload_wasm', wasm: wasm && wasmOf(wasm), auth: auth && authOf(auth) };
    }
    default:
      return listedOf(operation.case, operation.value);
  }
}

/** The table of operations reads the fields, so they need no mapping of their own. */
function listedOf(caseName: string, value: Message): StellarOperation {
  const field = OperationSpecSchema.fields.find(({ localName }) => localName === caseName);
  if (field?.message === undefined) throw new Error(`the definitions have no operation ${caseName}`);
  return { kind: 'listed', type: restNameOf(field), fields: fieldsOf(reflect(field.message, value)) };
}

function fieldsOf(message: ReflectMessage): StellarFields {
  const fields: Record<string, StellarField> = {};
  for (const field of message.fields) {
    if (!message.isSet(field)) continue;
    const value = fieldOf(message.get(field));
    if (field.oneof === undefined) fields[restNameOf(field)] = value;
    else Object.assign(fields, { kind: restNameOf(field), value });
  }
  return fields;
}

function fieldOf(value: ReflectMessageGet): StellarField {
  if (isReflectMessage(value)) return fieldsOf(value);
  if (isReflectList(value)) return [...value].map((item) => fieldOf(item as ReflectMessageGet));
  return value as StellarField;
}

function assetOf({ asset }: AssetSpec): StellarAsset {
  switch (asset.case) {
    case undefined:
      return { kind: 'unset' };
    case 'native':
      return { kind: 'native' };
    case 'credit4':
    case 'credit12':
      return { kind: asset.case, code: asset.value.code, issuer: asset.value.issuer };
  }
}

function sourceOf({ source }: ContractSource): StellarContractSource {
  switch (source.case) {
    case undefined:
      return { kind: 'unset' };
    case 'address':
      return { kind: 'address', address: source.value.address };
    case 'contract':
      return { kind: 'contract', address: source.value.contract };
  }
}

function wasmOf({ source }: WasmSource): StellarWasm {
  return source.case === undefined ? { kind: 'unset' } : { kind: source.case, bytes: source.value };
}

function authOf({ auth }: AuthSpec): StellarAuth {
  switch (auth.case) {
    case undefined:
      return { kind: 'unset' };
    case 'none':
    case 'addresses':
      return { kind: auth.case };
    case 'sourceAccount':
      return { kind: 'source_account' };
    case 'xdr':
      return { kind: 'xdr', entries: auth.value.entries };
  }
}

/** Returns the contract value of a request. Values nested too deeply are not read, and the chain rejects them. */
function stellarValueOf({ value }: ScVal, depth = 1): StellarValue {
  if (depth > maxValueDepth) return { kind: 'too_deep' };
  switch (value.case) {
    case undefined:
      return { kind: 'unset' };
    case 'voidValue':
      return { kind: 'void' };
    case 'boolValue':
      return { kind: 'bool', value: value.value };
    case 'u32':
    case 'i32':
      return { kind: value.case, value: value.value };
    case 'u64':
    case 'i64':
    case 'timepoint':
    case 'duration':
      return { kind: value.case, value: value.value };
    case 'u128':
    case 'i128':
      return wideOf(value.case, value.value, [value.value.hi, value.value.lo]);
    case 'u256':
    case 'i256':
      return wideOf(value.case, value.value, [value.value.hiHi, value.value.hiLo, value.value.loHi, value.value.loLo]);
    case 'bytesValue':
      return { kind: 'bytes', value: value.value };
    case 'stringValue':
      return { kind: 'string', value: value.value };
    case 'symbol':
    case 'address':
      return { kind: value.case, value: value.value };
    case 'vec':
      return { kind: 'vec', values: value.value.values.map((item) => stellarValueOf(item, depth + 1)) };
    case 'mapValue':
      return {
        kind: 'map',
        entries: value.value.entries.map(({ key, val }) => ({
          key: key && stellarValueOf(key, depth + 1),
          val: val && stellarValueOf(val, depth + 1),
        })),
      };
  }
}

function wideOf(
  kind: StellarWideKind,
  { decimal }: ScU128 | ScI128 | ScU256 | ScI256,
  parts: readonly (bigint | undefined)[],
): StellarValue {
  return { kind, decimal, parts };
}
