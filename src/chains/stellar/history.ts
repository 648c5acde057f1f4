import type { BlockRange } from '../../core/ports/chain/head.js';
import type { NonceAnswer, NoSender, SenderUse } from '../../core/ports/chain/outcomes.js';
import { max, min } from '../../core/records/bigints.js';
import { agreedTime } from '../rpc/agreed.js';
import { type First, nonceAnswer } from '../rpc/endpoint-selector.js';
import { NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import type { SecondReadings } from '../rpc/second-reading.js';
import { inUse } from '../rpc/second-word.js';
import { readAccount } from './account.js';
import type { AccountOpinions } from './account-opinions.js';
import { accountOf } from './address.js';
import { rangeText } from './dialect.js';
import { identityOf, type TransactionIdentity } from './envelope.js';
import { type HistoryPage, historyPageSize, questions } from './questions.js';
import type { Account } from './read-entries.js';
import { ledgerName } from './receipts.js';
import { hasSigned } from './sign.js';
import { withoutAuth } from './simulate.js';

/** A ledger of a public network has a few pages at most. */
const maxPages = 40;
/** An earlier number was probably used shortly before the last one. */
const ledgersBefore = 20n;

/**
 * Returns the account's next sequence number after a ledger; `absent` if it does not exist now, `pruned` if the number changed since,
 * because nodes keep no older state. If the endpoint of the head shows another number than the last number that several have agreed on, or
 * the next one, three endpoints or more decide. If another endpoint is asked for its word, or nodes refuse that number, two decide.
 */
export async function readSequenceAt(
  { rpc, opinions }: Pick<HistoryDeps, 'rpc' | 'opinions'>,
  address: string,
  ledger: bigint,
  first: First,
): Promise<NonceAnswer> {
  const answeredBy = new Set<number>();
  const shown = await readAccount(rpc, address, { first, answeredBy });
  const steps = shown === null ? null : opinions.stepsSince(address, shown.sequence);
  const answer = nonceAnswer(numberAt(shown, ledger), answeredBy);
  const isRefuted = opinions.isRefuted(address, shown);
  if (steps === 0n && !isRefuted) return { ...answer, isOfSeveral: true };
  const isFirst = first === 'head' && !isRefuted;
  const agreed = (isFirst && steps === 1n) || inUse(rpc) < (isFirst ? 3 : 2) ? null : await opinions.agreed(address);
  if (agreed === null) return answer;
  if (agreed.account !== null) opinions.noteSequence(address, agreed.account.sequence);
  return { next: numberAt(agreed.account, ledger), isOfSeveral: true };
}

function numberAt(account: Account | null, ledger: bigint): NonceAnswer['next'] {
  if (account === null) return 'absent';
  const isKnown = ledger >= account.ledger || (account.sequenceLedger !== null && ledger >= account.sequenceLedger);
  return isKnown ? account.sequence + 1n : 'pruned';
}

/** The dependencies of the search for a transaction. */
export interface HistoryDeps {
  readonly opinions: AccountOpinions;
  readonly rpc: Rpc;
  readonly networkId: Buffer;
  readonly secondReading: Pick<SecondReadings, 'noteSource' | 'isRefuted'>;
}

/**
 * Finds the transaction that used a sequence number; in a fee-bump envelope that is the inner one. The account records the ledger of its
 * last number; earlier numbers are searched for a few ledgers further back, with a bounded number of calls. What others have refuted is
 * searched at another endpoint. Throws `NODE_UNAVAILABLE`.
 */
export async function findSenderTransaction(
  deps: HistoryDeps,
  address: string,
  sequence: bigint,
  blocks: BlockRange,
): Promise<SenderUse | NoSender> {
  const { rpc, opinions, secondReading } = deps;
  const account = await opinions.read(address, (shown) => shown !== null && shown.sequence >= sequence);
  if (account === null || account.sequence < sequence) return 'unused';
  const ledgers = likelyLedgers(account, sequence, blocks, await rpc.ask(questions.oldestLedger()));
  if (ledgers === null) return 'pruned';
  const shown = await scan(deps, address, sequence, ledgers, 'head');
  const found =
    typeof shown === 'object' && secondReading.isRefuted(shown) ? await scan(deps, address, sequence, ledgers, 'another') : shown;
  if (found !== 'not_found') return found;
  return account.sequence === sequence || ledgers.from <= blocks.from ? 'not_found' : 'pruned';
}

/** True if an endpoint shows a transaction with the account's signature that used its last number. Throws `NODE_UNAVAILABLE`. */
export async function hasUsedLast(deps: Omit<HistoryDeps, 'opinions'>, address: string, account: Account): Promise<boolean> {
  const { sequence, ledger } = account;
  const ledgers = likelyLedgers(account, sequence, { from: 0n, to: ledger }, await deps.rpc.ask(questions.oldestLedger()));
  if (ledgers === null) return false;
  for (const first of ['head', 'another'] as const)
    if (typeof (await scan(deps, address, sequence, ledgers, first)) === 'object') return true;
  return false;
}

/** Returns the ledgers to search; null if the account does not record them or the node has dropped them. */
function likelyLedgers(
  { sequence: last, sequenceLedger }: Account,
  sequence: bigint,
  { from, to }: BlockRange,
  oldest: bigint,
): BlockRange | null {
  if (sequenceLedger === null) return null;
  const end = min(sequenceLedger, to);
  const start = last === sequence ? end : end - ledgersBefore;
  const first = max(start, from, oldest);
  return first > end ? null : { from: first, to: end };
}

async function scan(
  { rpc, networkId, secondReading }: Omit<HistoryDeps, 'opinions'>,
  address: string,
  sequence: bigint,
  { from, to }: BlockRange,
  first: First,
): Promise<SenderUse | 'not_found' | 'pruned'> {
  let cursor: string | null = null;
  for (let pages = 0; pages < maxPages; pages += 1) {
    const answeredBy = new Set<number>();
    let page: HistoryPage;
    try {
      page = await rpc.call(questions.history(from, cursor), { first, answeredBy });
    } catch (error) {
      // The node has dropped these ledgers.
      if (error instanceof NodeError && rangeText.test(error.message)) return 'pruned';
      throw nodeUnavailable(error);
    }
    for (const { envelope, ledger } of page.transactions) {
      const sender = envelope === null ? null : identityOf(envelope, networkId);
      if (sender === null || accountOf(sender.address) !== address || sender.sequence !== sequence || !isSigned(sender, address)) continue;
      const use = {
        hash: sender.innerHash,
        blockNumber: ledger,
        blockHash: ledgerName(ledger),
        timeMs: () => closeTimeOf(rpc, ledger),
        does: doesWhat(sender),
      };
      secondReading.noteSource(use, [...answeredBy][0]);
      return use;
    }
    const last = page.transactions.at(-1);
    if (last === undefined || last.ledger > to || page.transactions.length < historyPageSize) return 'not_found';
    cursor = page.cursor;
  }
  return 'pruned';
}

/** An endpoint keeps more ledgers than these, and none that follows the chain lags as much. */
const oldAfterLedgers = 720n;

/** Reads when a ledger that holds a transaction closed, as two endpoints show it; see `SenderUse.timeMs`. */
function closeTimeOf(rpc: Rpc, ledger: bigint): Promise<number | null> {
  // An endpoint that lags refuses a newer ledger in the same words.
  const isOld = (rpc.newestNumber() ?? ledger) - ledger > oldAfterLedgers;
  return agreedTime(rpc, async (options) => {
    try {
      const [first] = (await rpc.call(questions.history(ledger, null), options)).transactions;
      return (first?.ledger === ledger ? first.timeMs : null) ?? 'other';
    } catch (error) {
      if (isOld && error instanceof NodeError && rangeText.test(error.message)) return 'none';
      throw nodeUnavailable(error);
    }
  });
}

/**
 * True if the account's own key signed the transaction that uses the sequence number. A node's word alone must not give a payment another
 * sequence number. What other signers of the account send stays unexplained.
 */
function isSigned({ innerHash, signatures }: TransactionIdentity, address: string): boolean {
  const hash = Buffer.from(innerHash, 'hex');
  return signatures.some((one) => hasSigned(address, one.signature.value, hash));
}

/**
 * Compares contents with a transaction that the service itself has made to send it: what it signed for callers is theirs. The simulation
 * gave a contract call an authorization that its content lacks.
 */
function doesWhat({ operations, memo, isMarked }: TransactionIdentity): SenderUse['does'] {
  return (content) =>
    isMarked &&
    content.network === 'stellar' &&
    content.kind === 'operations' &&
    content.memo === memo.toXdr('base64') &&
    content.operations.join() === operations.map((one) => (content.auth === 'simulated' ? withoutAuth(one) : one).toXdr('base64')).join();
}
