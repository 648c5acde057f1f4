import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseEther } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type RpcCaller, rest, rpcCallers } from '../support/callers.js';
import { createServiceHome, databaseBytes, type RunningService, type ServiceHome, startService } from '../support/service.js';

// Every key of this test has this in it, so that one search finds any of them anywhere.
const mark = 'SECRETMARK';
const longKey = `${mark}-0123456789-0123456789-0123456789`;

/** Creating and updating notifications in one protocol's way. Bodies have proto names; a refusal is null with the sentence. */
interface Way {
  readonly protocol: string;
  create(body: object): Promise<Written>;
  update(id: string, body: object): Promise<Written>;
}

type Written =
  | { readonly ok: true; readonly hasKey: boolean; readonly url: string; readonly warnings: readonly string[]; readonly text: string }
  | { readonly ok: false; readonly sentence: string; readonly text: string };

describe('signing_key of a notification', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;
  let callers: readonly RpcCaller[];
  const answers: string[] = [];

  before(async () => {
    anvil = await startAnvil({ noMining: true });
    home = await createServiceHome({ rpcUrl: anvil.url, env: { WEBHOOK_ALLOW_PRIVATE: 'false', LOG_LEVEL: 'debug' } });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1').toString(16)}`]);
    service = await startService(home);
    callers = rpcCallers(service.baseUrl);
  });

  after(async () => {
    for (const caller of callers ?? []) caller.close();
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  for (const index of [0, 1, 2, 3]) {
    const protocol = ['REST', 'gRPC', 'gRPC-Web', 'Connect JSON'][index];
    describe(`over ${protocol}`, () => {
      const id = `hook-${index}`;
      const url = 'https://example.com/';
      const second = 'https://two.example.com/';
      let way: Way;
      before(() => {
        way = [restWay(), ...callers.map(rpcWay)][index] as Way;
      });

      it('signing_key: absent on create leaves none', async () => {
        assert.deepEqual(told(await way.create({ id, url })), { hasKey: false, url });
      });
      it('signing_key: empty on create leaves none', async () => {
        assert.deepEqual(told(await way.create({ id: `${id}-empty`, url, signing_key: '' })), { hasKey: false, url });
      });
      it('signing_key: non-empty on update sets it', async () => {
        assert.deepEqual(told(await way.update(id, { signing_key: longKey })), { hasKey: true, url });
      });
      it('signing_key: absent on update keeps it', async () => {
        assert.deepEqual(told(await way.update(id, { url: second })), { hasKey: true, url: second });
        assert.deepEqual(told(await way.update(id, {})), { hasKey: true, url: second });
      });
      if (index === 0) {
        it('signing_key: null on update keeps it', async () => {
          assert.deepEqual(told(await way.update(id, { signing_key: null })), { hasKey: true, url: second });
        });
      }
      it('signing_key: empty on update removes it', async () => {
        assert.deepEqual(told(await way.update(id, { signing_key: '' })), { hasKey: false, url: second });
      });
      it('signing_key: a short one is accepted on create with a warning', async () => {
        const written = await way.create({ id: `${id}-short`, url, signing_key: mark });
        assert.ok(written.ok, written.text);
        assert.equal(written.hasKey, true);
        assert.equal(written.warnings.length, 1);
        assert.match(written.warnings[0] ?? '', /32/);
      });
      it('signing_key: a whsec_ key must be base64 of 24 to 64 bytes', async () => {
        const good = `whsec_${Buffer.from(`${mark}${'x'.repeat(22)}`).toString('base64')}`;
        assert.equal(told(await way.create({ id: `${id}-whsec`, url, signing_key: good })).hasKey, true);
        assert.equal(told(await way.update(`${id}-whsec`, { signing_key: `whsec_${mark}` })).hasKey, true);
      });
      it('signing_key: must have 1 to 8192 bytes in UTF-8', async () => {
        assert.equal(told(await way.update(id, { signing_key: `${mark}\né`.padEnd(8191, '~') })).hasKey, true);
        const refused = await way.update(id, { signing_key: mark.padEnd(8193, 'x') });
        assert.ok(!refused.ok, refused.text);
        assert.match(refused.sentence, /^signing_key must have 1 to 8192 bytes in UTF-8; it has 8193/);
      });
      it('notification: an existing ID is a conflict, an unknown ID is not found', async () => {
        const taken = await way.create({ id, url, signing_key: longKey });
        assert.ok(!taken.ok);
        assert.match(taken.sentence, new RegExp(`Notification with ID ${id} already exists`));
        const unknown = await way.update('nobody', { signing_key: longKey });
        assert.ok(!unknown.ok);
        assert.match(unknown.sentence, /nobody.* not found/);
      });
      it('notification: a private target is refused', async () => {
        for (const target of [
          'http://127.0.0.1/',
          'http://2130706433/',
          'http://[::1]/',
          'http://169.254.169.254/latest',
          'http://localhost/',
        ]) {
          const refused = await way.update(id, { url: target });
          assert.ok(!refused.ok, target);
        }
      });
    });
  }

  it('notification: REST answers have the fixed texts of the specification', async () => {
    const conflict = await rest(service.baseUrl, 'POST', '/notifications', { id: 'hook-0', url: 'https://example.com/' });
    assert.equal(conflict.status, 409);
    assert.deepEqual(conflict.body, {
      success: false,
      data: null,
      error: 'Notification with ID hook-0 already exists',
      message: 'Notification with this ID already exists',
    });
    const created = await rest(service.baseUrl, 'POST', '/notifications', { id: 'plain', url: 'https://example.com/' });
    assert.equal(created.status, 201);
    assert.deepEqual(created.body, {
      success: true,
      data: { id: 'plain', type: 'webhook', url: 'https://example.com/', has_signing_key: false },
      error: null,
    });
    const unknown = await rest(service.baseUrl, 'PATCH', '/notifications/nobody', {});
    assert.equal(unknown.status, 404);
    assert.equal(unknown.body.message, 'Notification not found');
    const listed = await rest(service.baseUrl, 'GET', '/notifications?per_page=2');
    assert.equal(listed.body.data[0].id, 'plain');
    assert.deepEqual(listed.body.pagination, { current_page: 1, per_page: 2, total_items: 17 });
    const deleted = await rest(service.baseUrl, 'DELETE', '/notifications/plain');
    assert.deepEqual(deleted.body, { success: true, data: null, error: null });
  });

  it("notification: no answer, log line or database byte holds a signing key or the relayer's key", async () => {
    const everything = [...answers, service.output()].join('\n');
    assert.ok(answers.length > 40);
    const bytes = await databaseBytes(home);
    assert.ok(bytes.includes('hook-0'), 'the database was looked at');
    for (const secret of [mark, Buffer.from(mark).toString('base64').slice(0, 12), home.privateKey]) {
      assert.equal(everything.includes(secret), false, 'an answer or a log line');
      assert.equal(bytes.includes(secret), false, 'a database file');
    }
    assert.equal(bytes.includes(Buffer.from(home.privateKey, 'hex')), false, 'a database file');
  });

  function told(written: Written): { hasKey: boolean; url: string } {
    assert.ok(written.ok, written.text);
    return { hasKey: written.hasKey, url: written.url };
  }

  function restWay(): Way {
    const write = async (verb: string, path: string, body: object): Promise<Written> => {
      const answer = await rest(service.baseUrl, verb, path, body);
      answers.push(answer.text);
      if (!answer.body.success) return { ok: false, sentence: answer.body.error, text: answer.text };
      const { has_signing_key: hasKey, url } = answer.body.data;
      return { ok: true, hasKey, url, warnings: warningsOf(answer.body.metadata), text: answer.text };
    };
    return {
      protocol: 'REST',
      create: (body) => write('POST', '/notifications', body),
      update: (id, body) => write('PATCH', `/notifications/${id}`, body),
    };
  }

  function rpcWay(caller: RpcCaller): Way {
    const write = async (method: string, message: object): Promise<Written> => {
      const outcome = await caller.call('NotificationService', method, message);
      const text = JSON.stringify(outcome);
      answers.push(text);
      if (!outcome.ok) return { ok: false, sentence: outcome.message, text };
      // biome-ignore lint/suspicious/noExplicitAny: the clients give untyped JSON
      const { notification, metadata } = outcome.response as any;
      return { ok: true, hasKey: notification.has_signing_key ?? false, url: notification.url, warnings: warningsOf(metadata), text };
    };
    return {
      protocol: caller.protocol,
      create: (body) => write('CreateNotification', body),
      update: (id, body) => write('UpdateNotification', { notification_id: id, ...body }),
    };
  }
});

function warningsOf(metadata: { logs?: { message: string }[] } | null | undefined): readonly string[] {
  return metadata?.logs?.map(({ message }) => message) ?? [];
}
