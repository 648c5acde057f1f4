import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseEther } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type RpcCaller, rpcCallers } from '../support/callers.js';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.js';
import { createRelayerClient, type RelayerClient, type TransactionRecord } from '../support/relayer-client.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const receiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
/** Its code fails for every call: PUSH0 PUSH0 REVERT. */
const failing = '0x00000000000000000000000000000000000000aa';
const none = { failure_reason: null, block_number: null, gas_used: null, fee_paid: null };

interface NodeReceipt {
  readonly blockNumber: string;
  readonly gasUsed: string;
  readonly effectiveGasPrice: string;
}

/** The fields of a record that a program reads instead of `status_reason`. */
function factsOf(record: object): object {
  return Object.fromEntries(Object.keys(none).map((key) => [key, (record as Record<string, unknown>)[key]]));
}

describe('the facts of a record', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;
  let callers: readonly RpcCaller[];
  let hook: HttpReceiver;
  let client: RelayerClient;
  const releases: (() => void)[] = [];

  before(async () => {
    hook = await startHttpReceiver({ after: (release) => void releases.push(release) }, (response) => response.writeHead(204).end());
    anvil = await startAnvil({ noMining: true });
    home = await createServiceHome({
      rpcUrl: anvil.url,
      requiredConfirmations: 3,
      notifications: [{ id: 'hook', type: 'webhook', url: hook.url('/') }],
      notificationId: 'hook',
    });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('100').toString(16)}`]);
    await anvil.rpc('anvil_setCode', [failing, '0x5f5ffd']);
    service = await startService(home);
    callers = rpcCallers(service.baseUrl);
    client = createRelayerClient(service.baseUrl);
  });

  after(async () => {
    for (const caller of callers ?? []) caller.close();
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
    for (const release of releases) release();
  });

  async function send(body: object): Promise<TransactionRecord> {
    const { record, text } = await client.send(body);
    return record ?? assert.fail(text);
  }

  async function until(id: string, status: string): Promise<TransactionRecord> {
    return waitFor(`the status ${status}`, async () => {
      const record = await client.get(id);
      return record.status === status ? record : undefined;
    });
  }

  /** The node's receipt of a record's hash. */
  async function shownByNode({ hash }: TransactionRecord): Promise<object> {
    const receipt = (await anvil.rpc('eth_getTransactionReceipt', [hash])) as NodeReceipt;
    const feePaid = BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice);
    return { block_number: Number(receipt.blockNumber), gas_used: Number(receipt.gasUsed), fee_paid: feePaid.toString() };
  }

  it('facts: block, gas and fee come with the block, leave with a reorg, and stay once confirmed, on every protocol and in webhooks', async () => {
    const sent = await send({ to: receiver, value: 1, speed: 'fast' });
    assert.deepEqual(factsOf(sent), none);
    assert.deepEqual(factsOf(await until(sent.id, 'submitted')), none);
    await anvil.mine();
    const mined = await until(sent.id, 'mined');
    const inFirstBlock = await shownByNode(mined);
    assert.deepEqual(factsOf(mined), { ...none, ...inFirstBlock });
    await anvil.rpc('anvil_reorg', [1, []]);
    const back = await until(sent.id, 'submitted');
    assert.deepEqual(factsOf(back), none);
    await waitFor('it in the pool again', async () => (await anvil.rpc('eth_getTransactionByHash', [back.hash])) ?? undefined);
    await anvil.mine(4);
    const confirmed = await until(sent.id, 'confirmed');
    const facts = await shownByNode(confirmed);
    assert.notDeepEqual(facts, inFirstBlock);
    assert.deepEqual(factsOf(confirmed), { ...none, ...facts });

    const { block_number, gas_used, fee_paid } = confirmed;
    for (const { protocol, call } of callers) {
      const answer = await call('TransactionService', 'GetTransaction', { relayer_id: 'r1', transaction_id: sent.id });
      assert.ok(answer.ok);
      const record = answer.response.transaction as Record<string, unknown>;
      // 64-bit integers are strings in protobuf JSON.
      const shown = [record.block_number, record.gas_used, record.fee_paid, record.failure_reason];
      assert.deepEqual(shown, [String(block_number), String(gas_used), fee_paid, undefined], protocol);
    }
    const events = await waitFor('the last webhook', async () => {
      const told = hook.requests.map(({ body }) => JSON.parse(body.toString()).payload).filter(({ id }) => id === sent.id);
      return told.at(-1)?.status === 'confirmed' ? told : undefined;
    });
    assert.deepEqual(
      events.map((event) => [event.status, event.block_number !== null]),
      ['pending', 'sent', 'submitted', 'mined', 'submitted', 'mined', 'confirmed'].map((status) => [
        status,
        status === 'mined' || status === 'confirmed',
      ]),
    );
    assert.deepEqual(factsOf(events.at(-1)), { ...none, ...facts });
  });

  it('facts: valid_until is in the record on every protocol and in webhooks, and a replacement without one keeps it', async () => {
    const validUntil = new Date(Date.now() + 3_600_000).toISOString();
    const sent = await send({ to: receiver, value: 1, valid_until: validUntil });
    assert.equal(sent.valid_until, validUntil);
    await until(sent.id, 'submitted');
    const put = (body: object) => client.replace(sent.id, { to: receiver, value: 2, ...body });
    assert.equal((await put({})).record?.valid_until, validUntil);
    const later = new Date(Date.now() + 7_200_000).toISOString();
    assert.equal((await put({ valid_until: later })).record?.valid_until, later);
    for (const { protocol, call } of callers) {
      const answer = await call('TransactionService', 'GetTransaction', { relayer_id: 'r1', transaction_id: sent.id });
      assert.ok(answer.ok);
      const { valid_until: shown } = answer.response.transaction as { valid_until: string | { seconds: string; nanos: number } };
      // The gRPC client shows the message as it is.
      const shownMs = typeof shown === 'string' ? Date.parse(shown) : Number(shown.seconds) * 1_000 + shown.nanos / 1e6;
      assert.equal(new Date(shownMs).toISOString(), later, protocol);
    }
    const told = await waitFor('the webhooks of the replacements', () => {
      const payloads = hook.requests.map(({ body }) => JSON.parse(body.toString()).payload).filter(({ id }) => id === sent.id);
      return payloads.at(-1)?.valid_until === later ? payloads : undefined;
    });
    assert.equal(told[0]?.valid_until, validUntil);
    await anvil.mine(4);
    assert.equal((await until(sent.id, 'confirmed')).valid_until, later);
  });

  it('facts: a program distinguishes reverted, would revert, canceled and expired without reading a sentence', async () => {
    const refused = await send({ to: failing, value: 0, data: '0x01' });
    const wouldRevert = await until(refused.id, 'failed');
    assert.deepEqual([wouldRevert.nonce, factsOf(wouldRevert)], [null, { ...none, failure_reason: 'wouldRevert' }]);

    const paid = await send({ to: failing, value: 0, data: '0x01', gas_limit: 100_000 });
    await until(paid.id, 'submitted');
    const dropped = await send({ to: receiver, value: 1 });
    await until(dropped.id, 'submitted');
    const canceled = (await client.cancel(dropped.id)).record;
    const late = await send({ to: receiver, value: 1, valid_until: new Date(Date.now() + 4_000).toISOString() });
    await waitFor('the self-transfer of the expiry', async () =>
      (await client.attempts(late.id)).some(({ purpose }) => purpose === 'expire') || (await client.get(late.id)).status === 'expired'
        ? true
        : undefined,
    );
    await waitFor('the cancel in the pool', async () => (await anvil.rpc('eth_getTransactionByHash', [canceled?.hash])) ?? undefined);
    await anvil.mine(3);
    const reverted = await until(paid.id, 'failed');
    assert.deepEqual(factsOf(reverted), { ...(await shownByNode(reverted)), failure_reason: 'reverted' });
    const ended = await until(dropped.id, 'canceled');
    assert.deepEqual(factsOf(ended), { ...none, ...(await shownByNode(ended)) });
    await anvil.mine(3);
    const expired = await waitFor('the expiry', async () => {
      await anvil.mine();
      const record = await client.get(late.id);
      return record.status === 'expired' ? record : undefined;
    });
    assert.equal(expired.failure_reason, null);

    for (const { protocol, call } of callers) {
      const answer = await call('TransactionService', 'GetTransaction', { relayer_id: 'r1', transaction_id: paid.id });
      assert.ok(answer.ok);
      assert.equal((answer.response.transaction as Record<string, unknown>).failure_reason, 'FAILURE_REASON_REVERTED', protocol);
    }
  });
});
