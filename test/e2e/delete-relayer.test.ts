import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type AppRig, startAppRig } from '../support/app-rig.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

let rig: AppRig;
before(async () => {
  rig = await startAppRig();
});
after(() => rig?.stop());

it('delete a relayer: succeeds only if no concurrent send was accepted', async () => {
  for (let round = 1; round <= 12; round += 1) {
    const id = `fleeting-${round}`;
    const key = round.toString(16).padStart(64, '0');
    await rig.ask('POST', '/api/v1/signers', { body: JSON.stringify({ id, type: 'plain', config: { key } }) });
    const relayer = { id, name: id, network: 'local', network_type: 'evm', paused: false, signer_id: id };
    assert.equal((await rig.ask('POST', '/api/v1/relayers', { body: JSON.stringify(relayer) })).status, 201);
    const send = () => rig.ask('POST', `/api/v1/relayers/${id}/transactions`, { body: JSON.stringify({ to, value: 1 }) });
    // Before, between and after.
    const early = Array.from({ length: round % 4 }, send);
    const deleting = rig.ask('DELETE', `/api/v1/relayers/${id}`);
    const sends = await Promise.all([...early, ...Array.from({ length: 4 }, send)]);
    const deleted = await deleting;
    const accepted = sends.filter(({ status }) => status === 200).length;
    const reasons = sends.flatMap(({ headers }) => headers['x-error-reason'] ?? []);
    if (deleted.status === 200) assert.equal(accepted, 0, 'what was accepted would never be sent');
    else assert.equal(deleted.headers['x-error-reason'], 'RELAYER_IN_USE');
    for (const reason of reasons) assert.match(reason, /^RELAYER_(NOT_FOUND|PAUSED)$/);
    assert.equal((await rig.ask('GET', `/api/v1/relayers/${id}`)).status, deleted.status === 200 ? 404 : 200);
  }
  assert.deepEqual(rig.errors, []);
});
