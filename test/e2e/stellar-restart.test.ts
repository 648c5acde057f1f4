import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  paymentBody,
  type StellarClient,
  type StellarRecord,
  type StellarService,
  startStellarService,
} from '../support/network-service.js';
import { createRelayerClient } from '../support/relayer-client.js';
import { startServiceHere } from '../support/service-here.js';
import { createWallet } from '../support/stellar-wallet.js';
import { waitFor } from '../support/wait-for.js';

const reserve = 10_000_000n;

/** Starts the service again. */
async function restarted(test: TestContext, rig: StellarService): Promise<StellarClient> {
  const service = await startServiceHere(rig.home);
  test.after(() => service.stop());
  return createRelayerClient(service.baseUrl);
}

/** Waits until the record is final, with a ledger closed at each look. */
async function finalRecord(rig: StellarService, client: StellarClient, id: string): Promise<StellarRecord> {
  let last: StellarRecord | undefined;
  return waitFor('the record to be final', async () => {
    rig.ledger.close();
    last = await client.get(id);
    return ['confirmed', 'failed', 'expired', 'canceled'].includes(last.status) ? last : undefined;
  }).catch((error: unknown) => {
    throw new Error(`${error instanceof Error ? error.message : error}: ${JSON.stringify(last)}`);
  });
}

describe('a Stellar service after a SIGKILL', () => {
  it('restart: a landed transaction that every node has forgotten is never paid again, and the record says so', async (test) => {
    const rig = await startStellarService({ node: { retentionLedgers: 6 } });
    test.after(() => rig.stop());
    const bob = createWallet(rig.ledger, reserve);
    const sent = await rig.send(paymentBody(bob.address, 7n));
    await rig.untilWaiting(sent.id);
    await rig.service.kill();
    for (let ledgers = 0; ledgers < 20; ledgers += 1) rig.ledger.close();
    const client = await restarted(test, rig);
    const told = await waitFor('the record to say so', async () => {
      rig.ledger.close();
      const record = await client.get(sent.id);
      return /no attempt of the service there/.test(String(record.status_reason)) ? record : undefined;
    });
    assert.equal(told.status, 'submitted');
    for (let ledgers = 0; ledgers < 20; ledgers += 1) rig.ledger.close();
    assert.deepEqual([rig.ledger.waiting(), bob.balance()], [[], reserve + 7n]);
    assert.equal((await client.attempts(sent.id)).length, 1);
  });

  it('restart: a transaction that the node lost meanwhile is rebroadcast', async (test) => {
    const rig = await startStellarService();
    test.after(() => rig.stop());
    const bob = createWallet(rig.ledger, reserve);
    const sent = await rig.send(paymentBody(bob.address, 11n));
    const waiting = await rig.untilWaiting(sent.id);
    await rig.service.kill();
    rig.ledger.forget();
    rig.ledger.close();
    const record = await finalRecord(rig, await restarted(test, rig), sent.id);
    assert.deepEqual([record.status, record.hash], ['confirmed', waiting.hash]);
    assert.equal(bob.balance(), reserve + 11n);
  });

  it('restart: a transaction whose valid_until has passed expires and is not rebroadcast', async (test) => {
    const rig = await startStellarService({ node: { expectedCloseSeconds: 0 } });
    test.after(() => rig.stop());
    const bob = createWallet(rig.ledger, reserve);
    const validUntilMs = Date.now() + 15_000;
    const sent = await rig.send(paymentBody(bob.address, 13n, { valid_until: new Date(validUntilMs).toISOString() }));
    await rig.untilWaiting(sent.id);
    await rig.service.kill();
    rig.ledger.forget();
    await waitFor('its time to be over', () => (Date.now() > validUntilMs + 1_000 ? true : undefined));
    const record = await finalRecord(rig, await restarted(test, rig), sent.id);
    assert.equal(record.status, 'expired');
    assert.equal(bob.balance(), reserve);
  });

  /** The service is killed once a restore waits at the node; these are what happens around that. */
  const kills: Readonly<Record<string, (rig: StellarService) => Promise<void>>> = {
    'while that waits': (rig) => rig.service.kill(),
    'and that lands meanwhile': async (rig) => {
      await rig.service.kill();
      rig.ledger.close();
    },
    'once the call waits': async (rig) => {
      rig.ledger.close();
      await untilOperation(rig, 'invokeHostFunction');
      await rig.service.kill();
    },
  };

  for (const [when, kill] of Object.entries(kills)) {
    it(`restart: archived entries are restored once before a call, and the call lands once: ${when}`, async (test) => {
      const rig = await startStellarService();
      test.after(() => rig.stop());
      rig.node.setRestoring('before it');
      rig.ledger.archiveContracts();
      const operation = {
        type: 'invoke_contract',
        contract_address: rig.ledger.testContract,
        function_name: 'increment',
        args: [{ u32: 5 }],
      };
      const sent = await rig.send({ network: 'local', operations: [operation] });
      await untilOperation(rig, 'restoreFootprint');
      await kill(rig);
      const client = await restarted(test, rig);
      assert.equal((await finalRecord(rig, client, sent.id)).status, 'confirmed');
      assert.match(JSON.stringify(await client.list()), new RegExp(`"key":"needed_by","value":"${sent.id}"`));
      const landed = Array.from(
        { length: rig.ledger.latest().sequence },
        (_, index) => rig.ledger.at(index + 1)?.transactions ?? [],
      ).flat();
      assert.deepEqual(
        landed.flatMap(({ frame }) => frame.transaction.operations.map(({ body }) => body.type)),
        ['restoreFootprint', 'invokeHostFunction'],
      );
    });
  }
});

/** Waits until the node has a transaction with this operation in its queue. */
async function untilOperation({ ledger }: StellarService, type: string): Promise<void> {
  await waitFor(
    `${type} at the node`,
    async () => ledger.waiting().some(({ transaction }) => transaction.operations[0]?.body.type === type) || undefined,
  );
}
