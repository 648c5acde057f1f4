import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest, rpcCallers } from '../support/callers.js';
import { startHttpReceiver } from '../support/http-receiver.js';
import { type MetricsText, readMetrics, sumOf } from '../support/metrics-text.js';
import { apiKey, createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const transfer = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: 1 };

/** They need a garbage collection, TLS, or payments over ten minutes. */
const valueless = new Set([
  'nodejs_gc_duration_seconds',
  'relayer_certificate_expiry_timestamp_seconds',
  'relayer_balance',
  'relayer_runway_seconds',
]);

describe('metrics after traffic', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;
  let scraped: MetricsText;
  let text = '';
  const secret = 'never-in-metrics';

  before(async () => {
    anvil = await startAnvil({ noMining: true });
    const receiver = await startHttpReceiver({ after }, (response) => response.end());
    home = await createServiceHome({
      rpcUrl: `${anvil.url}/?key=${secret}`,
      notifications: [{ id: 'hook', type: 'webhook', url: receiver.url(`/${secret}`) }],
      notificationId: 'hook',
      env: { METRICS_PORT: '0' },
    });
    await anvil.rpc('anvil_setBalance', [home.address, '0x21e19e0c9bab2400000']);
    service = await startService(home);
    const [grpc, grpcWeb] = rpcCallers(service.baseUrl);

    const { body } = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', transfer);
    const evm = { ...transfer, value: '1' };
    assert.ok((await grpc?.call('TransactionService', 'SendTransaction', { relayer_id: 'r1', evm }))?.ok);
    assert.ok(!(await grpc?.call('TransactionService', 'SendTransaction', { relayer_id: 'r1', evm: {} }))?.ok);
    assert.ok(!(await grpcWeb?.call('TransactionService', 'SendTransaction', { relayer_id: secret, evm }))?.ok);
    await rest(service.baseUrl, 'GET', `/nowhere/${secret}`);
    await rest(service.baseUrl, 'POST', '/relayers/r1/sign', { message: secret });
    await rest(service.baseUrl, 'POST', '/relayers/r1/sign', { message: secret }, { authorization: `Bearer ${secret}` });
    grpc?.close();
    grpcWeb?.close();

    const sent = `/relayers/r1/transactions/${body.data.id}`;
    const status = async () => (await rest(service.baseUrl, 'GET', sent)).body.data.status as string;
    await waitFor('the first to be submitted', async () => ((await status()) === 'submitted' ? true : undefined));
    const { body: canceling } = await rest(service.baseUrl, 'DELETE', sent);
    // An earlier block would contain the first attempt.
    await waitFor('the node to have the cancel', async () =>
      (await anvil.rpc('eth_getTransactionByHash', [canceling.data.hash])) === null ? undefined : true,
    );
    await waitFor('the first to be canceled', async () => {
      await anvil.mine();
      return (await status()) === 'canceled' ? true : undefined;
    });
    await waitFor('all webhooks', async () => {
      text = await scrape();
      scraped = readMetrics(text);
      return sumOf(scraped, 'relayer_webhook_tries_total', { outcome: 'delivered' }) >= 8 ? true : undefined;
    });
  });
  after(async () => {
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  async function scrape(): Promise<string> {
    const answer = await fetch(`${service.baseUrl}/metrics`, { headers: { authorization: `Bearer ${apiKey}` } });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
    return answer.text();
  }

  it('metrics: a scrape has a value for every documented metric, and every metric is documented', () => {
    const docs = readFileSync('docs/metrics.md', 'utf8');
    const named = new Set([...docs.matchAll(/`((?:relayer|nodejs|process)_\w+)`/g)].map(([, name = '']) => name));
    assert.ok(named.size > 25);
    for (const name of named) {
      assert.ok(scraped.types.has(name), `${name} is in the docs only`);
      const first = scraped.types.get(name) === 'histogram' ? `${name}_count` : name;
      assert.ok((scraped.samples.get(first)?.length ?? 0) > 0 || valueless.has(name), `${name} has no value`);
    }
    for (const name of scraped.types.keys()) if (name.startsWith('relayer_')) assert.ok(named.has(name), `${name} is not in the docs`);
    for (const [, name = '', labels = ''] of docs.matchAll(/^\| `(relayer_\w+)` \| ([^|]*)\|/gm)) {
      if (valueless.has(name)) continue;
      const [sample] = scraped.samples.get(name) ?? scraped.samples.get(`${name}_count`) ?? [];
      assert.deepEqual(
        Object.keys(sample?.labels ?? {}),
        labels
          .replaceAll('`', '')
          .split(',')
          .map((label) => label.trim())
          .filter(Boolean),
        name,
      );
    }
  });

  it('metrics: a port of their own serves them without a key, also under the names of OpenZeppelin Relayer, and nothing else', async () => {
    const [, port] = /"port":(\d+),"msg":"serving metrics without a key"/.exec(service.output()) ?? [];
    assert.ok(port !== undefined, service.output());
    const ask = (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${port}${path}`, init);
    for (const path of ['/metrics', '/debug/metrics/scrape']) {
      const answer = await ask(path);
      assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'text/plain; version=0.0.4; charset=utf-8']);
      const all = readMetrics(await answer.text());
      for (const [name, type] of scraped.types) assert.equal(all.types.get(name), type);
      const ours = sumOf(scraped, 'relayer_transactions_total', { status: 'pending' });
      assert.ok(ours >= 2);
      assert.equal(sumOf(all, 'transactions_created_total', { relayer_id: 'r1' }), ours);
      assert.equal(sumOf(all, 'requests_total', { endpoint: 'SigningService.SignData', status: '401' }), 1);
      assert.equal(sumOf(all, 'error_requests_total', { endpoint: 'SigningService.SignData' }), 1);
      assert.equal(all.types.get('request_latency_seconds'), 'histogram');
      assert.ok(sumOf(all, 'request_latency_seconds_count', { endpoint: 'SigningService.SignData', status: 'refused' }) === 1);
      const names = [...readFileSync('docs/moving.md', 'utf8').matchAll(/^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \| .* under that name/gm)];
      const documented = names.flatMap(([, cell = '']) => cell.replaceAll('`', '').split(', '));
      const shown = [...all.types.keys()].filter((name) => !scraped.types.has(name));
      assert.deepEqual(new Set(shown), new Set(documented));
    }
    for (const path of ['/', '/api/v1/health', '/api/v1/relayers', '/metrics/x']) assert.equal((await ask(path)).status, 404);
    assert.equal((await ask('/metrics', { method: 'POST' })).status, 404);
    assert.equal((await ask('/api/v1/relayers', { headers: { authorization: `Bearer ${apiKey}` } })).status, 404);
  });

  for (const file of ['docs/grafana/relayer.json', 'docs/prometheus/alerts.yml']) {
    it(`metrics: ${file} uses only metrics and labels that exist`, () => {
      const used = expressionsOf(file);
      assert.ok(used.length > 8);
      for (const expression of used) {
        for (const [, name = '', , matchers = ''] of expression.matchAll(/\b((relayer|nodejs|process)_\w+)(?:\{([^}]*)\})?/g)) {
          const samples = scraped.samples.get(name);
          if (valueless.has(name)) continue;
          assert.ok(samples !== undefined, `${name} is not there: ${expression}`);
          for (const [, label = ''] of matchers.matchAll(/(\w+)\s*[=!]/g)) {
            // Prometheus adds these two by itself.
            if (label === 'instance' || label === 'job') continue;
            assert.ok(
              samples.some(({ labels }) => label in labels),
              `${name} has no label ${label}`,
            );
          }
        }
      }
    });
  }

  it('metrics: requests are counted by method, protocol and outcome', () => {
    const count = (method: string, protocol: string, code: string) => sumOf(scraped, 'relayer_requests_total', { method, protocol, code });
    assert.equal(count('TransactionService.SendTransaction', 'rest', '200'), 1);
    assert.equal(count('TransactionService.SendTransaction', 'grpc', '200'), 1);
    assert.equal(count('TransactionService.SendTransaction', 'grpc', '400'), 1);
    assert.equal(count('TransactionService.SendTransaction', 'grpc-web', '404'), 1);
    assert.equal(count('SigningService.SignData', 'rest', '200'), 1);
    assert.equal(count('SigningService.SignData', 'rest', '401'), 1);
    assert.equal(count('none', 'rest', '404'), 1);
    const calls = (result: string) => sumOf(scraped, 'relayer_calls_total', { result });
    const counted = (code: RegExp) =>
      (scraped.samples.get('relayer_requests_total') ?? [])
        .filter(({ labels }) => code.test(labels.code ?? '') && labels.protocol !== 'http' && !labels.method?.startsWith('Health'))
        .reduce((sum, { value }) => sum + value, 0);
    assert.deepEqual(
      [calls('ok'), calls('refused'), calls('failed')],
      [counted(/^2/), counted(/^4/), 0],
      'pages and health checks do not count',
    );
    assert.ok(
      scraped.samples.get('relayer_calls_total')?.some(({ labels }) => labels.result === 'failed'),
      'it begins with 0',
    );
    assert.equal(sumOf(scraped, 'relayer_request_duration_seconds_count', { method: 'SigningService.SignData', result: 'refused' }), 1);
  });

  it('metrics: transactions are counted by final status and attempts by purpose', () => {
    const reached = (status: string) => sumOf(scraped, 'relayer_transactions_total', { relayer: 'r1', status });
    assert.deepEqual([reached('pending'), reached('sent'), reached('submitted'), reached('canceled')], [2, 2, 2, 1]);
    assert.equal(sumOf(scraped, 'relayer_attempts_total', { relayer: 'r1', kind: 'content' }), 2);
    assert.equal(sumOf(scraped, 'relayer_attempts_total', { relayer: 'r1', kind: 'cancel' }), 1);
  });

  it('metrics: networks, RPC endpoints and commits have their current values', async () => {
    assert.equal(sumOf(scraped, 'relayer_network_reachable', { network: 'local' }), 1);
    assert.ok(sumOf(scraped, 'relayer_head_block', { network: 'local' }) >= 1);
    assert.ok(sumOf(scraped, 'relayer_node_requests_total', { network: 'local', host: new URL(anvil.url).host, result: 'answered' }) > 5);
    assert.ok(sumOf(scraped, 'relayer_commits_total', { result: 'written' }) > 5);
    for (const name of ['relayer_ready', 'relayer_store_up']) assert.equal(sumOf(scraped, name), 1);
    assert.equal(sumOf(scraped, 'relayer_active', { relayer: 'r1' }), 1);
    assert.deepEqual(
      ['starting', 'sharing', 'draining'].map((state) => sumOf(scraped, 'relayer_instances', { state })),
      [0, 1, 0],
    );
    assert.equal(sumOf(scraped, 'relayer_leases_held', { kind: 'lane' }), 1);
    assert.equal(sumOf(scraped, 'relayer_leases_held', { kind: 'housekeeping' }), 1);
    assert.equal(sumOf(scraped, 'relayer_leases_unheld', {}), 0);
  });

  it('metrics: no label holds an ID, a path or text from a caller', () => {
    assert.ok(!text.includes(secret));
    assert.doesNotMatch(text, /[0-9a-f]{8}-[0-9a-f]{4}-7/);
    for (const samples of scraped.samples.values()) for (const { labels } of samples) assert.ok(!('transaction' in labels));
  });

  it('metrics: a key that is limited to relayers sees only their samples', async () => {
    const { body } = await rest(service.baseUrl, 'POST', '/api-keys', { name: 'x', scopes: ['sign'], relayer_ids: ['r2'] });
    const { body: own } = await rest(service.baseUrl, 'POST', '/api-keys', { name: 'x', scopes: ['sign'], relayer_ids: ['r1'] });
    const samples = async (key: string) => {
      const answer = await fetch(`${service.baseUrl}/metrics`, { headers: { authorization: `Bearer ${key}` } });
      return (await answer.text()).split('\n').filter((line) => !line.startsWith('#'));
    };
    const ofOwn = /relayer="r2"|network="local"/;
    assert.deepEqual(
      (await samples(body.data.key)).filter((line) => line !== '' && !ofOwn.test(line)),
      [],
    );
    const seen = await samples(own.data.key);
    assert.ok(seen.includes('relayer_active{relayer="r1"} 1'), seen.join('\n'));
    assert.ok(seen.some((line) => /^relayer_transactions_total\{relayer="r1",status="canceled"\}/.test(line)));
  });

  it('metrics: the page needs a key with any scope', async () => {
    assert.equal((await fetch(`${service.baseUrl}/metrics`)).status, 401);
    const { body } = await rest(service.baseUrl, 'POST', '/api-keys', { name: 'scraper', scopes: ['transactions:read'] });
    const answer = await fetch(`${service.baseUrl}/metrics`, { headers: { authorization: `Bearer ${body.data.key}` } });
    assert.equal(answer.status, 200, JSON.stringify(body));
  });
});

it('metrics: each panel of the dashboard has a description', () => {
  for (const { type, title, description } of JSON.parse(readFileSync('docs/grafana/relayer.json', 'utf8')).panels)
    assert.ok(type === 'row' || description !== '', title);
});

/** The expressions of a dashboard or of alert rules. */
function expressionsOf(file: string): readonly string[] {
  const content = readFileSync(file, 'utf8');
  if (!file.endsWith('.json')) return [...content.matchAll(/^ +expr: (.*)$/gm)].map(([, expression = '']) => expression);
  const { panels } = JSON.parse(content) as { panels: readonly { targets?: readonly { expr: string }[] }[] };
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}
