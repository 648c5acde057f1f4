import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseEther } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type RpcCaller, rest, rpcCallers } from '../support/callers.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const payment = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: 1 };
const evm = { ...payment, value: '1' };

interface Sent {
  readonly id: string;
  readonly external_id?: string;
  readonly status: string;
  readonly nonce?: number | null;
  readonly value: string;
}

describe('sending transactions together', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;
  let callers: readonly RpcCaller[];
  let path: string;

  async function start(): Promise<void> {
    service = await startService(home);
    callers = rpcCallers(service.baseUrl);
  }

  before(async () => {
    anvil = await startAnvil();
    home = await createServiceHome({ rpcUrl: anvil.url });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    await start();
    path = `/relayers/${home.relayerId}/transactions`;
  });

  after(async () => {
    for (const caller of callers ?? []) caller.close();
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  const send = (transactions: unknown, headers: Record<string, string> = {}) =>
    rest(service.baseUrl, 'POST', `${path}/batch`, { transactions }, headers);

  async function listed(query: string): Promise<readonly Sent[]> {
    const { status, text, body } = await rest(service.baseUrl, 'GET', `${path}?per_page=100&${query}`);
    assert.equal(status, 200, text);
    return body.data;
  }

  const total = async (): Promise<number> => (await rest(service.baseUrl, 'GET', `${path}?per_page=1`)).body.pagination.total_items;

  it('batch: 100 take their nonces in the order of the list and are paid once each, and an equal call again does nothing', async () => {
    const transactions = Array.from({ length: 100 }, (_, at) => ({ ...payment, value: at + 1, external_id: `row-${at}` }));
    const headers = { 'idempotency-key': 'monday-1' };
    const { status, text, body } = await send(transactions, headers);
    assert.equal(status, 200, text);
    const sent: readonly Sent[] = body.data;
    assert.deepEqual(
      sent.map(({ external_id, value }) => [external_id, value]),
      transactions.map(({ external_id, value }) => [external_id, String(value)]),
    );
    const again = await send(transactions, headers);
    assert.deepEqual([again.headers.get('idempotency-replayed'), again.body.data], ['true', sent]);
    const changed = await send(transactions.slice(1), headers);
    assert.equal(changed.headers.get('x-error-reason'), 'IDEMPOTENCY_KEY_REUSED');
    const mined = await waitFor('all to be mined', async () => {
      // Without a next block the service does not look again at what a busy node has left out.
      await anvil.mine();
      const found = await Promise.all([1, 2].map((page) => listed(`status=mined&status=confirmed&page=${page}`)));
      return found.flat().length >= 100 ? found.flat() : undefined;
    });
    assert.equal(mined.length, 100);
    const nonces = new Map(mined.map(({ id, nonce }) => [id, nonce]));
    const first = nonces.get(sent[0]?.id ?? '') ?? -1;
    assert.deepEqual(
      sent.map(({ id }) => nonces.get(id)),
      sent.map((_, at) => first + at),
    );
    assert.equal(Number(await anvil.rpc('eth_getTransactionCount', [home.address, 'latest'])), first + 100);
  });

  it('batch: one bad transaction refuses all, and every violation names its transaction, on every protocol', async () => {
    const stored = await total();
    const taken = await send([{ ...payment, external_id: 'taken' }]);
    assert.equal(taken.status, 200, taken.text);
    const [{ id }] = taken.body.data;
    const holds = `transactions[1]: external_id taken belongs to transaction ${id}; an external_id is never used twice`;
    for (const [transactions, status, words, rpcWords] of [
      [[], 400, ['transactions must have at least one item']],
      [Array.from({ length: 101 }, () => payment), 400, ['transactions must have at most 100 items; it has 101']],
      [[payment, { ...payment, to: '0x1' }, { ...payment, vallue: 1 }], 400, ['transactions[1].to', 'transactions[2].vallue'], null],
      [[payment, { ...payment, to: '0x1' }], 400, ['transactions[1].to'], ['transactions[1].evm.to']],
      [
        [
          { ...payment, value: -1 },
          { ...payment, to: '0x1' },
        ],
        400,
        ['transactions[0].value', 'transactions[1].to'],
        null,
      ],
      [[payment, { ...payment, external_id: 'a b' }], 400, ['transactions[1].external_id must be 1 to 128']],
      [[payment, { ...payment, labels: [{ key: 'a' }] }], 400, ['transactions[1].labels[0].value is required']],
      [
        [payment, { ...payment, external_id: 'x' }, { ...payment, external_id: 'x' }],
        400,
        ['transactions[2].external_id is x, which transactions[1] has already'],
      ],
      [[payment, { ...payment, external_id: 'taken' }], 409, [holds]],
    ] as const) {
      const refused = await send(transactions);
      assert.equal(refused.status, status, refused.text);
      for (const word of words) assert.ok(refused.body.error.includes(word), `${refused.text} says ${word}`);
      if (rpcWords === null) continue;
      for (const caller of callers) {
        const items = (transactions as readonly { external_id?: string; labels?: unknown; to?: string }[]).map(
          ({ external_id, labels, to }) => ({ evm: { ...evm, to }, external_id, labels }),
        );
        const request = { relayer_id: home.relayerId, transactions: JSON.parse(JSON.stringify(items)) };
        const answer = await caller.call('TransactionService', 'SendTransactions', request);
        assert.ok(!answer.ok, caller.protocol);
        for (const word of rpcWords ?? words)
          assert.ok(answer.message.includes(word), `${caller.protocol}: ${answer.message} says ${word}`);
      }
    }
    for (const caller of callers) {
      for (const [item, words] of [
        [{ solana: {} }, 'transactions[1].transaction has the solana shape'],
        [{}, 'transactions[1].transaction is required'],
      ] as const) {
        const answer = await caller.call('TransactionService', 'SendTransactions', {
          relayer_id: home.relayerId,
          transactions: [{ evm }, item],
        });
        assert.ok(!answer.ok && answer.message.includes(words), `${caller.protocol} ${JSON.stringify(answer)}`);
      }
    }
    assert.equal(await total(), stored + 1);
  });

  it('batch: RPC answers the records in the order of the request', async () => {
    for (const [at, caller] of callers.entries()) {
      const names = ['b', 'a', 'c'].map((name) => `${name}-${at}`);
      const transactions = names.map((external_id) => ({ evm, external_id }));
      const answer = await caller.call('TransactionService', 'SendTransactions', { relayer_id: home.relayerId, transactions });
      assert.ok(answer.ok, `${caller.protocol} ${JSON.stringify(answer)}`);
      assert.deepEqual(
        (answer.response as { transactions: readonly Sent[] }).transactions.map(({ external_id }) => external_id),
        names,
      );
    }
  });

  it('batch: of one that is cut off by SIGKILL, all are stored or none', async () => {
    let kept = 0;
    for (let round = 0; round < 6; round += 1) {
      const before = await total();
      const batches = Array.from({ length: 20 }, (_, batch) =>
        Array.from({ length: 20 }, (_, at) => ({ ...payment, external_id: `kill-${round}-${batch}-${at}` })),
      );
      let answered = 0;
      let killed: Promise<void> | undefined;
      const sending = batches.map(async (batch) => {
        const answer = await send(batch).catch(() => null);
        if (answer?.status === 200) answered += 1;
        if (answered >= round * 3) killed ??= service.kill();
      });
      if (round === 0) killed = service.kill();
      await Promise.all(sending);
      // A busy service may have refused too many for that; it must not run beside the next one.
      await (killed ?? service.kill());
      await start();
      for (const batch of batches) {
        const found = await Promise.all(batch.map(async ({ external_id }) => (await listed(`external_id=${external_id}`)).length));
        const stored = found.reduce((sum, count) => sum + count, 0);
        assert.ok(stored === 0 || stored === batch.length, `${stored} of ${batch.length} are stored`);
        kept += stored;
      }
      assert.ok((await total()) - before >= answered * 20, 'an answered batch is stored');
    }
    assert.ok(kept > 0, 'some batches were stored before the kill');
  });
});
