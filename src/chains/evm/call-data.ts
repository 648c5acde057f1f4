import { AbiCoder } from 'ethers/abi';
import { invalidField } from '../../core/errors/errors.js';
import type { EvmCall, EvmCallRequest } from '../../core/records/evm.js';
import { abiFunctionOf, jsonOf, signatureOf } from './abi-function.js';
import { readTuple, type SpendWords } from './abi-values.js';

/** 4,080 words as hex fill the longest call data; what is written shorter encodes to more. */
const maxArgsLength = 262_144;

/**
 * Encodes a caller's function call. Throws DomainError (400) that names each argument by its path. Reading costs at most about 20 ms, since
 * all sizes are limited before anything is computed.
 */
export function callDataOf(request: EvmCallRequest, maxDataBytes: number): { readonly data: string; readonly call: EvmCall } {
  const called = abiFunctionOf(request, 'call');
  const args = request.args === '' ? null : jsonOf('call.args', request.args, maxArgsLength);
  const { value, text } = withinWords(
    Math.floor(maxDataBytes / 32),
    (spend) => readTuple(called.inputs, args ?? [], 'call.args', spend),
    () => invalidField('call.args', `must encode to at most ${maxDataBytes} bytes, the limit of EVM nodes`),
  );
  const encoded = AbiCoder.defaultAbiCoder().encode(called.inputs, value as unknown[]);
  return { data: called.selector + encoded.slice(2), call: { function: signatureOf(called), args: text } };
}

/** Not a problem of one argument, so it ends the reading. */
class OutOfWords extends Error {}

/** Reads values that encode to at most this number of words. Throws `tooLong` otherwise. */
function withinWords<T>(limit: number, read: (spend: SpendWords) => T, tooLong: () => Error): T {
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
