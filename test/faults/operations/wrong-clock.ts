import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { rest } from '../../support/callers.js';
import { createRelayerClient, type RelayerClient } from '../../support/relayer-client.js';
import { audit, auditPayments } from '../audit.js';
import { paymentOf } from '../payment.js';
import { openRig } from '../rig.js';
import type { FaultSuite } from '../suite.js';
import { untilEverythingIsFinal } from '../until.js';

const dayMs = 86_400_000;
const shiftedClock = fileURLToPath(new URL('../../support/shifted-clock.js', import.meta.url));
const greatestLifeMs = 1_500;

/**
 * The system clock of each life is right, or two days ahead or behind, and each life ends by a kill. Callers repeat all their payments in each life, each
 * under its own idempotency key: each is accepted as one transaction, and is on the chain once.
 */
export const wrongClock: FaultSuite = async (run) => {
  const rig = await openRig(run, { anvil: { blockTime: 0.5 }, requiredConfirmations: 2 });
  const accepted = new Map<bigint, string>();
  const unanswered = new Set<bigint>();
  const lives = run.isShort ? 5 : 40;
  let payments = 0;

  async function pay(client: RelayerClient & { readonly baseUrl: string }, index: number): Promise<void> {
    const payment = paymentOf(index);
    const value = BigInt(payment.value);
    const headers = { 'idempotency-key': `payment-${index}` };
    try {
      const { status, body, text } = await rest(client.baseUrl, 'POST', '/relayers/r1/transactions', payment, headers);
      if (status !== 200) return run.violation(`a send was answered ${status}: ${text}`);
      const earlier = accepted.get(value);
      if (earlier !== undefined && earlier !== body.data.id)
        run.violation('a repeated payment was accepted as another transaction', { index, earlier, now: body.data.id });
      accepted.set(value, earlier ?? body.data.id);
      unanswered.delete(value);
    } catch {
      if (!accepted.has(value)) unanswered.add(value);
    }
  }

  for (let life = 0; life < lives; life += 1) {
    const days = [0, 2, 0, -2][life % 4] ?? 0;
    const { service, client } = await rig.start({ NODE_OPTIONS: `--import ${shiftedClock}`, CLOCK_SHIFT_MS: String(days * dayMs) });
    const at = { ...client, baseUrl: service.baseUrl };
    payments += 5;
    const paying = Promise.all(Array.from({ length: payments }, (_, index) => pay(at, index)));
    await delay(run.random.between(0, greatestLifeMs));
    await service.kill();
    await paying;
  }
  const { service, client } = await rig.start();
  await Promise.all(
    Array.from({ length: payments }, (_, index) => pay({ ...createRelayerClient(service.baseUrl), baseUrl: service.baseUrl }, index)),
  );
  const records = await untilEverythingIsFinal(run, client, run.isShort ? 60_000 : 120_000);
  const ledger = await audit(run, { anvil: rig.anvil, account: rig.home.address, client });
  await auditPayments(run, client, ledger, { accepted, unanswered });
  if (accepted.size !== payments) run.violation('not every payment was accepted in the last life', { accepted: accepted.size, payments });
  return { lives, payments, records: records.length, 'on chain': ledger.transactions.length };
};
