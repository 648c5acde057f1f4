import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { parseEther } from 'ethers';
import { signerOf } from '../../src/sandbox/solana/build-transaction.js';
import { startSolana } from '../../src/sandbox/solana/start-solana.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { startHttpReceiver } from '../support/http-receiver.js';
import { createEd25519Home, createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { paymentBody } from '../support/solana-body.js';
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
  async function withClock(days: number, task: (service: RunningService) => Promise<void>, of: ServiceHome = home): Promise<void> {
    const env = { ...of.env, NODE_OPTIONS: `--import ${shiftedClock}`, CLOCK_SHIFT_MS: String(days * dayMs) };
    const service = await startService({ ...of, env });
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

  async function untilWarned(service: RunningService): Promise<void> {
    await waitFor('the warning', () => (/the system clock is 2\d{3} min ahead of/.test(service.output()) ? true : undefined));
  }

  it('retention: a start with the clock two days ahead deletes no finished transaction and no delivery, though both live for less', async (test) => {
    const receiver = await startHttpReceiver(test, (response) => response.end());
    const own = await createServiceHome({
      rpcUrl: anvil.url,
      notifications: [{ id: 'hook', type: 'webhook', url: receiver.url('/') }],
      notificationId: 'hook',
      env: { TRANSACTION_EXPIRATION_HOURS: '1', WEBHOOK_RETENTION_DAYS: '1' },
    });
    test.after(() => own.remove());
    await anvil.rpc('anvil_setBalance', [own.address, `0x${parseEther('10').toString(16)}`]);
    let id = '';
    const stored = async ({ baseUrl }: RunningService) => {
      const { body: record } = await rest(baseUrl, 'GET', `/relayers/r1/transactions/${id}`);
      const { body: page } = await rest(baseUrl, 'GET', '/notifications/hook/deliveries?per_page=100');
      return { status: record.data?.status, deliveries: page.data.map((delivery: { status: string }) => delivery.status) };
    };
    const wanted = { status: 'confirmed', deliveries: Array<string>(5).fill('delivered') };
    const isStored = async (service: RunningService) => (isDeepStrictEqual(await stored(service), wanted) ? true : undefined);
    await withClock(
      0,
      async (service) => {
        id = await pay(service, 'kept');
        await waitFor('the confirmation and its deliveries', () => isStored(service));
      },
      own,
    );
    await withClock(2, untilWarned, own);
    await withClock(0, async (service) => assert.deepEqual(await stored(service), wanted), own);
  });

  it('idempotency: a start with the clock two days ahead, and the return to the right time, pay a retried send once', async () => {
    let first = '';
    await withClock(0, async (service) => {
      first = await pay(service, 'ahead');
    });
    await withClock(2, async (service) => {
      assert.equal(await pay(service, 'ahead'), first);
      await untilWarned(service);
    });
    await withClock(0, async (service) => assert.equal(await pay(service, 'ahead'), first));
  });

  it('idempotency: on Solana, whose blocks are seen without a timestamp, a start with the clock two days ahead pays a retried send once', async (test) => {
    const solana = await startSolana();
    test.after(() => solana.stop());
    const own = await createEd25519Home({ network: 'solana', rpcUrls: [solana.url] });
    test.after(() => own.remove());
    await solana.faucet(own.address, 1_000_000_000n);
    solana.chain.advance(2);
    const body = paymentBody(own.address, (await signerOf(2)).address, 5_000_000n);
    const payOnSolana = async ({ baseUrl }: RunningService) => {
      const {
        status,
        body: answer,
        text,
      } = await rest(baseUrl, 'POST', '/relayers/r1/transactions', body, { 'idempotency-key': 'solana' });
      assert.equal(status, 200, text);
      return answer.data.id as string;
    };
    let first = '';
    await withClock(
      0,
      async (service) => {
        first = await payOnSolana(service);
      },
      own,
    );
    await withClock(
      2,
      async (service) => {
        assert.equal(await payOnSolana(service), first);
        await untilWarned(service);
      },
      own,
    );
  });

  it('idempotency: a key that was used while the clock was two days behind is still known at the right time', async () => {
    let first = '';
    await withClock(-2, async (service) => {
      first = await pay(service, 'behind');
    });
    await withClock(0, async (service) => assert.equal(await pay(service, 'behind'), first));
  });
});
