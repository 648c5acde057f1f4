import { setTimeout as delay } from 'node:timers/promises';
import type { Answer, TransactionRecord } from '../support/relayer-client.js';
import { audit } from './audit.js';
import { numbersFrom, otherReceiver, sendAll } from './payment.js';
import { openRig } from './rig.js';
import type { FaultSuite } from './suite.js';
import { untilAll } from './until.js';

const perRound = 10;
/** Changes and the block are fired within this time. */
const windowMs = 50;
/** Why a change may be refused: a block was faster, or an earlier change of the same transaction forbids it. */
const statesThatRefuse = ['TRANSACTION_MINED', 'TRANSACTION_CONFIRMED', 'TRANSACTION_CANCELED'];

/** A requested change. */
interface Change {
  readonly verb: 'replace' | 'cancel';
  readonly answer: Answer;
}

/** Replaces and cancels in the very moment in which a block is mined; some transactions get two changes at once. */
export const races: FaultSuite = async (run) => {
  const { random } = run;
  const rig = await openRig(run, { requiredConfirmations: 2 });
  const { anvil, home } = rig;
  const { client } = await rig.start();
  const wanted = run.isShort ? 40 : 300;
  const changesOf = new Map<string, Change[]>();
  let fired = 0;
  let sent = 0;

  async function fire(record: TransactionRecord): Promise<void> {
    const number = fired++;
    await delay(random.between(0, windowMs));
    const verb = random.chance(0.6) ? 'replace' : 'cancel';
    const body = { to: otherReceiver, value: String(2_000_000_000 + number), speed: 'fast' };
    const answer = await (verb === 'replace' ? client.replace(record.id, body) : client.cancel(record.id));
    changesOf.set(record.id, [...(changesOf.get(record.id) ?? []), { verb, answer }]);
  }

  while (fired < wanted) {
    const records = await sendAll(client, numbersFrom(sent, perRound));
    sent += perRound;
    await untilAll(client, records, ['submitted']);
    const block = delay(random.between(0, windowMs)).then(() => anvil.mine());
    const twice = records.filter(() => random.chance(0.2));
    await Promise.all([block, ...[...records, ...twice].map(fire)]);
    const deadline = Date.now() + 60_000;
    for (;;) {
      await anvil.mine();
      const isEnded = await untilAll(client, records, ['confirmed', 'canceled', 'failed', 'expired'], 500).then(
        () => true,
        () => false,
      );
      if (isEnded) break;
      if (Date.now() > deadline) {
        const open = (await client.list()).filter(({ confirmed_at, status }) => confirmed_at === null && status !== 'canceled');
        run.violation(`${open.length} transactions are not final 60 s after their race`, open.slice(0, 3));
        return { fired };
      }
    }
  }

  const ledger = await audit(run, { anvil, account: home.address, client });
  const tally = { 'replaces kept': 0, 'replaces outrun': 0, 'cancels kept': 0, 'cancels outrun': 0, refused: 0 };
  for (const [id, changes] of changesOf) {
    const record = await client.get(id);
    const attempts = await client.attempts(id);
    const details = { record, attempts: attempts.map(({ version, hash, purpose }) => ({ version, hash, purpose })), changes };
    const newest = attempts.reduce((most, attempt) => (attempt.version > most.version ? attempt : most));
    const isCancelKept = changes.some(({ verb, answer }) => verb === 'cancel' && answer.status === 200);
    if (isCancelKept && !(record.status === 'canceled' || (record.status === 'confirmed' && record.is_canceled)))
      run.violation(`an accepted cancel ended ${record.status}, is_canceled ${record.is_canceled}`, details);
    if (!isCancelKept && (record.status === 'canceled' || record.is_canceled))
      run.violation('a transaction was canceled, but no cancel call succeeded', details);
    const isOutrun = record.to !== newest.to || record.value !== newest.value;
    if (isOutrun && !/instead of the newest/.test(record.status_reason ?? ''))
      run.violation('an earlier attempt was mined, but status_reason does not say so', details);
    const kept = changes.filter(({ answer }) => answer.status === 200);
    if (attempts.length < 1 + new Set(kept.map(({ answer }) => answer.record?.hash)).size)
      run.violation('ListAttempts lacks an attempt that a response reported', details);
    for (const { verb, answer } of changes) {
      if (answer.record === null) {
        tally.refused += 1;
        if (answer.status !== 400 || !statesThatRefuse.includes(answer.reason ?? ''))
          run.violation(`a ${verb} was answered ${answer.status} ${answer.reason}`, details);
        continue;
      }
      if (!attempts.some(({ hash }) => hash === answer.record?.hash))
        run.violation('ListAttempts lacks a hash that a response reported', details);
      tally[`${verb}s ${record.hash === answer.record.hash ? 'kept' : 'outrun'}`] += 1;
    }
  }
  return { fired, sends: sent, ...tally, 'on chain': ledger.transactions.length };
};
