import type { EvmCallRequest } from '../../src/core/records/evm.js';

/** A call that must be refused, and the field that the refusal names first. */
export interface HostileCall {
  readonly name: string;
  readonly call: EvmCallRequest;
  readonly field: RegExp;
}

const recursive: Record<string, unknown> = { type: 'tuple', name: 'a', components: [] };
for (let depth = 0, inner = recursive; depth < 20; depth += 1) {
  const next = { type: 'tuple', name: 'a', components: [] };
  inner.components = [next];
  inner = next;
}
const parameter = { type: 'uint256', name: 'a' };
const rows: readonly [name: string, signature: string, args: unknown, abi: unknown, field: RegExp][] = [
  ['an unknown function', 'g', [], [{ type: 'function', name: 'f', inputs: [] }], /^call\.function$/],
  ['a name without an ABI', 'transfer', [], undefined, /^call\.function$/],
  ['too few arguments', 'f(address,uint256)', [1], undefined, /^call\.args$/],
  ['too many arguments', 'f()', [1], undefined, /^call\.args$/],
  ['a uint8 of 256', 'f(uint8)', [256], undefined, /^call\.args\[0\]$/],
  ['an odd number of digits', 'f(bytes)', ['0x123'], undefined, /^call\.args\[0\]$/],
  ['a wrong checksum', 'f(address)', ['0x70997970c51812dc3A010C7d01b50e0d17dc79C8'], undefined, /^call\.args\[0\]$/],
  ['an ENS name', 'f(address)', ['vitalik.eth'], undefined, /^call\.args\[0\]$/],
  ['a statement as a signature', 'f("; drop table")', [], undefined, /^call\.function$/],
  ['control characters in a signature', 'f(uint256)\u0000\u202e', [], undefined, /^call\.function$/],
  ['10,000 integers', 'f(uint256[])', [Array.from({ length: 10_000 }, () => 1)], undefined, /^call\.args$/],
  ['130,000 values', 'f(uint256[])', `[[${'1,'.repeat(130_000)}1]]`, undefined, /^call\.args$/],
  ['empty arrays in arrays', 'f(uint256[][])', `[[${'[],'.repeat(80_000)}[]]]`, undefined, /^call\.args$/],
  ['a long string', 'f(string)', [`${'x'.repeat(200_000)}`], undefined, /^call\.args$/],
  ['long arguments', 'f(string)', [`${'x'.repeat(300_000)}`], undefined, /^call\.args$/],
  ['10,000 wrong items', 'f(uint8[])', [Array.from({ length: 10_000 }, () => 'x')], undefined, /^call\.args\[0\]\[0\]$/],
  ['a recursive ABI', 'f', [], [{ type: 'function', name: 'f', inputs: [recursive] }], /^call\.abi\[0\]\.inputs/],
  ['an ABI of 1 MiB', 'f', [], [{ type: 'function', name: 'f', inputs: Array.from({ length: 26_000 }, () => parameter) }], /^call\.abi$/],
  [
    '10,000 parameters',
    'f',
    [],
    [{ name: 'f', inputs: Array.from({ length: 8_000 }, () => ({ type: 'int8' })) }],
    /^call\.abi\[0\]\.inputs$/,
  ],
  ['5,000 overloads', 'f', [], Array.from({ length: 5_000 }, () => 'function f(uint256 a, bool b)'), /^call\.abi\[\d+\]$/],
  [
    'a fragment of ethers',
    'f',
    [],
    [{ _ethers_internal: '_FunctionInternal', type: 'function', name: 'f', inputs: 5 }],
    /^call\.abi\[0\]\.inputs$/,
  ],
  ['a parameter of ethers', 'f', [1], [{ name: 'f', inputs: [{ _ethers_internal: '_ParamInternal', type: 'x' }] }], /^call\.abi\[0\]$/],
  ['prototypes', 'f', '{"__proto__":1}', [{ name: 'f', inputs: [{ type: 'uint8', name: 'a' }] }], /^call\.args\.__proto__$/],
  ['an ABI that is no array', 'f', [], { abi: [] }, /^call\.abi$/],
  ['many brackets', `f(uint8${'[2]'.repeat(600)})`, [], undefined, /^call\.function$/],
  ['open parentheses', `f${'('.repeat(2000)}`, [], undefined, /^call\.function$/],
];

/** Calls that are wrong, or made to cost much. */
export const hostileCalls: readonly HostileCall[] = rows.map(([name, signature, args, abi, field]) => ({
  name,
  call: {
    function: signature,
    args: typeof args === 'string' ? args : JSON.stringify(args),
    ...(abi === undefined ? {} : { abi: JSON.stringify(abi) }),
  },
  field,
}));
