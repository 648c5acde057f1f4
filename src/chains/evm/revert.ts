import { nodeText } from '../rpc/answer.js';
import { NodeError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { isExecutionFailure } from './execution-failure.js';
import { type KnownError, knownErrors } from './known-errors.js';
import { questions } from './questions.js';

/** Longer revert data is truncated. */
const maxRevertDataBytes = 2048;

/** The known facts about a revert. */
export interface RevertReason {
  readonly reason: string | null;
  /** Lower-case hex with `0x`; null if empty or unknown. */
  readonly data: string | null;
}

const unknownReason: RevertReason = { reason: null, data: null };

/**
 * Finds out why a mined transaction reverted. Simulates it on the state after its block and, if it succeeds there, on the state before.
 * Neither is exactly the state it ran on, which no common RPC method offers. Never throws: after any error the reason is unknown.
 */
export async function findRevertReason(rpc: Rpc, hash: string, blockNumber: bigint): Promise<RevertReason> {
  try {
    const sent = await rpc.call(questions.transaction(hash));
    if (sent === null) return unknownReason;
    const { from, value, gas, input: data, to } = sent;
    const call = { from, value, gas, data, ...(to === null ? {} : { to }) };
    for (const block of blockNumber > 0n ? [blockNumber, blockNumber - 1n] : [blockNumber]) {
      const found = await run(rpc, call, block);
      if (found !== null) return found;
    }
    return unknownReason;
  } catch {
    return unknownReason;
  }
}

/** Returns null if the call succeeds or the node cannot run it. */
async function run(rpc: Rpc, call: object, block: bigint): Promise<RevertReason | null> {
  try {
    await rpc.call(questions.revert(call, block));
    return null;
  } catch (error) {
    if (!(error instanceof NodeError) || !isExecutionFailure(error)) return null;
    const data = error.data?.slice(0, 2 + 2 * maxRevertDataBytes) ?? null;
    return { reason: reasonFromNodeError(error), data: data === '0x' ? null : data };
  }
}

/** Decodes the revert data (hex with `0x`) of an error of the contract's own as safe text; null: it is none that is known. */
export type DecodeError = (data: string) => string | null;

/** Reads the reason from revert data (hex with `0x`) as safe text; null for empty data. */
export function reasonFromRevertData(data: string, decode: DecodeError = () => null): string | null {
  const bytes = Buffer.from(data.slice(2), 'hex');
  if (bytes.length < 4) return null;
  const selector = bytes.subarray(0, 4).toString('hex');
  if (selector === '08c379a0') return stringFrom(bytes.subarray(4)) ?? 'malformed Error(string)';
  if (selector === '4e487b71' && bytes.length >= 36) return panicReason(BigInt(`0x${bytes.subarray(4, 36).toString('hex')}`));
  const own = decode(data);
  if (own !== null) return own;
  const known = knownErrors[selector];
  return known === undefined ? `custom error 0x${selector}` : knownReason(known, bytes.subarray(4));
}

/** Names a known error, what it means, and its arguments if the data has exactly these. */
function knownReason({ signature, meaning }: KnownError, args: Buffer): string {
  const [, name = '', list = ''] = /^(\w+)\((.*)\)$/.exec(signature) ?? [];
  const parameters = list === '' ? [] : list.split(', ');
  if (parameters.length === 0 || args.length !== 32 * parameters.length) return `${name}: ${meaning}`;
  const shown = parameters.map((parameter, index) => argumentText(parameter, args.subarray(32 * index, 32 * (index + 1))));
  return `${name}: ${meaning} (${shown.join(', ')})`;
}

/** Writes an argument of one word after its name. */
function argumentText(parameter: string, word: Buffer): string {
  const [type, name] = parameter.split(' ');
  if (type === 'address') return `${name} 0x${word.subarray(12).toString('hex')}`;
  const hex = `0x${word.toString('hex')}`;
  return `${name} ${type === 'uint256' ? BigInt(hex) : hex}`;
}

/** Reads the reason from a node's error; null if neither data nor text contains one. */
export function reasonFromNodeError(error: Pick<NodeError, 'message' | 'data'>, decode?: DecodeError): string | null {
  const fromData = error.data === null ? null : reasonFromRevertData(error.data, decode);
  if (fromData !== null) return fromData;
  const text = error.message.replace(/^(?:vm exception while processing transaction: )?(?:execution )?reverted?[:,]?\s*/i, '');
  return text === '' ? null : text;
}

/** Decodes a string argument: an offset, a length, the bytes. */
function stringFrom(args: Buffer): string | null {
  const offset = uintAt(args, 0);
  const length = offset === null ? null : uintAt(args, offset);
  if (offset === null || length === null || offset + 32 + length > args.length) return null;
  return nodeText(args.subarray(offset + 32, offset + 32 + length).toString());
}

function uintAt(bytes: Buffer, at: number): number | null {
  if (at + 32 > bytes.length) return null;
  const value = BigInt(`0x${bytes.subarray(at, at + 32).toString('hex')}`);
  return value > BigInt(bytes.length) ? null : Number(value);
}

const panics: Readonly<Record<string, string>> = {
  '0': 'failed check of the compiler',
  '1': 'assertion failed',
  '17': 'arithmetic overflow',
  '18': 'division by zero',
  '33': 'invalid enum value',
  '34': 'malformed storage array',
  '49': 'pop of an empty array',
  '50': 'array index out of bounds',
  '65': 'too much memory',
  '81': 'call of an uninitialized function',
};

function panicReason(code: bigint): string {
  const meaning = panics[code.toString()];
  return meaning === undefined ? `panic 0x${code.toString(16)}` : `panic 0x${code.toString(16)}: ${meaning}`;
}
