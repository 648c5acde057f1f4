import { AbiCoder, type ParamType } from 'ethers/abi';
import { invalidField } from '../../core/errors/errors.js';
import { readAll } from '../../core/errors/read-all.js';
import type { ContractCalls, ContractReading, ForwardedAnswer } from '../../core/ports/chain/requests.js';
import { nodeText } from '../rpc/answer.js';
import { abiErrorOf } from './abi-function.js';
import { readAddress } from './address.js';
import { callDataOf } from './call-data.js';
import { isExecutionFailure } from './execution-failure.js';
import { type DecodeError, reasonFromNodeError } from './revert.js';

/** The gas limit of nodes for calls allows no more arguments than this. */
const maxDataBytes = 128 * 1024;
/** Decoding copies the rest of the data for each item of variable size. */
const maxDecodedBytes = 64 * 1024;

// A contract can point many times to the same bytes, so that few of them decode to very many values.
AbiCoder._setDefaultMaxInflation(2);

/** Calls of contracts through ethers. */
export const contractCalls: ContractCalls = {
  prepare({ to, call }, path) {
    const { address, encoded } = readAll({
      address: () => addressOf(`${path}to`, to, missing(path)),
      encoded: () => {
        if (call === undefined) throw invalidField(`${path}call`, missing(path));
        return callDataOf(call, maxDataBytes, `${path}call`);
      },
    });
    return { to: address, data: encoded.data, decode: (answer) => readingOf(encoded.outputs, answer) };
  },
};

/** A request has the fields of its only read, or `reads`. */
function missing(path: string): string {
  return path === '' ? 'is required without reads' : 'is required';
}

function addressOf(field: string, text: string | undefined, problem: string): string {
  if (text === undefined) throw invalidField(field, problem);
  const read = readAddress(text);
  if ('problem' in read) throw invalidField(field, read.problem);
  return read.address;
}

function readingOf(outputs: readonly ParamType[], answer: ForwardedAnswer): ContractReading {
  if ('code' in answer) {
    const data: unknown = answer.dataJson === null ? null : JSON.parse(answer.dataJson);
    const hex = typeof data === 'string' && /^0x(?:[0-9a-f]{2})*$/i.test(data) ? data.toLowerCase() : null;
    const failure = { code: answer.code, message: answer.message, data: hex };
    if (!isExecutionFailure(failure)) return failed(`the RPC node rejected the call: ${answer.message}`);
    const reason = reasonFromNodeError(failure);
    return failed(`execution reverted${reason === null ? '' : `: ${reason}`}`);
  }
  const data: unknown = JSON.parse(answer.resultJson);
  if (typeof data !== 'string' || !/^0x(?:[0-9a-f]{2})*$/i.test(data)) return failed('the RPC node returned no call data');
  return resultOf(outputs, data);
}

/** Decodes what a call returned (hex with `0x`). */
export function resultOf(outputs: readonly ParamType[], data: string): ContractReading {
  if (outputs.length === 0) return { resultJson: null, data, error: null };
  if (data === '0x') return failed('the call returned nothing; there may be no contract at to');
  const bytes = data.length / 2 - 1;
  if (bytes > maxDecodedBytes) return failed(`the call returned ${bytes} bytes; at most ${maxDecodedBytes} are decoded`, data);
  try {
    const values: readonly unknown[] = AbiCoder.defaultAbiCoder().decode(outputs, data);
    const [only] = outputs;
    const resultJson = outputs.length === 1 && only !== undefined ? jsonOf(only, values[0]) : jsonOfTuple(outputs, values);
    return { resultJson, data, error: null };
  } catch {
    return failed('the call returned data that does not fit the types after returns', data);
  }
}

/** Decodes revert data by the errors of a caller's ABI, which is read once for the same data. */
export function errorDecoder(abi: string | undefined): DecodeError {
  if (abi === undefined) return () => null;
  let last: { readonly data: string; readonly reason: string | null } | null = null;
  const reasonOf = (data: string): string | null => {
    const found = data.length / 2 - 1 > maxDecodedBytes ? null : abiErrorOf(abi, data.slice(0, 10));
    if (found === null) return null;
    try {
      const values: readonly unknown[] = AbiCoder.defaultAbiCoder().decode(found.inputs, `0x${data.slice(10)}`);
      const args = found.inputs.map((type, index) => `${type.name === '' ? '' : `${type.name} `}${jsonOf(type, values[index])}`);
      return nodeText(`${found.name}(${args.join(', ')})`);
    } catch {
      return nodeText(`${found.name} with arguments that do not fit`);
    }
  };
  return (data) => {
    if (last?.data !== data) last = { data, reason: reasonOf(data) };
    return last.reason;
  };
}

function failed(error: string, data: string | null = null): ContractReading {
  return { resultJson: null, data, error };
}

/** The JSON text of a decoded value; integers are strings. */
function jsonOf(type: ParamType, value: unknown): string {
  if (type.isArray()) return `[${(value as readonly unknown[]).map((item) => jsonOf(type.arrayChildren, item)).join(',')}]`;
  if (type.isTuple()) return jsonOfTuple(type.components, value as readonly unknown[]);
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'bigint') return `"${value}"`;
  return JSON.stringify(value);
}

/** An object if each value has a name of its own, else an array. */
function jsonOfTuple(types: readonly ParamType[], values: readonly unknown[]): string {
  const texts = types.map((type, index) => jsonOf(type, values[index]));
  const names = new Set(types.map(({ name }) => name));
  if (names.has('') || names.size < types.length) return `[${texts.join(',')}]`;
  return `{${texts.map((text, index) => `${JSON.stringify(types[index]?.name)}:${text}`).join(',')}}`;
}
