import { objectFrom } from '../rpc/answer.js';
import type { NodeDialect, RpcCall } from '../rpc/json-rpc.js';
import { integerFrom, textFrom } from './answer.js';

/** How nodes word that a ledger is none that they have: dropped already, or still to come. */
export const rangeText = /ledger range|oldest ledger/i;

/** Internal error, no such method: JSON-RPC's own codes are all that Soroban RPC has. */
const codesAboutNode: readonly number[] = [-32603, -32601];

/** Asks a node for the passphrase of its network. */
export const passphraseCall: RpcCall<string> = {
  method: 'getNetwork',
  params: null,
  read: (answer) => textFrom(objectFrom(answer, 'network').passphrase, 'network passphrase'),
};

/**
 * How Soroban RPC nodes of the network with this passphrase are asked. The passphrase is all that tells networks apart: the first ledger of a network is made
 * from nothing else, so a test network that was started anew has the same one.
 */
export function stellarDialect(passphrase: string): NodeDialect {
  return {
    identity: { name: 'network passphrase', call: passphraseCall, expected: passphrase, isExpected: (answered) => answered === passphrase },
    genesis: null,
    height: {
      method: 'getLatestLedger',
      params: null,
      read: (answer) => integerFrom(objectFrom(answer, 'ledger').sequence, 'ledger sequence'),
    },
    isAboutNode: (code, text) => codesAboutNode.includes(code) || rangeText.test(text),
    dataFrom: () => null,
  };
}
