import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as elapsed } from 'node:timers/promises';
import { computeAddress } from 'ethers';
import { startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { deferred } from '../support/deferred.js';
import { addGoogleKey, type FakeGoogleKms, googleSignerOf, startFakeGoogleKms } from '../support/fake-google-kms.js';
import { createServiceHome, type RunningService } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';
import { waitFor } from '../support/wait-for.js';

type Test = { after(task: () => unknown): void };

/** A service whose relayer has a key in a fake provider, on a node with blocks of a second. */
async function startRig(test: Test, limits: string): Promise<{ readonly google: FakeGoogleKms; readonly service: RunningService }> {
  const google = await startFakeGoogleKms(test);
  const address = computeAddress(`0x${Buffer.from(addGoogleKey(google, 'secp256k1').publicKey.bytes).toString('hex')}`);
  const anvil = await startAnvil({ blockTime: 1, args: ['--gas-limit', '300000000', '--order', 'fifo'] });
  test.after(() => anvil.stop());
  await anvil.rpc('anvil_setBalance', [address, '0x56bc75e2d63100000000']);
  const home = await createServiceHome({
    rpcUrl: anvil.url,
    policies: { max_in_flight: 1_000, gas_price_cap: '100000000000' },
    env: { SIGNER_LIMITS: `google_cloud_kms=${limits}` },
  });
  test.after(() => home.remove());
  const file = join(home.dir, 'config.json');
  const signers = [{ id: 's1', type: 'google_cloud_kms', config: googleSignerOf(google).config }];
  await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), signers }));
  const service = await startServiceHere(home);
  test.after(() => service.stop());
  return { google, service };
}

async function send({ baseUrl }: RunningService, value: number): Promise<string> {
  const { status, text, body } = await rest(baseUrl, 'POST', '/relayers/r1/transactions', { to: `0x${'22'.repeat(20)}`, value });
  assert.equal(status, 200, text);
  return body.data.id;
}

/** Waits until all are confirmed, and requires that their nonces follow one another in the order of the sends, each with one attempt. */
async function requireConfirmedInOrder(service: RunningService, ids: readonly string[]): Promise<void> {
  const list = async (filter: string) => (await rest(service.baseUrl, 'GET', `/relayers/r1/transactions?per_page=100&${filter}`)).body;
  await waitFor(
    'all to be confirmed',
    async () => (await list('status=confirmed')).pagination.total_items === ids.length || undefined,
    120_000,
  );
  const nonceOf = new Map<string, number>();
  for (let page = 1; nonceOf.size < ids.length; page += 1)
    for (const { id, nonce } of (await list(`page=${page}`)).data) nonceOf.set(id, nonce);
  assert.deepEqual(
    ids.map((id) => nonceOf.get(id)),
    ids.map((_, index) => index),
  );
}

describe('a relayer whose signer is slow', () => {
  it('100 ms per signature, 64 at once: a lane asks for more than 40 at once, and confirms every transaction in order', async (test) => {
    const { google, service } = await startRig(test, '64/1000');
    const sent = deferred();
    google.pace = () => sent.promise;
    const ids = [await send(service, 1)];
    await waitFor('the first signature', () => google.signatures.running > 0 || undefined);
    for (let part = 0; part < 10; part += 1)
      ids.push(...(await Promise.all(Array.from({ length: 30 }, (_, at) => send(service, 30 * part + at + 2)))).sort());
    google.pace = () => elapsed(100);
    sent.resolve();
    await requireConfirmedInOrder(service, ids);
    assert.ok(google.signatures.most > 40 && google.signatures.most <= 64, `${google.signatures.most} signatures at once`);
  });

  it('calls at once: SIGNER_LIMITS bounds them', async (test) => {
    const { google, service } = await startRig(test, '3');
    google.pace = () => elapsed(20);
    const ids: string[] = [];
    for (let value = 1; value <= 40; value += 1) ids.push(await send(service, value));
    await requireConfirmedInOrder(service, ids);
    assert.equal(google.signatures.most, 3);
  });

  it('a provider that throttles to 10 signatures per second: every transaction is confirmed in order, and nothing reports an error', async (test) => {
    const { google, service } = await startRig(test, '32');
    google.perSecond = 10;
    const ids: string[] = [];
    for (let value = 1; value <= 80; value += 1) ids.push(await send(service, value));
    await requireConfirmedInOrder(service, ids);
    assert.ok(google.signatures.throttled > 0, 'it has throttled');
    assert.ok(google.signatures.throttled < 40, `${google.signatures.throttled} throttled calls`);
    assert.doesNotMatch(service.output(), /"level":(?:40|50|60)|the signer cannot sign/);
  });
});
