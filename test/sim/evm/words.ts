/** How one kind of node words its answers. */
export interface NodeWords {
  readonly known: string;
  readonly replacement: string;
  nonceUsed(next: number, nonce: number): string;
  /** Null: it keeps transactions above a missing nonce. */
  readonly gap: string | null;
  readonly full: string;
  readonly funds: string;
  readonly price: string;
  readonly gas: string;
  unknownBlock(block: number): string;
  readonly pruned: string;
  readonly reverted: string;
}

/** The kinds of nodes. */
export const kinds = ['geth', 'reth', 'erigon', 'nethermind', 'besu'] as const;

/** A kind of node. */
export type NodeKind = (typeof kinds)[number];

/** The words of each kind, as their programs write them. */
export const words: Readonly<Record<NodeKind, NodeWords>> = {
  geth: {
    known: 'already known',
    replacement: 'replacement transaction underpriced',
    nonceUsed: (next, nonce) => `nonce too low: next nonce ${next}, tx nonce ${nonce}`,
    gap: null,
    full: 'txpool is full',
    funds: 'insufficient funds for gas * price + value: balance 1, tx cost 2, overshot 1',
    price: 'transaction underpriced: gas tip cap 0, minimum needed 1000000',
    gas: 'transaction gas limit too high (cap: 16777216, tx: 20000000)',
    unknownBlock: () => 'header not found',
    pruned: 'missing trie node 8fb2 (path ) state 0x8fb2 is not available',
    reverted: 'execution reverted: no',
  },
  reth: {
    known: 'already known',
    replacement: 'replacement transaction underpriced',
    nonceUsed: (next, nonce) => `nonce too low: next nonce ${next}, tx nonce ${nonce}`,
    gap: null,
    full: 'txpool is full',
    funds: 'insufficient funds for gas * price + value: have 1 want 2',
    price: 'transaction priority fee below minimum required priority fee 1000000',
    gas: 'exceeds max transaction gas limit',
    unknownBlock: () => 'header not found',
    pruned: 'state at block #1 is pruned',
    reverted: 'execution reverted: no',
  },
  erigon: {
    known: 'existing txn with same hash',
    replacement: 'INTERNAL_ERROR: could not replace existing tx',
    nonceUsed: () => 'nonce too low',
    gap: null,
    full: 'pending sub-pool is full',
    funds: 'insufficient funds',
    price: 'fee too low',
    gas: 'gas limit is too high',
    unknownBlock: (block) => `block not found: ${block}`,
    pruned: 'old data not available due to pruning',
    reverted: 'execution reverted: no',
  },
  nethermind: {
    known: 'already known',
    replacement: 'replacement transaction underpriced, existing transaction bids more',
    nonceUsed: (next, nonce) => `nonce too low, Current nonce: ${next}, nonce of rejected tx: ${nonce}.`,
    gap: 'nonce too far in future',
    full: 'txpool is full',
    funds: 'insufficient funds for gas * price + value',
    price: 'transaction underpriced',
    gas: 'gas limit reached, Gas limit: 1, gas limit of rejected tx: 2',
    unknownBlock: (block) => `${block} could not be found`,
    pruned: 'No state available for block 1',
    reverted: 'VM execution error.',
  },
  besu: {
    known: 'Known transaction',
    replacement: 'Replacement transaction underpriced',
    nonceUsed: () => 'Nonce too low',
    gap: 'Transaction nonce is too distant from current sender nonce',
    full: 'txpool is full',
    funds: 'Upfront cost exceeds account balance',
    price: 'Gas price below current base fee',
    gas: 'Transaction gas limit exceeds block gas limit',
    unknownBlock: () => 'Unknown block',
    pruned: 'World state unavailable',
    reverted: 'Execution reverted',
  },
};
