import type { BroadcastOutcome } from '../../core/ports/chain.js';

/** One rule of how nodes word their refusal of a transaction. */
export interface BroadcastRule {
  readonly outcome: Exclude<BroadcastOutcome['kind'], 'accepted' | 'unknown'>;
  readonly meaning: string;
  /** True when it speaks of the node that answered: the next one is asked, and may take the transaction. */
  readonly isAboutNode?: true;
  readonly pattern: RegExp;
  /** Texts as nodes write them; a test holds each to its rule. */
  readonly examples: readonly { readonly node: string; readonly text: string }[];
}

/**
 * In order: the first rule whose pattern is found decides. What no rule knows is `unknown`: retried, and logged. Codes are no help: geth and reth
 * say -32000 or -32003 for all of this, anvil -32003, nethermind -32010 and newer -32000, besu from -32000 to -32009 as it pleases.
 */
export const broadcastTable: readonly BroadcastRule[] = [
  {
    outcome: 'known',
    meaning: 'the node has this very transaction',
    pattern:
      /already known|\bknown transaction|already imported|existing txn? with same hash|already in (?:the )?(?:mem)?pool|^alreadyknown/i,
    examples: [
      { node: 'geth', text: 'already known' },
      { node: 'geth before 1.9.17', text: 'known transaction: 0x1b2c' },
      { node: 'erigon', text: 'existing txn with same hash' },
      { node: 'erigon', text: 'already known' },
      { node: 'nethermind', text: 'already known' },
      { node: 'nethermind, older', text: 'AlreadyKnown' },
      { node: 'reth', text: 'already known' },
      { node: 'reth, pool error', text: '[0x1b2c]: already imported' },
      { node: 'besu', text: 'Known transaction' },
      { node: 'anvil', text: 'transaction already imported' },
      { node: 'anvil', text: '[0x1b2c] Already imported' },
    ],
  },
  {
    outcome: 'underpriced',
    meaning: 'another version in the slot bids as much, or the bid is raised by too little',
    pattern:
      /replacement (?:transaction|fee)|to replace existing|could not replace|replaced by transaction with higher tip|^replacementnotallowed/i,
    examples: [
      { node: 'geth', text: 'replacement transaction underpriced' },
      { node: 'geth', text: 'replacement transaction underpriced: new tx gas fee cap 3 <= 3 queued' },
      { node: 'erigon', text: 'INTERNAL_ERROR: could not replace existing tx' },
      { node: 'erigon', text: 'replaced by transaction with higher tip' },
      { node: 'erigon', text: 'replacement transaction underpriced' },
      { node: 'nethermind', text: 'replacement transaction underpriced, existing transaction bids more' },
      { node: 'nethermind, older', text: 'ReplacementNotAllowed, existing transaction bids more' },
      { node: 'reth', text: 'replacement transaction underpriced' },
      { node: 'reth, pool error', text: '[0x1b2c]: insufficient gas price to replace existing transaction' },
      { node: 'besu', text: 'Replacement transaction underpriced' },
      { node: 'anvil', text: 'replacement transaction underpriced' },
    ],
  },
  {
    outcome: 'nonce_used',
    meaning: 'a block holds another transaction, or this one, in the slot',
    pattern: /(?<!authority )nonce (?:is )?too low|nonce has already been used|nonce \d+ below sender|^oldnonce|(?:^|: )mined$/i,
    examples: [
      { node: 'geth', text: 'nonce too low: next nonce 8, tx nonce 7' },
      { node: 'geth', text: 'nonce too low: address 0xAb, tx: 7 state: 8' },
      { node: 'erigon', text: 'nonce too low' },
      { node: 'erigon', text: 'INTERNAL_ERROR: mined' },
      { node: 'nethermind', text: 'nonce too low, Current nonce: 8, nonce of rejected tx: 7.' },
      { node: 'nethermind, older', text: 'OldNonce, Current nonce: 8, nonce of rejected tx: 7.' },
      { node: 'reth', text: 'nonce too low: next nonce 8, tx nonce 7' },
      { node: 'besu', text: 'Nonce too low' },
      { node: 'besu', text: 'transaction nonce 7 below sender account nonce 8' },
      { node: 'anvil', text: 'nonce too low' },
    ],
  },
  {
    outcome: 'wait',
    meaning: "the pool, or the account's share of it, is full",
    isAboutNode: true,
    pattern:
      /pool is full|account limit exceeded|pool size constraints|spammer|in-flight transaction limit|already reserved|type conflict/i,
    examples: [
      { node: 'geth', text: 'txpool is full' },
      { node: 'geth', text: 'account limit exceeded: pooled 16 txs' },
      { node: 'geth', text: 'in-flight transaction limit reached for delegated accounts' },
      { node: 'geth', text: 'address already reserved' },
      { node: 'erigon', text: 'pending sub-pool is full' },
      { node: 'erigon', text: 'baseFee sub-pool is full' },
      { node: 'erigon', text: 'spammer' },
      { node: 'nethermind', text: 'pending transaction type conflict' },
      { node: 'reth', text: 'txpool is full' },
      { node: 'reth', text: 'transaction discarded outright due to pool size constraints' },
      { node: 'reth', text: 'rejected due to 0xAb being identified as a spammer' },
    ],
  },
  {
    outcome: 'wait',
    meaning: 'an earlier nonce is missing',
    pattern:
      /nonce (?:is )?too (?:high|distant|far)|^nonce(?:gap|toofarinfuture)|gapped.nonce|lower nonce exists|future transaction tries to replace/i,
    examples: [
      { node: 'geth', text: 'nonce too high' },
      { node: 'geth', text: 'future transaction tries to replace pending' },
      { node: 'geth, on arbitrum', text: 'nonce too high: address 0xAb, tx: 9 state: 8' },
      { node: 'nethermind', text: 'nonce too far in future' },
      { node: 'nethermind, older', text: 'NonceGap, Future nonce. Expected nonce: 8' },
      { node: 'nethermind, older', text: 'NonceTooFarInFuture' },
      { node: 'reth', text: 'nonce too high' },
      { node: 'besu', text: 'Nonce too high' },
      { node: 'besu', text: 'Transaction nonce is too distant from current sender nonce' },
      { node: 'besu', text: 'An invalid transaction with a lower nonce exists' },
    ],
  },
  {
    outcome: 'wait',
    meaning: 'the account cannot pay now',
    pattern: /insufficient (?:funds|balance)|up-?front cost|overdraws|^insufficientfunds|exceeds account balance/i,
    examples: [
      { node: 'geth', text: 'insufficient funds for gas * price + value: balance 1, tx cost 2, overshot 1' },
      { node: 'erigon', text: 'insufficient funds' },
      { node: 'nethermind', text: 'insufficient funds for gas * price + value' },
      { node: 'nethermind, older', text: 'InsufficientFunds, Balance is 1 less than sending value + gas 2' },
      { node: 'reth', text: 'insufficient funds for gas * price + value: have 1 want 2' },
      { node: 'reth, pool error', text: 'transaction overdraws from account' },
      { node: 'besu', text: 'Upfront cost exceeds account balance' },
      { node: 'besu', text: 'transaction up-front cost 0x2 exceeds transaction sender account balance 0x1' },
      { node: 'anvil', text: 'Insufficient funds for gas * price + value' },
    ],
  },
  {
    outcome: 'wait',
    meaning: 'it bids less than the block or the pool asks',
    pattern: /underpriced|less than block base fee|below (?:current|configured|chain|the)|below minimum|fee too low|^feetoolow|base ?fee/i,
    examples: [
      { node: 'geth', text: 'transaction underpriced: gas tip cap 0, minimum needed 1000000' },
      { node: 'geth', text: 'max fee per gas less than block base fee: address 0xAb, maxFeePerGas: 1, baseFee: 7' },
      { node: 'erigon', text: 'fee too low' },
      { node: 'erigon', text: 'underpriced' },
      { node: 'nethermind', text: 'transaction underpriced' },
      { node: 'nethermind, older', text: 'FeeTooLowToCompete' },
      { node: 'reth', text: 'transaction feeCap 1 below chain minimum' },
      { node: 'reth', text: 'transaction priority fee below minimum required priority fee 1000000' },
      { node: 'besu', text: 'Gas price below current base fee' },
      { node: 'besu', text: 'Gas price below configured minimum gas price' },
      { node: 'anvil', text: 'max fee per gas less than block base fee' },
    ],
  },
  {
    outcome: 'wait',
    meaning: 'the node takes no such transaction by its own settings, or none now; others may',
    isAboutNode: true,
    pattern:
      /exceeds the configured cap|fee cap exceeded|still in progress|pool not enabled|is syncing|^syncing|not authorized to send|plugin has marked/i,
    examples: [
      { node: 'geth', text: 'tx fee (1.20 ether) exceeds the configured cap (1.00 ether)' },
      { node: 'reth', text: 'tx fee (1200000 wei) exceeds the configured cap (1000000 wei)' },
      { node: 'nethermind', text: 'node is syncing' },
      { node: 'besu', text: 'Transaction fee cap exceeded' },
      { node: 'besu', text: 'Sender account not authorized to send transactions' },
      { node: 'besu', text: 'Plugin has marked the transaction as invalid' },
      { node: 'besu', text: 'Initial sync is still in progress' },
      { node: 'besu', text: 'Transaction pool not enabled. (Either txpool explicitly disabled, or node not yet in sync).' },
    ],
  },
  {
    outcome: 'wait',
    meaning: 'no block can take it as it is; another version in the slot can',
    pattern:
      /intrinsic ?gas|exceeds (?:block|max transaction)'?s? gas limit|gas limit (?:is )?(?:too high|greater|reached)|^gaslimitexceeded|oversized data|(?:data|transaction) too large|^rlptoolong|initcode|floor data gas/i,
    examples: [
      { node: 'geth', text: 'intrinsic gas too low: gas 21000, minimum needed 21064' },
      { node: 'geth', text: 'exceeds block gas limit' },
      { node: 'geth', text: 'oversized data: transaction size 140000, limit 131072' },
      { node: 'geth', text: 'insufficient gas for floor data gas cost: gas 21064, minimum needed 21160' },
      { node: 'erigon', text: 'gas limit is too high' },
      { node: 'erigon', text: 'IntrinsicGas' },
      { node: 'erigon', text: 'RLPTooLong' },
      { node: 'erigon', text: 'initcode too large' },
      { node: 'nethermind', text: 'gas limit reached, Gas limit: 1, gas limit of rejected tx: 2' },
      { node: 'nethermind', text: 'transaction too large' },
      { node: 'nethermind, older', text: 'GasLimitExceeded, Gas limit: 1, gas limit of rejected tx: 2' },
      { node: 'reth', text: "transaction's gas limit 2 exceeds block's gas limit 1" },
      { node: 'reth', text: 'exceeds max transaction gas limit' },
      { node: 'reth', text: 'max initcode size exceeded' },
      { node: 'besu', text: 'Intrinsic gas exceeds gas limit' },
      { node: 'besu', text: 'Transaction gas limit exceeds block gas limit' },
      { node: 'anvil', text: 'intrinsic gas too low' },
    ],
  },
];
