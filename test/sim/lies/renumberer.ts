import type { Call, Reply } from './liar.js';
import { changed } from './oddities.js';

/** Numbers all blocks but the first one otherwise, in questions and answers, so that nothing that the node says contradicts itself. */
export function renumbered(call: Call, shift: bigint, own: (call: Call) => Reply): Reply {
  const heights = call.params.map((param) => (isHeight(param) ? BigInt(param) : null));
  if (heights.includes(0n)) return own(call);
  if (heights.some((height) => height !== null && height - shift < 1n)) return { id: call.id, jsonrpc: '2.0', result: null };
  const params = call.params.map((param, index) => {
    const height = heights[index] ?? null;
    return height === null ? param : `0x${(height - shift).toString(16)}`;
  });
  const { result, ...rest } = own({ ...call, params });
  if (result === undefined) return rest;
  const names = ['number', 'blockNumber', 'oldestBlock'];
  return { ...rest, result: names.reduce((value: unknown, name) => changed(value, name, (number) => number + shift), result) };
}

/** A quantity that is no hash, account or transaction. */
function isHeight(param: unknown): param is string {
  return typeof param === 'string' && /^0x[0-9a-f]{1,12}$/.test(param);
}
