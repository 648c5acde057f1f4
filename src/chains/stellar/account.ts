import { xdr } from '@stellar/stellar-sdk';
import { listFrom, objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import type { CallOptions, Rpc } from '../rpc/rpc.js';
import { accountIdFrom } from './address.js';
import { integerFrom, xdrFrom } from './answer.js';

/** The state of an account at a ledger. */
export interface Account {
  /** The last sequence number that the account used. */
  readonly sequence: bigint;
  /** The ledger that used it; null if that was before ledgers recorded it (CAP-21). */
  readonly sequenceLedger: bigint | null;
  readonly balanceStroops: bigint;
  /** The amount that the account cannot spend: its reserve and its selling liabilities. */
  readonly lockedStroops: bigint;
  /** The ledger of this state. */
  readonly ledger: bigint;
}

/** The reserve per ledger entry (the header's `baseReserve`; the same on all networks for years). */
const baseReserveStroops = 5_000_000n;

/** Reads an account (`G...`), by default from the node that reported the head; null if it does not exist. Throws `NODE_UNAVAILABLE`. */
export function readAccount(rpc: Rpc, address: string, first: CallOptions['first'] = 'head'): Promise<Account | null> {
  const key = xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: accountIdFrom(address) })).toXDR('base64');
  return rpc.ask('getLedgerEntries', { keys: [key] }, (answer) => accountFromAnswer(answer, address), { first });
}

function accountFromAnswer(answer: unknown, address: string): Account | null {
  const { entries, latestLedger } = objectFrom(answer, 'ledger entries');
  // Some nodes report an empty list as null.
  const [entry, ...others] = entries === null || entries === undefined ? [] : listFrom(entries, 'ledger entries');
  if (others.length > 0) throw new MalformedAnswerError('ledger entries');
  if (entry === undefined) return null;
  const data = xdrFrom(xdr.LedgerEntryData, objectFrom(entry, 'ledger entry').xdr, 'ledger entry');
  if (data.switch().name !== 'account') throw new MalformedAnswerError('account');
  return accountFrom(data.account(), address, integerFrom(latestLedger, 'latest ledger'));
}

function accountFrom(entry: xdr.AccountEntry, address: string, ledger: bigint): Account {
  if (!entry.accountId().ed25519().equals(accountIdFrom(address).ed25519()))
    throw new MalformedAnswerError('account: not the requested one');
  const v1 = entry.ext().switch() === 1 ? entry.ext().v1() : null;
  const v2 = v1 !== null && v1.ext().switch() === 2 ? v1.ext().v2() : null;
  const v3 = v2 !== null && v2.ext().switch() === 3 ? v2.ext().v3() : null;
  const reservedEntries = 2 + entry.numSubEntries() + (v2?.numSponsoring() ?? 0) - (v2?.numSponsored() ?? 0);
  return {
    sequence: entry.seqNum().toBigInt(),
    sequenceLedger: v3 === null ? null : BigInt(v3.seqLedger()),
    balanceStroops: entry.balance().toBigInt(),
    lockedStroops: BigInt(reservedEntries) * baseReserveStroops + (v1?.liabilities().selling().toBigInt() ?? 0n),
    ledger,
  };
}
