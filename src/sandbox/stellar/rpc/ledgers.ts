import { remembered } from '../../remembered.js';
import { type ClosedLedger, closeMetaOf, historyEntryOf, protocolVersion } from '../closed-ledger.js';
import { type Params, pageParam } from './params.js';
import { invalidParams, RpcError } from './rpc-error.js';
import { rangeOf, type View } from './view.js';

const maxLimit = 200;
const defaultLimit = 50;

/** `getLatestLedger`. */
export function getLatestLedger({ latest }: View) {
  return {
    id: latest.hash,
    sequence: latest.sequence,
    protocolVersion,
    closeTime: String(latest.closeTimeSeconds),
    ...latestTextsOf(latest),
  };
}

/** Clients ask for the newest ledger much more often than ledgers close. */
const latestTextsOf = remembered((ledger: ClosedLedger) => ({
  headerXdr: ledger.header.toXdr('base64'),
  metadataXdr: closeMetaOf(ledger).toXdr('base64'),
}));

/** `getLedgers` (stellar-rpc, methods/get_ledgers.go): starts at a ledger or after a cursor, which is a ledger number. */
export function getLedgers(params: Params, view: View) {
  const { oldest, latest } = rangeOf(view);
  const page = pageParam(params, { oldest, latest }, maxLimit);
  const start = page.cursor === '' ? page.startLedger : Number(page.cursor) + 1;
  if (page.cursor !== '' && (start < oldest || start > latest)) {
    const range = `the oldest ledger: ${oldest} and the latest ledger: ${latest} for this rpc instance`;
    throw new RpcError(invalidParams, `cursor ('${page.cursor}') must be between ${range}`);
  }
  const end = Math.min(latest, start + (page.limit === 0 ? defaultLimit : page.limit) - 1);
  const ledgers: object[] = [];
  for (let sequence = start; sequence <= end; sequence += 1) {
    const ledger = view.at(sequence);
    if (ledger !== undefined) ledgers.push(ledgerAnswer(ledger));
  }
  return {
    ledgers,
    latestLedger: latest,
    latestLedgerCloseTime: Number(view.latest.closeTimeSeconds),
    oldestLedger: oldest,
    oldestLedgerCloseTime: Number(view.oldest.closeTimeSeconds),
    cursor: String(end),
  };
}

function ledgerAnswer(ledger: ClosedLedger) {
  return {
    hash: ledger.hash,
    sequence: ledger.sequence,
    ledgerCloseTime: String(ledger.closeTimeSeconds),
    headerXdr: historyEntryOf(ledger).toXdr('base64'),
    metadataXdr: closeMetaOf(ledger).toXdr('base64'),
  };
}
