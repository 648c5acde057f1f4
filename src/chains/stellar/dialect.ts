import { xdr } from '@stellar/stellar-sdk';
import { objectFrom } from '../rpc/answer.js';
import type { NodeDialect, RpcCall } from '../rpc/json-rpc.js';
import type { Position } from '../rpc/lag-tracker.js';
import { integerFrom, textFrom } from './answer.js';
import { type LedgerRules, leastBaseFeeStroops, maxBaseFeeStroops } from './fee-rules.js';
import { readXdr } from './xdr-text.js';

/** Matches the words with which nodes report a ledger that they do not have: dropped or not closed yet. */
export const rangeText = /ledger range|oldest ledger/i;

/** Internal error and method not found: Soroban RPC uses only JSON-RPC's own codes. */
const codesAboutNode: readonly number[] = [-32603, -32601];

/** Reads the passphrase of a node's network. */
export const passphraseCall: RpcCall<string> = {
  method: 'getNetwork',
  params: null,
  read: (answer) => textFrom(objectFrom(answer, 'network').passphrase, 'network passphrase'),
};

/** A node's latest ledger. */
export interface LatestLedger extends Position {
  /** Null: the node reports no readable header. */
  readonly rules: LedgerRules | null;
}

/** Reads a node's latest ledger. Older nodes omit the close time and the header. */
export const latestLedgerCall: RpcCall<LatestLedger> = {
  method: 'getLatestLedger',
  params: null,
  read(answer) {
    const { sequence, closeTime, headerXdr } = objectFrom(answer, 'ledger');
    const timestampMs = closeTime === undefined ? null : Number(integerFrom(closeTime, 'close time')) * 1000;
    return { number: integerFrom(sequence, 'ledger sequence'), timestampMs, rules: rulesFrom(headerXdr) };
  },
};

function rulesFrom(headerXdr: unknown): LedgerRules | null {
  const header = typeof headerXdr === 'string' ? readXdr(xdr.LedgerHeader, headerXdr) : null;
  if (header === null) return null;
  const baseFee = BigInt(header.baseFee);
  const baseFeeStroops = baseFee < leastBaseFeeStroops ? leastBaseFeeStroops : baseFee > maxBaseFeeStroops ? maxBaseFeeStroops : baseFee;
  return { baseFeeStroops, baseReserveStroops: BigInt(header.baseReserve) };
}

/**
 * Returns the dialect of the Soroban RPC nodes of a network. Only the passphrase identifies a network: its first ledger is made from
 * nothing else, so a test network keeps the same identity after a reset.
 */
export function stellarDialect(passphrase: string): NodeDialect {
  return {
    identity: { name: 'network passphrase', call: passphraseCall, expected: passphrase, isExpected: (answered) => answered === passphrase },
    genesis: null,
    position: latestLedgerCall,
    hashAt: null,
    isAboutNode: (code, text) => codesAboutNode.includes(code) || rangeText.test(text),
    dataFrom: () => null,
  };
}
