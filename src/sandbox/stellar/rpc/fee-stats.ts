import type { ClosedLedger } from '../closed-ledger.js';
import type { View } from './view.js';

/** The ledgers in the statistics (stellar-rpc's defaults: CLASSIC_FEE_STATS_RETENTION_WINDOW, SOROBAN_FEE_STATS_RETENTION_WINDOW). */
const window = { classic: 10, soroban: 50 };
/** The other transactions in a ledger that they filled. */
const othersCount = 20;

/** `getFeeStats`: recent charges per operation, without resource fees (stellar-rpc, feewindow); all zeros for an empty window. */
export function feeStats(view: View) {
  return {
    sorobanInclusionFee: distribution(view, true),
    inclusionFee: distribution(view, false),
    latestLedger: view.latest.sequence,
  };
}

function distribution(view: View, isSoroban: boolean) {
  const ledgerCount = Math.min(isSoroban ? window.soroban : window.classic, view.latest.sequence - view.oldest.sequence + 1);
  const fees = Array.from({ length: ledgerCount }, (_, index) => feesOf(view.at(view.latest.sequence - index), isSoroban))
    .flat()
    .sort((one, other) => (one < other ? -1 : 1));
  const at = (percent: number): string => String(fees[Math.max(0, Math.ceil((percent * fees.length) / 100) - 1)] ?? 0n);
  return {
    max: at(100),
    min: at(0),
    mode: String(mostFrequent(fees)),
    ...Object.fromEntries([10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99].map((percent) => [`p${percent}`, at(percent)])),
    transactionCount: String(fees.length),
    ledgerCount,
  };
}

function feesOf(ledger: ClosedLedger | undefined, isSoroban: boolean): readonly bigint[] {
  if (ledger === undefined) return [];
  const { transactions, surgeStroops } = ledger;
  const own = transactions.filter(({ frame }) => frame.isSoroban === isSoroban).map((one) => one.inclusionStroopsPerOperation);
  return surgeStroops === null ? own : [...own, ...new Array<bigint>(othersCount).fill(surgeStroops)];
}

function mostFrequent(sorted: readonly bigint[]): bigint {
  const counts = new Map<bigint, number>();
  for (const fee of sorted) counts.set(fee, (counts.get(fee) ?? 0) + 1);
  const [most = [0n]] = [...counts].sort(([, one], [, other]) => other - one);
  return most[0];
}
