import { hash, xdr } from '@stellar/stellar-sdk';
import type { AppliedTransaction } from './apply.js';
import { hexHash } from './frame.js';
import type { Header, LedgerState } from './state.js';

/** A closed ledger. */
export interface ClosedLedger {
  readonly sequence: number;
  readonly closeTimeSeconds: bigint;
  /** The hash of the header in hex; the header contains the previous hash. */
  readonly hash: string;
  readonly header: xdr.LedgerHeader;
  readonly transactions: readonly AppliedTransaction[];
  /** The bid per operation of the other transactions that filled it; null: it had room for all. */
  readonly surgeStroops: bigint | null;
  readonly state: LedgerState;
}

/** The modelled protocol version. */
export const protocolVersion = 27;

const emptyHash = Buffer.alloc(32);

/** Closes a ledger. */
export function sealLedger(
  header: Header,
  previousHash: string | null,
  transactions: readonly AppliedTransaction[],
  state: LedgerState,
  surgeStroops: bigint | null = null,
): ClosedLedger {
  const set = hash(Buffer.concat(transactions.map(({ frame }) => Buffer.from(frame.fullHash, 'hex'))));
  const results = hash(Buffer.concat(transactions.map(({ result }) => result.toXdr())));
  const sealed = new xdr.LedgerHeader({
    ledgerVersion: protocolVersion,
    previousLedgerHash: previousHash === null ? emptyHash : Buffer.from(previousHash, 'hex'),
    scpValue: new xdr.StellarValue({
      txSetHash: set,
      closeTime: header.closeTimeSeconds,
      upgrades: [],
      ext: xdr.StellarValueExt.stellarValueBasic(),
    }),
    txSetResultHash: results,
    bucketListHash: emptyHash,
    ledgerSeq: header.sequence,
    totalCoins: 1_000_000_000_000_000_000n,
    feePool: 0n,
    inflationSeq: 0,
    idPool: 0n,
    baseFee: Number(header.baseFeeStroops),
    baseReserve: Number(header.baseReserveStroops),
    maxTxSetSize: 1000,
    skipList: [emptyHash, emptyHash, emptyHash, emptyHash],
    ext: xdr.LedgerHeaderExt.v0(),
  });
  return {
    sequence: header.sequence,
    closeTimeSeconds: header.closeTimeSeconds,
    hash: hexHash(sealed.toXdr()),
    header: sealed,
    transactions,
    surgeStroops,
    state,
  };
}

/** A ledger's header with its hash. */
export function historyEntryOf(ledger: ClosedLedger): xdr.LedgerHeaderHistoryEntry {
  return new xdr.LedgerHeaderHistoryEntry({
    hash: Buffer.from(ledger.hash, 'hex'),
    header: ledger.header,
    ext: xdr.LedgerHeaderHistoryEntryExt.v0(),
  });
}

/** Encodes the metadata of a ledger for RPC: its header and envelopes, without changes. */
export function closeMetaOf(ledger: ClosedLedger): xdr.LedgerCloseMeta {
  return xdr.LedgerCloseMeta.v0(
    new xdr.LedgerCloseMetaV0({
      ledgerHeader: historyEntryOf(ledger),
      txSet: new xdr.TransactionSet({
        previousLedgerHash: ledger.header.previousLedgerHash,
        txs: ledger.transactions.map(({ frame }) => frame.envelope),
      }),
      txProcessing: [],
      upgradesProcessing: [],
      scpInfo: [],
    }),
  );
}
