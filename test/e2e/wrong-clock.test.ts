import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseEther } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const dayMs = 86_400_000;
const shiftedClock = fileURLToPath(new URL('../support/shifted-clock.js', import.meta.url));
const payment = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: 7 };

describe('a system clock that is wrong', () => {
  let anvil: Anvil;
  let home: ServiceHome;

  before(async () => {
    anvil = await startAnvil({ blockTime: 1 });
    home = await createServiceHome({ rpcUrl: anvil.url });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('10').toString(16)}`]);
  });

  after(async () => {
    await anvil?.stop();
    await home?.remove();
  });

  /** Runs the service with its clock moved, from its first block until the task has ended. */
  async function withClock(days: number, task: (service: RunningService) => Promise<void>): Promise<void> {
    const env = { ...home.env, NODE_OPTIONS: `--import ${shiftedClock}`, CLOCK_SHIFT_MS: String(days * dayMs) };
    const service = await startService({ ...home, env });
    try {
      await waitFor('the first block', async () => {
        const { body } = await rest(service.baseUrl, 'GET', '/ready');
        return body.networks.local === 'ok' ? true : undefined;
      });
      await task(service);
    } finally {
      await service.stop();
    }
  }

  /** Sends the payment under a key, and returns the id of its transaction. */
  async function pay({ baseUrl }: RunningService, key: string): Promise<string> {
    const { status, body, text } = await rest(baseUrl, 'POST', '/relayers/r1/transactions', payment, { 'idempotency-key': key });
    assert.equal(status, 200, text);
    return body.data.id;
  }

  it('idempotency: a start with the clock two days ahead, and the return to the right time, pay a retried send once', async () => {
    let first = '';
    await withClock(0, async (service) => {
      first = await pay(service, 'ahead');
    });
    await withClock(2, async (service) => {
      assert.equal(await pay(service, 'ahead'), first);
      await waitFor('the warning', () => (/the system clock is 2\d{3} min ahead of/.test(service.output()) ? true : undefined));
    });
    await withClock(0, async (service) => assert.equal(await pay(service, 'ahead'), first));
  });

  it('idempotency: a key that was used while the clock was two days behind is still known at the right time', async () => {
    let first = '';
    await withClock(-2, async (service) => {
      first = await pay(service, 'behind');
    });
    await withClock(0, async (service) => assert.equal(await pay(service, 'behind'), first));
  });
});
