import type { BroadcastOutcome, Obstacle } from '../../core/ports/chain/outcomes.js';

/** One kind of rejection, and how nodes word it. */
export interface BroadcastRule {
  readonly outcome: Exclude<BroadcastOutcome['kind'], 'accepted' | 'unknown'>;
  readonly meaning: string;
  /** True if the rejection concerns the node: the next node may accept the transaction. */
  readonly isAboutNode?: true;
  /** Why waiting is unlikely to help. */
  readonly because?: Obstacle;
  /** What is missing: capacity for more transactions of the account, or funds in it. */
  readonly lacks?: 'capacity' | 'funds';
  readonly pattern: RegExp;
  /** Texts of each node, verbatim. A test checks that this rule, and no other, matches them. */
  readonly examples: Readonly<Record<string, readonly string[]>>;
}

/**
 * The first rule whose pattern matches decides. A text that no rule matches is `unknown`: retried and logged. Error codes do not help: geth
 * and reth use
 * -32000 or -32003 for all of these, anvil -32003, nethermind -32010 and later -32000, besu any from -32000 to -32009.
 */
export const broadcastTable: readonly BroadcastRule[] = [
  {
    outcome: 'known',
    meaning: 'the node already has this transaction',
    pattern:
      /already known|\bknown transaction|already imported|existing txn? with same hash|already in (?:the )?(?:mem)?pool|^alreadyknown/i,
    examples: {
      geth: ['already known'],
      'geth before 1.9.17': ['known transaction: 0x1b2c'],
      erigon: ['existing txn with same hash', 'already known'],
      nethermind: ['already known'],
      'nethermind, older': ['AlreadyKnown'],
      reth: ['already known'],
      'reth, pool error': ['[0x1b2c]: already imported'],
      besu: ['Known transaction'],
      anvil: ['transaction already imported', '[0x1b2c] Already imported'],
    },
  },
  {
    outcome: 'underpriced',
    meaning: 'another attempt in the slot bids as much, or the fee bump is too small',
    pattern:
      /replacement (?:transaction|fee)|to replace existing|could not replace|replaced by transaction with higher tip|^replacementnotallowed/i,
    examples: {
      geth: ['replacement transaction underpriced', 'replacement transaction underpriced: new tx gas fee cap 3 <= 3 queued'],
      erigon: [
        'INTERNAL_ERROR: could not replace existing tx',
        'replaced by transaction with higher tip',
        'replacement transaction underpriced',
      ],
      nethermind: ['replacement transaction underpriced, existing transaction bids more'],
      'nethermind, older': ['ReplacementNotAllowed, existing transaction bids more'],
      reth: ['replacement transaction underpriced'],
      'reth, pool error': ['[0x1b2c]: insufficient gas price to replace existing transaction'],
      besu: ['Replacement transaction underpriced'],
      anvil: ['replacement transaction underpriced'],
    },
  },
  {
    outcome: 'nonce_used',
    meaning: 'a mined transaction, this one or another, used the nonce',
    pattern: /(?<!authority )nonce (?:is )?too low|nonce has already been used|nonce \d+ below sender|^oldnonce|(?:^|: )mined$/i,
    examples: {
      geth: ['nonce too low: next nonce 8, tx nonce 7', 'nonce too low: address 0xAb, tx: 7 state: 8'],
      erigon: ['nonce too low', 'INTERNAL_ERROR: mined'],
      nethermind: ['nonce too low, Current nonce: 8, nonce of rejected tx: 7.'],
      'nethermind, older': ['OldNonce, Current nonce: 8, nonce of rejected tx: 7.'],
      reth: ['nonce too low: next nonce 8, tx nonce 7'],
      besu: ['Nonce too low', 'transaction nonce 7 below sender account nonce 8'],
      anvil: ['nonce too low'],
    },
  },
  {
    outcome: 'wait',
    meaning: "the pool or the account's share of it is full",
    isAboutNode: true,
    lacks: 'capacity',
    pattern:
      /pool is full|account limit exceeded|pool size constraints|spammer|in-flight transaction limit|already reserved|type conflict/i,
    examples: {
      geth: [
        'txpool is full',
        'account limit exceeded: pooled 16 txs',
        'in-flight transaction limit reached for delegated accounts',
        'address already reserved',
      ],
      erigon: ['pending sub-pool is full', 'baseFee sub-pool is full', 'spammer'],
      nethermind: ['pending transaction type conflict'],
      reth: [
        'txpool is full',
        'transaction discarded outright due to pool size constraints',
        'rejected due to 0xAb being identified as a spammer',
      ],
    },
  },
  {
    outcome: 'wait',
    meaning: 'an earlier nonce is missing',
    lacks: 'capacity',
    pattern:
      /nonce (?:is )?too (?:high|distant|far)|^nonce(?:gap|toofarinfuture)|gapped.nonce|lower nonce exists|future transaction tries to replace/i,
    examples: {
      geth: ['nonce too high', 'future transaction tries to replace pending'],
      'geth, on arbitrum': ['nonce too high: address 0xAb, tx: 9 state: 8'],
      nethermind: ['nonce too far in future'],
      'nethermind, older': ['NonceGap, Future nonce. Expected nonce: 8', 'NonceTooFarInFuture'],
      reth: ['nonce too high'],
      besu: [
        'Nonce too high',
        'Transaction nonce is too distant from current sender nonce',
        'An invalid transaction with a lower nonce exists',
      ],
    },
  },
  {
    outcome: 'wait',
    meaning: 'the account has insufficient funds',
    lacks: 'funds',
    pattern: /insufficient (?:funds|balance)|up-?front cost|overdraws|^insufficientfunds|exceeds account balance/i,
    examples: {
      geth: ['insufficient funds for gas * price + value: balance 1, tx cost 2, overshot 1'],
      erigon: ['insufficient funds'],
      nethermind: ['insufficient funds for gas * price + value'],
      'nethermind, older': ['InsufficientFunds, Balance is 1 less than sending value + gas 2'],
      reth: ['insufficient funds for gas * price + value: have 1 want 2'],
      'reth, pool error': ['transaction overdraws from account'],
      besu: ['Upfront cost exceeds account balance', 'transaction up-front cost 0x2 exceeds transaction sender account balance 0x1'],
      anvil: ['Insufficient funds for gas * price + value'],
    },
  },
  {
    outcome: 'wait',
    meaning: 'the bid is below what the block or the pool requires',
    pattern: /underpriced|less than block base fee|below (?:current|configured|chain|the)|below minimum|fee too low|^feetoolow|base ?fee/i,
    examples: {
      geth: [
        'transaction underpriced: gas tip cap 0, minimum needed 1000000',
        'max fee per gas less than block base fee: address 0xAb, maxFeePerGas: 1, baseFee: 7',
      ],
      erigon: ['fee too low', 'underpriced'],
      nethermind: ['transaction underpriced'],
      'nethermind, older': ['FeeTooLowToCompete'],
      reth: ['transaction feeCap 1 below chain minimum', 'transaction priority fee below minimum required priority fee 1000000'],
      besu: ['Gas price below current base fee', 'Gas price below configured minimum gas price'],
      anvil: ['max fee per gas less than block base fee'],
    },
  },
  {
    outcome: 'wait',
    meaning: 'this node accepts no transaction that may cost so much; another node may',
    isAboutNode: true,
    because: 'cost',
    pattern: /exceeds the configured cap|fee cap exceeded/i,
    examples: {
      geth: ['tx fee (1.20 ether) exceeds the configured cap (1.00 ether)'],
      reth: ['tx fee (1200000 wei) exceeds the configured cap (1000000 wei)'],
      besu: ['Transaction fee cap exceeded'],
    },
  },
  {
    outcome: 'wait',
    meaning: 'the settings or the state of this node exclude the transaction; another node may accept it',
    isAboutNode: true,
    pattern: /still in progress|pool not enabled|is syncing|^syncing|not authorized to send|plugin has marked/i,
    examples: {
      nethermind: ['node is syncing'],
      besu: [
        'Sender account not authorized to send transactions',
        'Plugin has marked the transaction as invalid',
        'Initial sync is still in progress',
        'Transaction pool not enabled. (Either txpool explicitly disabled, or node not yet in sync).',
      ],
    },
  },
  {
    outcome: 'wait',
    meaning: 'no block can include this attempt; another attempt in the slot may fit',
    because: 'content',
    pattern:
      /intrinsic ?gas|exceeds (?:block|max transaction)'?s? gas limit|gas limit (?:is )?(?:too high|greater|reached)|^gaslimitexceeded|oversized data|(?:data|transaction) too large|^rlptoolong|initcode|floor data gas/i,
    examples: {
      geth: [
        'intrinsic gas too low: gas 21000, minimum needed 21064',
        'exceeds block gas limit',
        'oversized data: transaction size 140000, limit 131072',
        'insufficient gas for floor data gas cost: gas 21064, minimum needed 21160',
      ],
      erigon: ['gas limit is too high', 'IntrinsicGas', 'RLPTooLong', 'initcode too large'],
      nethermind: ['gas limit reached, Gas limit: 1, gas limit of rejected tx: 2', 'transaction too large'],
      'nethermind, older': ['GasLimitExceeded, Gas limit: 1, gas limit of rejected tx: 2'],
      reth: ["transaction's gas limit 2 exceeds block's gas limit 1", 'exceeds max transaction gas limit', 'max initcode size exceeded'],
      besu: ['Intrinsic gas exceeds gas limit', 'Transaction gas limit exceeds block gas limit'],
      anvil: ['intrinsic gas too low'],
    },
  },
];

/** Returns the rule for a node's words; undefined: none matches them. */
export function ruleFor(text: string): BroadcastRule | undefined {
  return broadcastTable.find(({ pattern }) => pattern.test(text));
}
