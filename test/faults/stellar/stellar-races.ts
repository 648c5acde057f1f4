import { setTimeout as delay } from 'node:timers/promises';
import { paymentBody, type StellarClient, type StellarRecord } from '../../support/network-service.js';
import { type Answer, createRelayerClient } from '../../support/relayer-client.js';
import { openStellarRig } from '../rig.js';
import type { FaultSuite } from '../suite.js';
import { finalStatuses, untilRecord } from '../until.js';
import { auditStellar } from './audit-stellar.js';

/** Changes are fired within this time. */
const windowMs = 40;
/** The ledger closes within this time: a change takes some of it to get to the node. */
const closingMs = 250;
/** Why a change may be refused: a ledger was faster, or an earlier change of the same transaction forbids it. */
const statesThatRefuse = ['TRANSACTION_MINED', 'TRANSACTION_CONFIRMED', 'TRANSACTION_CANCELED'];

/** A requested change, and its answer. */
interface Change {
  readonly verb: 'replace' | 'cancel';
  readonly value: bigint;
  readonly answer: Answer<StellarRecord>;
}

/** Replaces and cancels in the very moment in which a ledger closes; some transactions get two changes at once, and another one waits behind them. */
export const stellarRaces: FaultSuite = async (run) => {
  const { random } = run;
  const { node, home, receiver, launch } = await openStellarRig(run, { node: {} });
  const { ledger } = node;
  const client: StellarClient = createRelayerClient((await launch().listening).baseUrl);
  const rounds = run.isShort ? 25 : 150;
  const tally = { 'replaces kept': 0, 'replaces outrun': 0, 'cancels kept': 0, 'cancels outrun': 0, refused: 0 };
  let values = 1_000_000n;

  const nextValue = (): bigint => {
    values += 1n;
    return values;
  };

  async function send(value: bigint): Promise<StellarRecord> {
    const { record, status, text } = await client.send(paymentBody(receiver, value));
    if (record === null) throw new Error(`a send was answered ${status}: ${text}`);
    return record;
  }

  async function fire({ id }: StellarRecord): Promise<Change> {
    await delay(random.between(0, windowMs));
    const verb = random.chance(0.6) ? 'replace' : 'cancel';
    const value = nextValue();
    const answer = await (verb === 'replace' ? client.replace(id, paymentBody(receiver, value)) : client.cancel(id));
    return { verb, value, answer };
  }

  async function judge({ id }: StellarRecord, sentValue: bigint, changes: readonly Change[]): Promise<void> {
    const record = await client.get(id);
    const attempts = await client.attempts(id);
    const details = { record, sentValue, attempts: attempts.map(({ version, hash, purpose }) => ({ version, hash, purpose })), changes };
    const kept = changes.filter(({ answer }) => answer.status === 200);
    const isCancelKept = kept.some(({ verb }) => verb === 'cancel');
    if (record.status === 'canceled' && !isCancelKept) run.violation('a transaction was canceled, but no cancel call succeeded', details);
    const [newest] = attempts;
    if (newest !== undefined && record.hash !== newest.hash && !/instead of the newest/.test(record.status_reason ?? ''))
      run.violation('an earlier attempt was mined, but status_reason does not say so', details);
    for (const { verb, answer } of changes) {
      if (answer.record === null) {
        tally.refused += 1;
        if (answer.status !== 400 || !statesThatRefuse.includes(answer.reason ?? ''))
          run.violation(`a ${verb} was answered ${answer.status} ${answer.reason}`, details);
      } else tally[`${verb}s ${record.hash === answer.record.hash ? 'kept' : 'outrun'}`] += 1;
    }
  }

  for (let round = 0; round < rounds; round++) {
    const value = nextValue();
    const record = await send(value);
    // In half of the rounds another one waits for the number behind.
    const behind = random.chance(0.5) ? await send(nextValue()) : null;
    await untilRecord(client, record.id, 'it to be at the node', ({ hash }) => ledger.waiting().some((frame) => frame.hash === hash));
    const close = delay(random.between(0, closingMs)).then(() => void ledger.close());
    const fired = Array.from({ length: random.chance(0.3) ? 2 : 1 }, () => fire(record));
    const changes = await Promise.all(fired);
    await close;
    for (const { id } of behind === null ? [record] : [record, behind]) {
      await untilRecord(client, id, `${id} to be final`, ({ status }) => {
        ledger.close();
        return finalStatuses.includes(status);
      });
    }
    await judge(record, value, changes);
  }
  const { books, versions } = await auditStellar(run, { ledger, account: home.address, client });
  const paid = books.transactions.filter(({ value }) => value > 0n).map(({ value }) => value);
  if (new Set(paid).size !== paid.length) run.violation('PAID TWICE: ledgers contain the same payment more than once', paid);
  return { rounds, ...tally, versions, 'on chain': books.transactions.length };
};
