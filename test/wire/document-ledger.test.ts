import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Memo } from '@stellar/stellar-sdk';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.js';
import { type RpcAsker, rpcAskers } from '../support/rpc-askers.js';
import { type StellarApp, startStellarApp } from '../support/stellar-app.js';
import { waitFor } from '../support/wait-for.js';
import type { Row } from './document/rows.js';
import { stellarAccount, stellarSentences } from './document/stellar-rows.js';

/*
 * What the published document says about the transactions that a ledger gets, and about their events. document.test.ts has what it says about requests.
 */

type Json = Readonly<Record<string, unknown>>;

const sends = '/api/v1/relayers/r1/transactions';
const pay = { network: 'local', operations: [{ type: 'payment', destination: stellarAccount, amount: '1', asset: { type: 'native' } }] };
/** Uploads this many KiB of code, whose resource fee is mostly the rent of its size. */
const upload = (kibibytes: number) => {
  const wasm = Buffer.concat([Buffer.from('0061736d01000000', 'hex'), Buffer.alloc(kibibytes * 1024)]);
  return { network: 'local', operations: [{ type: 'upload_wasm', wasm: { base64: wasm.toString('base64') } }] };
};
const hook = { id: 'hook', type: 'webhook' } as const;

describe('the document, on a ledger', () => {
  let stellar: StellarApp;
  let askers: readonly RpcAsker[];
  let receiver: HttpReceiver;
  const releases: (() => void)[] = [];

  before(async () => {
    receiver = await startHttpReceiver({ after: (release) => void releases.push(release) }, (response) => response.writeHead(204).end());
    stellar = await startStellarApp({
      accounts: [stellarAccount],
      closeEveryMs: 20,
      notifications: [{ ...hook, url: receiver.url('/') }],
      notificationId: hook.id,
    });
    askers = rpcAskers(stellar.app.baseUrl);
  });
  after(async () => {
    for (const asker of askers ?? []) asker.close();
    await stellar?.stop();
    for (const release of releases) release();
  });

  async function ask(verb: string, path: string, body?: object | string): Promise<Json> {
    const sentText = typeof body === 'object' ? JSON.stringify(body) : body;
    const { status, text } = await stellar.app.ask(verb, path, { body: sentText });
    assert.equal(status, 200, text);
    return JSON.parse(text).data;
  }

  const until = (id: unknown, status: string): Promise<Json> =>
    waitFor(`the transaction to be ${status}`, async () => {
      const record = await ask('GET', `${sends}/${id}`);
      return record.status === status ? record : undefined;
    });

  it('the document: 4.1: the memo of the transaction is the one that was asked for, in each of its forms', async () => {
    const rows = stellarSentences.flatMap((sentence) => sentence.rows).filter(({ call }) => call === 'send');
    const sent: { readonly row: Row; readonly protocol: string; readonly id: string; readonly writes: string }[] = [];
    for (const row of rows) {
      if (row.verdict.is !== 'accepted' || row.verdict.writes === undefined) continue;
      const { writes } = row.verdict;
      if (row.rest !== null) {
        const { id } = await ask('POST', sends, row.rest);
        sent.push({ row, protocol: 'REST', id: String(id), writes });
      }
      for (const asker of askers) {
        if (row.rpc === null || asker.protocol === 'gRPC-Web' || asker.protocol === 'Connect') continue;
        const answer = await asker.ask(TransactionService.method.sendTransaction, { relayer_id: 'r1', stellar: row.rpc });
        assert.ok(answer.ok, `${asker.protocol} ${row.shown}`);
        const { transaction } = answer.response as unknown as { transaction: { id: string } };
        sent.push({ row, protocol: asker.protocol, id: transaction.id, writes });
      }
    }
    assert.ok(sent.length > 60);
    const wrong: string[] = [];
    for (const { row, protocol, id, writes } of sent) {
      const { memo } = await stellar.signedContent(id);
      if (textOf(memo) !== writes) wrong.push(`${protocol}, ${row.shown}: the memo is ${textOf(memo)}, not ${writes}`);
    }
    assert.deepEqual(wrong, []);
  });

  it('the document: 4.1, 8: max_fee is 1,000,000 stroops by default, which covers the whole fee; the record states the amount that is enough', async () => {
    const { id } = await ask('POST', sends, upload(120));
    const failed = await until(id, 'failed');
    assert.deepEqual([failed.failure_reason, failed.fee_paid, failed.hash], ['feeLimit', null, null]);
    const [needed = 0] = amountsOf(String(failed.status_reason)).filter((amount) => amount > 1_000_000);
    assert.ok(needed > 1_000_000, String(failed.status_reason));

    const { id: shortId } = await ask('POST', sends, { ...upload(120), max_fee: needed - 1 });
    assert.equal((await until(shortId, 'failed')).failure_reason, 'feeLimit');
    const { id: enoughId } = await ask('POST', sends, { ...upload(120), max_fee: needed });
    const paid = Number((await until(enoughId, 'confirmed')).fee_paid);
    assert.ok(paid > 1_000_000 && paid <= needed, `${paid} of ${needed}`);

    const { id: smallId } = await ask('POST', sends, upload(4));
    const little = Number((await until(smallId, 'confirmed')).fee_paid);
    assert.ok(little > 100 && little <= 1_000_000, `${little}`);
  });

  it('the document: contract: PUT of an operation that needs more than max_fee is 400 with the amount that is enough', async () => {
    stellar.node.ledger.setLeavesOutAll(true);
    const { id } = await ask('POST', sends, pay);
    await until(id, 'submitted');
    // The same code as before would cost less, since the ledger has it.
    const body = JSON.stringify(upload(119));
    const { status, text } = await stellar.app.ask('PUT', `${sends}/${id}`, { body });
    const { message, error } = JSON.parse(text);
    assert.equal(`${status} ${message}`, '400 Bad Request', text);
    const needed = Math.max(...amountsOf(error));
    assert.ok(needed > 1_000_000, error);
    await ask('PUT', `${sends}/${id}`, { ...upload(119), max_fee: needed });
    stellar.node.ledger.setLeavesOutAll(false);
    const { fee_paid: paid } = await until(id, 'confirmed');
    assert.ok(Number(paid) <= needed);
  });

  it('the document: contract: events carry the record, valid_until included', async () => {
    const time = '2099-01-01T00:00:00.000Z';
    for (const [given, shown] of [
      [{ valid_until: time }, time],
      [{}, null],
    ] as const) {
      const { id, valid_until: answered } = await ask('POST', sends, { ...pay, ...given });
      assert.equal(answered, shown);
      const payload = await waitFor('the event', () =>
        receiver.requests.map(({ body }) => JSON.parse(body.toString()).payload as Json).find((one) => one.id === id),
      );
      assert.equal(payload.valid_until, shown);
    }
  });
});

function textOf({ type, value }: Memo): string {
  if (value === null) return type;
  return `${type} ${type === 'id' ? value : Buffer.from(value).toString('hex')}`;
}

/** The numbers of a sentence. */
function amountsOf(sentence: string): readonly number[] {
  return (sentence.match(/\d+/g) ?? []).map(Number);
}
