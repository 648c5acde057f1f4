import { AbiCoder, type ParamType } from 'ethers/abi';
import { invalidField } from '../../core/errors/errors.js';
import type { EvmCall, EvmCallRequest } from '../../core/records/evm.js';
import { abiFunctionOf, jsonOf, signatureOf } from './abi-function.js';
import { readTuple, type SpendWords } from './abi-values.js';

/** 4,080 words as hex fill the longest call data; what is written shorter encodes to more. */
const maxArgsLength = 262_144;

/** A function call as call data, as the record shows it, and the types of its results. */
export interface EncodedCall {
  readonly data: string;
  readonly call: EvmCall;
  readonly outputs: readonly ParamType[];
}

/**
 * Encodes a caller's function call; `path` leads to it. Throws DomainError (400) that names each argument by its path. Reading costs at
 * most about 20 ms, since all sizes are limited before anything is computed.
 */
export function callDataOf(request: EvmCallRequest, maxDataBytes: number, path = 'call'): EncodedCall {
  const called = abiFunctionOf(request, path);
  const args = request.args === '' ? null : jsonOf(`${path}.args`, request.args, maxArgsLength);
  const { value, text } = withinWords(
    Math.floor(maxDataBytes / 32),
    (spend) => readTuple(called.inputs, args ?? [], `${path}.args`, spend),
    () => invalidField(`${path}.args`, `must encode to at most ${maxDataBytes} bytes, the limit of EVM nodes`),
  );
  const encoded = AbiCoder.defaultAbiCoder().encode(called.inputs, value as unknown[]);
  return { data: called.selector + encoded.slice(2), call: { function: signatureOf(called), args: text }, outputs: called.outputs };
}

/** Not a problem of one value, so it ends the reading. */
class OutOfWords extends Error {}

/** Reads values that encode to at most this number of words. Throws `tooLong` otherwise. */
export function withinWords<T>(limit: number, read: (spend: SpendWords) => T, tooLong: () => Error): T {
  let left = limit;
  try {
    return read((words) => {
      left -= words;
      if (left < 0) throw new OutOfWords();
    });
  } catch (error) {
    throw error instanceof OutOfWords ? tooLong() : error;
  }
}
