/** An answer that has no content, or not that of the question. */
export const oddAnswers = ['unknown words', 'method missing', 'null', 'malformed', 'time-out', 'stale for ever'] as const;

/** A wrong amount in an answer. */
export const oddAmounts = ['0', 'too low', 'too high', 'huge once', 'huge for 3 minutes'] as const;

/** By how much a node numbers its blocks wrongly. Its head alone: its other answers contradict that. All blocks: nothing contradicts it. */
export const shifts = { 'head shifted up': 7n, 'head shifted down': -7n, 'blocks shifted up': 7n, 'blocks shifted down': -7n } as const;

/**
 * One of them, or a whole story: receipts of transactions that are in no block, and the nonces that fit them; or heights that are wrong by
 * the same number each time.
 */
export type Oddity = (typeof oddAnswers)[number] | (typeof oddAmounts)[number] | 'forged' | keyof typeof shifts;

const huge = 2n ** 63n;
/** A larger number is not exact in JSON. */
const hugeNumber = 2n ** 52n;
const hugeForMs = 180_000;

/** How long an oddity lasts; `once`: for one answer. */
export function durationOf(oddity: Oddity): number | 'once' {
  if (oddity === 'huge once') return 'once';
  return oddity === 'huge for 3 minutes' ? hugeForMs : Number.POSITIVE_INFINITY;
}

type Reply = { readonly id: unknown } & Readonly<Record<string, unknown>>;

/** What a node that is odd in this way answers, in place of its own answer. */
export function oddReply(oddity: Oddity, amount: string | null, method: string, id: unknown, honest: () => Reply): Reply {
  const own = { jsonrpc: '2.0', id };
  switch (oddity) {
    case 'unknown words':
      return { ...own, error: { code: -32000, message: 'the moon is in the wrong place' } };
    case 'method missing':
      return { ...own, error: { code: -32601, message: `the method ${method} does not exist/is not available` } };
    case 'null':
      honest();
      return { ...own, result: null };
    case 'malformed':
      honest();
      return { ...own, result: { moon: ['0xzz'] } };
    case 'time-out':
    case 'stale for ever':
      return honest();
    default: {
      const { result, ...rest } = honest();
      return result === undefined ? rest : { ...rest, result: changed(result, amount ?? '', changeOf(oddity)) };
    }
  }
}

type Change = (value: bigint, isNumber: boolean) => bigint;

function changeOf(oddity: Oddity): Change {
  switch (oddity) {
    case 'head shifted up':
    case 'head shifted down':
      return (value) => (value + shifts[oddity] < 0n ? 0n : value + shifts[oddity]);
    case '0':
      return () => 0n;
    case 'too low':
      return (value) => value / 2n;
    case 'too high':
      return (value) => value * 3n + 1n;
    default:
      return (value, isNumber) => value + (isNumber ? hugeNumber : huge);
  }
}

/** The value with each amount of this name changed, at any depth. */
export function changed(value: unknown, name: string, change: Change): unknown {
  if (name === '') return changedAmount(value, change);
  if (Array.isArray(value)) return value.map((one) => changed(one, name, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, key === name ? changedAmount(member, change) : changed(member, name, change)]),
  );
}

function changedAmount(value: unknown, change: Change): unknown {
  if (Array.isArray(value)) return value.map((one) => changedAmount(one, change));
  if (typeof value === 'number' && Number.isInteger(value)) return Number(change(BigInt(value), true));
  if (typeof value === 'number') return Number(change(BigInt(Math.round(value * 1_000)), true)) / 1_000;
  if (typeof value === 'string' && /^[0-9]+$/.test(value)) return change(BigInt(value), false).toString();
  return typeof value === 'string' && /^0x[0-9a-f]+$/i.test(value) ? `0x${change(BigInt(value), false).toString(16)}` : value;
}
