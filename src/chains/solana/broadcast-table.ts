import type { BroadcastOutcome } from '../../core/ports/chain/outcomes.js';

/** A rule for the words with which nodes reject a transaction. */
export interface BroadcastRule {
  readonly outcome: Exclude<BroadcastOutcome['kind'], 'accepted' | 'nonce_used' | 'underpriced'>;
  readonly meaning: string;
  /** True if the answer is about the node: the next node is asked and may accept the transaction. */
  readonly isAboutNode?: true;
  readonly pattern: RegExp;
  /** Codes and texts of real nodes; a test matches each to its rule. */
  readonly examples: readonly { readonly code: number; readonly text: string }[];
}

/**
 * The first rule whose pattern matches `<code> <text>` decides. An answer that matches no rule is `unknown`: retried and logged. Without
 * preflight nodes reject little; gateways check more. Codes and texts are from Agave's `rpc-client-api/src/custom_error.rs` and from
 * `TransactionError` in its `sdk/transaction-error`, which preflight prefixes with "Transaction simulation failed: ".
 */
export const broadcastTable: readonly BroadcastRule[] = [
  {
    outcome: 'known',
    meaning: 'a block contains this transaction',
    pattern: /already (?:been )?processed|AlreadyProcessed/i,
    examples: [
      { code: -32002, text: 'Transaction simulation failed: This transaction has already been processed' },
      { code: -32002, text: 'Transaction simulation failed: AlreadyProcessed' },
    ],
  },
  {
    outcome: 'wait',
    meaning: 'the node does not know the blockhash: it lags, or the transaction is dead',
    isAboutNode: true,
    pattern: /blockhash ?not ?found/i,
    examples: [
      { code: -32002, text: 'Transaction simulation failed: Blockhash not found' },
      { code: -32002, text: 'Transaction simulation failed: BlockhashNotFound' },
    ],
  },
  {
    outcome: 'wait',
    meaning: 'the account cannot pay now',
    pattern: /insufficient (?:funds|lamports)|InsufficientFunds|no record of a prior credit|AccountNotFound/i,
    examples: [
      { code: -32002, text: 'Transaction simulation failed: Insufficient funds for fee' },
      { code: -32002, text: 'Transaction simulation failed: Transaction results in an account (0) with insufficient funds for rent' },
      { code: -32002, text: 'Transaction simulation failed: Attempt to debit an account but found no record of a prior credit.' },
    ],
  },
  {
    outcome: 'unknown',
    meaning: 'the node is behind or has a problem',
    isAboutNode: true,
    pattern: /^-320(?:05|04|14|16) |node is (?:behind|unhealthy)|minimum context slot|^-32603 |^429 |too many requests/i,
    examples: [
      { code: -32005, text: 'Node is behind by 42 slots' },
      { code: -32005, text: 'Node is unhealthy' },
      { code: -32004, text: 'Block not available for slot 7' },
      { code: -32014, text: 'Block status not yet available for slot 7' },
      { code: -32016, text: 'Minimum context slot has not been reached' },
      { code: -32603, text: 'Internal error' },
      { code: 429, text: 'Too many requests for a specific RPC call' },
    ],
  },
  {
    outcome: 'wait',
    meaning: 'the node does not accept such transactions; others may',
    isAboutNode: true,
    pattern: /^-320(?:15|13) |^-32601 |^-32602 |signature verification fail|^-32003 |precompile verification/i,
    examples: [
      { code: -32003, text: 'Transaction signature verification failure' },
      { code: -32006, text: 'Transaction precompile verification failure InvalidAccountIndex' },
      { code: -32013, text: 'Transaction signature length mismatch' },
      {
        code: -32015,
        text: 'Transaction version (0) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": 0',
      },
      { code: -32601, text: 'Method not found' },
      { code: -32602, text: 'invalid transaction: Transaction failed to sanitize accounts offsets correctly' },
    ],
  },
  {
    outcome: 'wait',
    meaning: 'it failed in the simulation of the node; it stays live until its blockhash expires',
    pattern: /^-32002 /,
    examples: [{ code: -32002, text: 'Transaction simulation failed: Error processing Instruction 0: custom program error: 0x1' }],
  },
];

/** Returns the rule for a node's refusal; undefined: none knows its words. */
export function ruleFor({ code, message }: { readonly code: number; readonly message: string }): BroadcastRule | undefined {
  const said = `${code} ${message}`;
  return broadcastTable.find(({ pattern }) => pattern.test(said));
}
