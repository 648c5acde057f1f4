import type { NodeDialect } from '../rpc/json-rpc.js';
import { questions } from './questions.js';

/** Matches the words with which nodes report a ledger that they do not have: dropped or not closed yet. */
export const rangeText = /ledger range|oldest ledger/i;

/** Internal error and method not found: Soroban RPC uses only JSON-RPC's own codes. */
const codesAboutNode: readonly number[] = [-32603, -32601];

/**
 * Returns the dialect of the Soroban RPC nodes of a network. Only the passphrase identifies a network: its first ledger is made from
 * nothing else, so a test network keeps the same identity after a reset.
 */
export function stellarDialect(passphrase: string): NodeDialect {
  return {
    identity: {
      name: 'network passphrase',
      call: questions.passphrase(),
      expected: passphrase,
      shown: (answered) => answered,
    },
    genesis: null,
    position: questions.latestLedger(),
    blockAt: null,
    isAboutNode: (code, text) => codesAboutNode.includes(code) || rangeText.test(text),
    dataFrom: () => null,
  };
}
