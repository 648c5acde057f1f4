import { xdr } from '@stellar/stellar-sdk';
import { listFrom, objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { accountIdFrom } from './address.js';
import { integerFrom, xdrFrom } from './answer.js';

/** An account as a ledger has it. */
export interface Account {
  /** The last sequence number that it used. */
  readonly sequence: bigint;
  /** The ledger in which it was used; null where it was before ledgers noted that (CAP-21). */
  readonly sequenceLedger: bigint | null;
  readonly balanceStroops: bigint;
  /** What it can neither pay nor bid: its reserve, and what its offers to sell have promised. */
  readonly lockedStroops: bigint;
  /** The ledger that this is the state of. */
  readonly ledger: bigint;
}

/** What a ledger demands for each entry that an account has (the header's `baseReserve`; the same on all networks for years). */
const baseReserveStroops = 5_000_000n;

/** Reads an account, `G...`, of the node that told the head; null where it does not exist. Throws `NODE_UNAVAILABLE`. */
export function readAccount(rpc: Rpc, address: string): Promise<Account | null> {
  const key = xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: accountIdFrom(address) })).toXDR('base64');
  return rpc.ask('getLedgerEntries', { keys: [key] }, (answer) => accountFromAnswer(answer, address), { first: 'head' });
}

function accountFromAnswer(answer: unknown, address: string): Account | null {
  const { entries, latestLedger } = objectFrom(answer, 'ledger entries');
  // No entry may also be told by null.
  const [entry, ...others] = entries === null || entries === undefined ? [] : listFrom(entries, 'ledger entries');
  if (others.length > 0) throw new MalformedAnswerError('ledger entries');
  if (entry === undefined) return null;
  const data = xdrFrom(xdr.LedgerEntryData, objectFrom(entry, 'ledger entry').xdr, 'ledger entry');
  if (data.switch().name !== 'account') throw new MalformedAnswerError('account');
  return accountFrom(data.account(), address, integerFrom(latestLedger, 'latest ledger'));
}

function accountFrom(entry: xdr.AccountEntry, address: string, ledger: bigint): Account {
  if (!entry.accountId().ed25519().equals(accountIdFrom(address).ed25519())) throw new MalformedAnswerError('account: it is another one');
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
