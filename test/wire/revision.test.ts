import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { renderTransaction } from '../../src/api/rest/render-record.js';
import { protoOfTransaction } from '../../src/api/services/transactions/transaction.js';
import { type AppRig, type Ask, startAppRig } from '../support/app-rig.js';
import { type RpcCaller, rpcCallers } from '../support/callers.js';
import { aTransaction } from '../support/stored-samples.js';
import { waitFor } from '../support/wait-for.js';

const body = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1' };
const list = '/api/v1/relayers/r1/transactions';

/** No node is reachable, so transactions stay pending and change only by `status_reason`. */
describe('revisions of records', () => {
  let rig: AppRig;
  let callers: readonly RpcCaller[];

  before(async () => {
    rig = await startAppRig();
    callers = rpcCallers(rig.baseUrl);
  });

  after(async () => {
    for (const caller of callers) caller.close();
    await rig.stop();
  });

  async function ask(verb: string, path: string, headers: Ask['headers'] = {}, content?: object) {
    const {
      status,
      headers: answered,
      text,
    } = await rig.ask(verb, path, {
      headers,
      body: content === undefined ? undefined : JSON.stringify(content),
    });
    return { status, reason: answered['x-error-reason'], ...JSON.parse(text) };
  }

  const get = async (id: string) => (await ask('GET', `${list}/${id}`)).data;
  const replace = (id: string, ifMatch: string, value = '2') => ask('PUT', `${list}/${id}`, { 'if-match': ifMatch }, { ...body, value });
  const cancel = (id: string, ifMatch: string) => ask('DELETE', `${list}/${id}`, { 'if-match': ifMatch });

  async function send(): Promise<string> {
    return (await ask('POST', list, {}, body)).data.id;
  }

  /** Calls with the present revision. The record may change in between, which is a mismatch; then it tries again. */
  function withRevision<T extends { readonly status: number }>(id: string, call: (ifMatch: string) => Promise<T>): Promise<T> {
    return waitFor('a call with the present revision', async () => {
      const answer = await call(`"${(await get(id)).revision}"`);
      return answer.status === 412 ? undefined : answer;
    });
  }

  it('a record has its revision and the time of its last change, and both grow with a change', async () => {
    const id = await send();
    const before = await get(id);
    assert.ok(Number.isSafeInteger(before.revision) && before.revision >= 1);
    assert.match(before.updated_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const { data: after } = await replace(id, '*');
    assert.ok(after.revision > before.revision);
    assert.ok(after.updated_at >= before.updated_at);
  });

  it('webhooks carry both in the record', () => {
    const record = JSON.parse(renderTransaction(protoOfTransaction({ transaction: aTransaction({ id: 'a', revision: 7 }), shown: null })));
    assert.deepEqual([record.revision, record.updated_at], [7, '2025-11-20T00:53:20.000Z']);
  });

  it('RPC records carry both', async () => {
    const id = await send();
    for (const caller of callers) {
      const outcome = await caller.call('TransactionService', 'GetTransaction', { relayer_id: 'r1', transaction_id: id });
      assert.ok(outcome.ok, JSON.stringify(outcome));
      const { revision, updated_at } = outcome.response.transaction as { revision: string; updated_at: unknown };
      assert.ok(Number(revision) >= 1, caller.protocol);
      assert.ok(updated_at, caller.protocol);
    }
  });

  it('PUT with If-Match: another revision is 412 and changes nothing; the present one, and *, replace', async () => {
    const id = await send();
    const refused = await replace(id, '"999"');
    assert.deepEqual([refused.status, refused.reason, refused.message], [412, 'REVISION_MISMATCH', 'Precondition Failed']);
    assert.match(refused.error, /^the transaction has revision \d+, not 999; read it again$/);
    assert.equal((await get(id)).value, '1');
    const replaced = await withRevision(id, (ifMatch) => replace(id, ifMatch, '3'));
    assert.deepEqual([replaced.status, replaced.data.value], [200, '3']);
    const any = await replace(id, '*', '4');
    assert.deepEqual([any.status, any.data.value], [200, '4']);
  });

  it('DELETE with If-Match: another revision is 412 and changes nothing; the present one cancels', async () => {
    const id = await send();
    const refused = await cancel(id, '"999"');
    assert.deepEqual([refused.status, refused.reason], [412, 'REVISION_MISMATCH']);
    assert.equal((await get(id)).status, 'pending');
    const canceled = await withRevision(id, (ifMatch) => cancel(id, ifMatch));
    assert.deepEqual([canceled.status, canceled.data.status], [200, 'canceled']);
    // A second cancel changes nothing, whichever revision it expects.
    assert.equal((await cancel(id, `"${canceled.data.revision}"`)).status, 200);
    assert.equal((await cancel(id, '"1"')).status, 412);
  });

  it('a state that forbids the change is reported before the revision', async () => {
    const id = await send();
    assert.equal((await cancel(id, '*')).status, 200);
    const refused = await replace(id, '"999"');
    assert.deepEqual([refused.status, refused.reason], [400, 'TRANSACTION_CANCELED']);
  });

  it('If-Match in another form is 400 and names the header', async () => {
    const id = await send();
    for (const bad of ['1', 'W/"1"', '"1", "2"', '"one"', '""', '"-1"', '"1', `"${'9'.repeat(30)}"`]) {
      for (const answer of [await replace(id, bad), await cancel(id, bad)]) {
        assert.deepEqual([bad, answer.status, answer.reason], [bad, 400, 'FIELD_INVALID']);
        assert.match(answer.error, /^If-Match must be one revision in quotes/);
      }
    }
    assert.equal((await get(id)).value, '1');
  });

  it('REST takes the revision only from the header, and other methods ignore the header', async () => {
    const id = await send();
    const inBody = await ask('PUT', `${list}/${id}`, {}, { ...body, expected_revision: 1 });
    assert.deepEqual([inBody.status, inBody.reason], [400, 'FIELD_UNKNOWN']);
    const inQuery = await ask('DELETE', `${list}/${id}?expected_revision=1`);
    assert.deepEqual([inQuery.status, inQuery.reason], [400, 'FIELD_UNKNOWN']);
    assert.equal((await ask('GET', `${list}/${id}`, { 'if-match': '"999"' })).status, 200);
  });

  it('RPC: another expected_revision is ABORTED and changes nothing; the present one replaces and cancels', async () => {
    for (const caller of callers) {
      const id = await send();
      const named = { relayer_id: 'r1', transaction_id: id };
      const call = (method: string, expectedRevision: number | string) =>
        caller.call('TransactionService', method, {
          ...named,
          expected_revision: String(expectedRevision),
          ...(method === 'ReplaceTransaction' ? { evm: { ...body, value: '5' } } : {}),
        });
      for (const method of ['ReplaceTransaction', 'CancelTransaction']) {
        const refused = await call(method, 999);
        assert.ok(!refused.ok, caller.protocol);
        assert.equal(refused.code, 'ABORTED');
        assert.match(refused.message, /^the transaction has revision \d+, not 999; read it again$/);
        assert.equal((await get(id)).value, '1');
        assert.equal((await get(id)).status, 'pending');
      }
      for (const method of ['ReplaceTransaction', 'CancelTransaction']) {
        await waitFor(`${method} with the present revision`, async () => {
          const outcome = await call(method, (await get(id)).revision);
          return outcome.ok ? true : undefined;
        });
      }
      assert.deepEqual([(await get(id)).value, (await get(id)).status], ['5', 'canceled']);
    }
  });

  it('approve and reject need the revision that was read, over REST in the header alone, and a body is refused', async () => {
    const id = await send();
    for (const verb of ['approve', 'reject']) {
      const path = `${list}/${id}/${verb}`;
      const decide = (headers: Ask['headers'], content?: object) => ask('POST', path, headers, content);
      const revision = `"${(await get(id)).revision}"`;
      const problems: readonly (readonly [Awaited<ReturnType<typeof decide>>, string, string])[] = [
        [await decide({}), 'FIELD_INVALID', 'If-Match is required: the revision of the record that you have read, in quotes'],
        [await decide({ 'if-match': '*' }), 'FIELD_INVALID', 'If-Match must be one revision in quotes, such as "3"'],
        [
          await decide({ 'if-match': revision }, { expected_revision: 1 }),
          'FIELD_UNKNOWN',
          'the body must be empty; the revision is in the header If-Match',
        ],
      ];
      for (const [{ status, reason, error }, expected, sentence] of problems)
        assert.deepEqual([verb, status, reason, error], [verb, 400, expected, sentence]);
      assert.equal((await decide({ 'if-match': revision })).reason, 'APPROVAL_NOT_NEEDED', 'which is the only thing that is wrong');
    }
    for (const caller of callers) {
      for (const method of ['ApproveTransaction', 'RejectTransaction']) {
        const outcome = await caller.call('TransactionService', method, { relayer_id: 'r1', transaction_id: id });
        assert.ok(!outcome.ok, caller.protocol);
        assert.deepEqual(
          [outcome.code, outcome.message],
          ['INVALID_ARGUMENT', 'expected_revision is required: the revision of the record that you have read'],
        );
      }
    }
  });

  it('of ten replacements at once that expect the same revision, one succeeds', async () => {
    const id = await send();
    const answers = await waitFor('a race that begins with the present revision', async () => {
      const { revision } = await get(id);
      const all = await Promise.all(Array.from({ length: 10 }, (_, index) => replace(id, `"${revision}"`, `${index + 10}`)));
      return all.some(({ status }) => status === 200) ? all : undefined;
    });
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array.from({ length: 9 }, () => 412)]);
    assert.equal((await get(id)).value, answers.find(({ status }) => status === 200)?.data.value);
  });
});
