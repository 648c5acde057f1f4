import { setTimeout as delay } from 'node:timers/promises';
import type { RelayerClient } from '../../support/relayer-client.js';
import { waitFor } from '../../support/wait-for.js';
import { audit, auditPayments } from '../audit.js';
import { paymentOf } from '../payment.js';
import type { FaultRig } from '../rig.js';
import type { FaultRun, Figures } from '../suite.js';
import { untilEverythingIsFinal } from '../until.js';

const callers = 3;
/** Between two sends of a caller: a relayer has at most 16 transactions in flight. */
const greatestPauseMs = 150;

/** Callers that pay on while an operator does what he should not. */
export interface Traffic {
  /** Answered 200, with the record's id, by the payment's value. */
  readonly accepted: ReadonlyMap<bigint, string>;
  /** Sends from several callers. The returned function ends that, and resolves when no call is under way. */
  start(client: RelayerClient): () => Promise<void>;
  /** Resolves when this many more payments are accepted; false if that takes longer than `limitMs`. */
  untilAccepted(more: number, limitMs?: number): Promise<boolean>;
  /** Sends for so long that most calls of a moment are hit. */
  aWhile(): Promise<void>;
  /** Waits until all records are final, and compares them and every answer with the chain. */
  audit(rig: FaultRig, client: RelayerClient): Promise<Figures>;
}

/** Makes the callers of a suite; no two payments are the same. */
export function createTraffic(run: FaultRun): Traffic {
  const { random } = run;
  const accepted = new Map<bigint, string>();
  const unanswered = new Set<bigint>();
  let next = 0;

  async function send(client: RelayerClient): Promise<void> {
    const payment = paymentOf(next++);
    const value = BigInt(payment.value);
    try {
      const { record } = await client.send(payment);
      // An answer other than 200 does not say whether the payment was stored.
      if (record === null) unanswered.add(value);
      else accepted.set(value, record.id);
    } catch {
      unanswered.add(value);
    }
  }

  return {
    accepted,
    start(client) {
      const ending = new AbortController();
      const { signal } = ending;
      const sending = Array.from({ length: callers }, async () => {
        while (!signal.aborted) {
          await send(client);
          await delay(random.between(0, greatestPauseMs), undefined, { signal }).catch(() => undefined);
        }
      });
      return async () => {
        ending.abort();
        await Promise.all(sending);
      };
    },
    async untilAccepted(more, limitMs = 30_000) {
      const wanted = accepted.size + more;
      const isThere = () => (accepted.size >= wanted ? true : undefined);
      return waitFor(`${wanted} accepted payments`, isThere, limitMs).catch(() => false);
    },
    aWhile: () => delay(random.between(50, 600)),
    async audit({ anvil, home }, client) {
      const records = await untilEverythingIsFinal(run, client, run.isShort ? 60_000 : 180_000);
      const ledger = await audit(run, { anvil, account: home.address, client });
      await auditPayments(run, client, ledger, { accepted, unanswered });
      if (accepted.size === 0) run.violation('no payment was accepted, so the suite shows nothing');
      return { accepted: accepted.size, unanswered: unanswered.size, records: records.length, 'on chain': ledger.transactions.length };
    },
  };
}
