import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Agent, request } from 'undici';
import { parse, parseAllDocuments } from 'yaml';
import { settings } from '../../src/config/settings.js';
import { pause } from '../../src/core/work/abort.js';
import { freePort } from '../../src/sandbox/free-port.js';
import { rest, rpcCallers } from '../support/callers.js';
import { startInstances } from '../support/instances.js';
import { startPostgres } from '../support/postgres.js';
import { selfSigned } from '../support/self-signed.js';
import { createServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const folder = 'examples/deploy';
const haproxy = ['/usr/sbin/haproxy', '/usr/local/sbin/haproxy'].find((path) => existsSync(path));
const skip = haproxy === undefined ? 'skipped: haproxy is not installed (apt-get install haproxy)' : false;
const withoutHelm = spawnSync('helm', ['version']).status === 0 ? false : 'skipped: helm is not installed';
const withoutSystemd = spawnSync('systemd-analyze', ['--version']).status === 0 ? false : 'skipped: systemd-analyze is not installed';
const healthPath = '/api/v1/health';
const readyPath = '/api/v1/ready';
const callEveryMs = 50;
/** Variables that the example's configuration file names. */
const ofConfiguration = ['KEYSTORE_PASSPHRASE'];

const read = (name: string) => readFile(join(folder, name), 'utf8');

function assertSettings(names: readonly string[]): void {
  const known = new Set([...settings.map(({ name }) => name), ...ofConfiguration]);
  assert.deepEqual(
    names.filter((name) => !known.has(name)),
    [],
  );
}

/** Runs HAProxy with the example's configuration in front of these ports; resolves to its address and its log. */
async function startHaproxy(
  test: TestContext,
  [a, b, c]: readonly number[],
  { tls = false } = {},
): Promise<{ readonly baseUrl: string; log(): string }> {
  const port = await freePort();
  const text = (await read('haproxy.cfg'))
    .replace(/^( +default-server) /m, tls ? '$1 check-ssl verify none ' : '$1 ')
    .replace('bind :8080', `bind 127.0.0.1:${port}`)
    .replace('relayer-a:8080', `127.0.0.1:${a}`)
    .replace('relayer-b:8080', `127.0.0.1:${b}`)
    .replace('relayer-c:8080', `127.0.0.1:${c}`);
  const dir = await mkdtemp(join(tmpdir(), 'relayer-haproxy-'));
  test.after(() => rm(dir, { recursive: true }));
  const file = join(dir, 'haproxy.cfg');
  await writeFile(file, text);
  const child = spawn(haproxy ?? '', ['-f', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.on('data', (text) => {
    log += text;
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const stopWithUs = () => void child.kill('SIGKILL');
  process.once('exit', stopWithUs);
  test.after(async () => {
    process.removeListener('exit', stopWithUs);
    child.kill('SIGKILL');
    await exited;
  });
  return { baseUrl: `http://127.0.0.1:${port}`, log: () => log };
}

/** Returns the only object of each kind. */
function kindsOf(text: string) {
  const documents = parseAllDocuments(text);
  for (const { errors } of documents) assert.deepEqual(errors, []);
  const objects = documents.map((document) => document.toJS()).filter((object) => object !== null);
  const byKind = new Map(objects.map((object) => [object.kind, object]));
  assert.equal(byKind.size, objects.length);
  return byKind;
}

function assertMounts({
  containers,
  volumes,
}: {
  containers: readonly { volumeMounts: readonly Named[] }[];
  volumes: readonly Named[];
}): void {
  const nameOf = ({ name }: Named) => name;
  assert.deepEqual(containers[0]?.volumeMounts.map(nameOf), volumes.map(nameOf));
}

interface Named {
  readonly name: string;
}

/** Returns the chart's objects with these values. */
function render(values: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(
    'helm',
    ['template', 'relayer', join(folder, 'chart'), ...values.flatMap((value) => ['--set', value])],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, stderr);
  return stdout;
}

/** Returns the paths of all values that have no values below them. */
function leavesOf(value: unknown, path = ''): readonly string[] {
  const entries = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  return entries.length === 0 ? [path] : entries.flatMap(([key, below]) => leavesOf(below, path === '' ? key : `${path}.${key}`));
}

describe('examples/deploy', () => {
  it('compose.yaml starts instances on one database behind the load balancer, with variables that exist', async () => {
    const { services, volumes } = parse(await read('compose.yaml'), { merge: true });
    const config = await read('haproxy.cfg');
    const servers = [...config.matchAll(/^ +server \S+ (\S+):8080$/gm)].map(([, host]) => host);
    const relayers = Object.keys(services).filter((name) => name.startsWith('relayer'));
    assert.deepEqual(servers, relayers);
    assert.equal(relayers.length, 3);
    for (const name of relayers) {
      const { environment, stop_grace_period: grace, depends_on: needs } = services[name];
      assertSettings(Object.keys(environment));
      assert.match(environment.DATABASE_URL, /@postgres:5432\//);
      assert.ok(Number.parseInt(grace, 10) > 10 + environment.SHUTDOWN_DELAY_SECONDS, 'a stop takes up to 10 s after its delay');
      assert.ok(Object.keys(needs).every((one) => one in services));
    }
    assert.ok('postgres' in volumes);
  });

  it('kubernetes.yaml probes paths that exist, routes to ready pods alone, and replaces one pod at a time', async () => {
    const byKind = kindsOf(await read('kubernetes.yaml'));
    assert.deepEqual([...byKind.keys()].sort(), ['Deployment', 'NetworkPolicy', 'PodDisruptionBudget', 'Service', 'ServiceAccount']);
    const { template, replicas, strategy, selector } = byKind.get('Deployment').spec;
    const { matchLabels } = selector;
    for (const [name, value] of Object.entries(matchLabels)) assert.equal(template.metadata.labels[name], value);
    assert.equal(replicas, 3);
    // Pods have nodes of their own, so an update that first starts another pod would wait for ever.
    assert.deepEqual(strategy.rollingUpdate, { maxUnavailable: 1, maxSurge: 0 });
    assert.ok('requiredDuringSchedulingIgnoredDuringExecution' in template.spec.affinity.podAntiAffinity);
    const [container] = template.spec.containers;
    assert.equal(container.readinessProbe.httpGet.path, readyPath);
    assert.equal(container.livenessProbe.httpGet.path, healthPath);
    assert.equal(container.startupProbe.httpGet.path, healthPath);
    assert.deepEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    const { terminationGracePeriodSeconds: grace } = template.spec;
    assert.ok(grace - container.lifecycle.preStop.sleep.seconds > 10, 'a stop takes up to 10 s');
    assertMounts(template.spec);
    assert.equal(container.volumeMounts[0].mountPath, '/app/config');
    assert.deepEqual(byKind.get('Service').spec.selector, matchLabels);
    assert.equal(byKind.get('Service').spec.ports[0].targetPort, container.ports[0].name);
    assert.notEqual(byKind.get('Service').spec.publishNotReadyAddresses, true);
    assert.deepEqual(byKind.get('PodDisruptionBudget').spec, { maxUnavailable: 1, selector: { matchLabels } });
    assert.deepEqual(byKind.get('NetworkPolicy').spec.podSelector, { matchLabels });
    assert.equal(template.spec.serviceAccountName, byKind.get('ServiceAccount').metadata.name);
    assertSettings(container.env.map(({ name }: { name: string }) => name));
  });

  it('relayer.service is a unit of systemd with variables that exist, and its exposure is at most 3.0', {
    skip: withoutSystemd,
  }, async (test) => {
    const text = await read('relayer.service');
    assertSettings([...text.matchAll(/^Environment=(\w+)=/gm)].map(([, name = '']) => name).filter((name) => name !== 'NODE_OPTIONS'));
    const dir = await mkdtemp(join(tmpdir(), 'relayer-unit-'));
    test.after(() => rm(dir, { recursive: true }));
    const unit = join(dir, 'relayer.service');
    await writeFile(unit, text.replace('/usr/bin/node', process.execPath));
    const analyze = (...args: readonly string[]) => {
      const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
      return { status, text: `${stdout}${stderr}` };
    };
    assert.deepEqual(analyze('verify', unit), { status: 0, text: '' });
    const security = analyze('security', '--offline=true', '--threshold=30', unit);
    assert.equal(security.status, 0, security.text);
  });

  it('the chart has the version of the package, and its templates use every value that values.yaml has, and no other', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8'));
    assert.equal(parse(await read('chart/Chart.yaml')).appVersion, version);
    const templates = (
      await Promise.all((await readdir(join(folder, 'chart/templates'))).map((name) => read(`chart/templates/${name}`)))
    ).join('');
    const used = [...templates.matchAll(/\.Values((?:\.\w+)+)/g)].map(([, path = '']) => path.slice(1));
    const known = leavesOf(parse(await read('chart/values.yaml')));
    for (const path of used)
      assert.ok(
        known.some((one) => one === path || one.startsWith(`${path}.`)),
        `${path} is not in values.yaml`,
      );
    for (const path of known)
      assert.ok(
        used.some((one) => one === path || path.startsWith(`${one}.`)),
        `no template uses ${path}`,
      );
  });

  it('kubernetes.yaml is the chart with its default values', { skip: withoutHelm }, async () => {
    const written = await read('kubernetes.yaml');
    assert.equal(written.slice(written.indexOf('---')), render([]));
  });

  it('the chart lints, and serves TLS, is measured, and is limited as its values say', { skip: withoutHelm }, async () => {
    const { status, stdout } = spawnSync('helm', ['lint', '--strict', join(folder, 'chart')], { encoding: 'utf8' });
    assert.equal(status, 0, stdout);
    const egress = 'networkPolicy.egress[0].ports[0].port=5432';
    const monitor = ['serviceMonitor.enabled=true', 'serviceMonitor.serverName=relayer.example.org'];
    const values = [
      'tls.secret=relayer-tls',
      'replicas=5',
      'spread=false',
      'settings.LOG_LEVEL=debug',
      egress,
      ...monitor,
      'keystores.secret=',
    ];
    const byKind = kindsOf(render(values));
    const { template, replicas } = byKind.get('Deployment').spec;
    const [container] = template.spec.containers;
    assert.equal(replicas, 5);
    assert.equal(template.spec.affinity, undefined);
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) assert.equal(container[probe].httpGet.scheme, 'HTTPS');
    assertMounts(template.spec);
    const env = new Map(container.env.map(({ name, value }: { name: string; value?: string }) => [name, value]));
    assertSettings([...env.keys()] as string[]);
    const mount = container.volumeMounts.find(({ name }: { name: string }) => name === 'tls');
    assert.equal(env.get('TLS_CERT_FILE'), `${mount.mountPath}/tls.crt`);
    assert.equal(env.get('LOG_LEVEL'), 'debug');
    assert.ok(!container.volumeMounts.some(({ name }: { name: string }) => name === 'keystores'));
    const { policyTypes, egress: rules } = byKind.get('NetworkPolicy').spec;
    assert.deepEqual([policyTypes, rules], [['Ingress', 'Egress'], [{ ports: [{ port: 5432 }] }]]);
    const [endpoint] = byKind.get('ServiceMonitor').spec.endpoints;
    assert.deepEqual([endpoint.path, endpoint.scheme, endpoint.port], ['/metrics', 'https', byKind.get('Service').spec.ports[0].name]);
    assert.deepEqual(byKind.get('ServiceMonitor').spec.selector.matchLabels, byKind.get('Service').spec.selector);
    assert.equal(kindsOf(render(['disruptionBudget.enabled=false', 'networkPolicy.enabled=false'])).size, 3);
  });

  it('haproxy.cfg is accepted by HAProxy', { skip }, () => {
    const { status, stderr } = spawnSync(haproxy ?? '', ['-c', '-f', join(folder, 'haproxy.cfg')], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  });

  it('HAProxy leads REST, gRPC, gRPC-Web and Connect to instances that are ready, also while one is killed', { skip }, async (test) => {
    const postgres = await startPostgres();
    test.after(() => postgres.stop());
    const env = { DATABASE_URL: await postgres.newDatabase() };
    const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env });
    test.after(() => home.remove());
    const instances = await startInstances(home, 3);
    test.after(() => instances.stop());
    const { baseUrl } = await startHaproxy(
      test,
      instances.all.map(({ port }) => port),
    );
    const callers = rpcCallers(baseUrl);
    test.after(() => {
      for (const caller of callers) caller.close();
    });
    const requireAnswers = async (when: string) => {
      await waitFor(
        `REST to answer ${when}`,
        async () => ((await rest(baseUrl, 'GET', '/relayers/r1/transactions').catch(() => null))?.status === 200 ? true : undefined),
        60_000,
      );
      for (const caller of callers)
        await waitFor(
          `${caller.protocol} to answer ${when}`,
          async () => {
            const outcome = await caller.call('TransactionService', 'ListTransactions', { relayer_id: 'r1' }).catch(() => null);
            return outcome?.ok === true ? true : undefined;
          },
          60_000,
        );
    };
    await requireAnswers('at first');
    const killed = await instances.ready();
    process.kill(killed.process().pid, 'SIGKILL');
    await requireAnswers('after an instance was killed');
  });

  it('HAProxy finds instances that serve TLS ready, with the addition that its file names', { skip }, async (test) => {
    const { certPem, keyPem } = await selfSigned();
    const dir = await mkdtemp(join(tmpdir(), 'relayer-tls-'));
    test.after(() => rm(dir, { recursive: true }));
    const [TLS_CERT_FILE, TLS_KEY_FILE] = [join(dir, 'tls.crt'), join(dir, 'tls.key')] as const;
    await Promise.all([writeFile(TLS_CERT_FILE, certPem), writeFile(TLS_KEY_FILE, keyPem, { mode: 0o600 })]);
    const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env: { TLS_CERT_FILE, TLS_KEY_FILE } });
    test.after(() => home.remove());
    const service = await startService(home);
    test.after(() => service.kill());
    const away = [await freePort(), await freePort()];
    const proxy = new URL((await startHaproxy(test, [service.port, ...away], { tls: true })).baseUrl);
    const agent = new Agent({ connect: { ca: certPem } });
    test.after(() => agent.close());
    const url = `https://127.0.0.1:${proxy.port}/api/v1/ready`;
    await waitFor('a call through HAProxy', async () => {
      const answer = await request(url, { dispatcher: agent }).catch(() => null);
      return answer?.statusCode === 200 || undefined;
    });
  });

  it('three rolling restarts behind HAProxy fail no call, over connections that are kept and new ones', { skip }, async (test) => {
    const postgres = await startPostgres();
    test.after(() => postgres.stop());
    const env = { DATABASE_URL: await postgres.newDatabase(), SHUTDOWN_DELAY_SECONDS: '3600' };
    const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env });
    test.after(() => home.remove());
    const instances = await startInstances(home, 3);
    test.after(() => instances.stop());
    const { baseUrl, log } = await startHaproxy(
      test,
      instances.all.map(({ port }) => port),
    );
    for (const instance of instances.all) await waitFor('each instance', async () => (await instance.isReady()) || undefined);
    await waitFor('HAProxy', async () => (await fetch(`${baseUrl}${readyPath}`).catch(() => null))?.ok || undefined);
    const callers = rpcCallers(baseUrl);
    test.after(() => {
      for (const caller of callers) caller.close();
    });
    const failed: string[] = [];
    let calls = 0;
    let isOver = false;
    async function keepCalling(name: string, call: () => Promise<string | null>): Promise<void> {
      while (!isOver) {
        const problem = await call().catch((error: Error) => `${error.message} ${String(error.cause ?? '')}`);
        calls += 1;
        if (problem !== null) failed.push(`${new Date().toISOString()} ${name}: ${problem}`);
        await pause(callEveryMs);
      }
    }
    const overRest = (headers: Record<string, string>) => async () => {
      const { status, text } = await rest(baseUrl, 'POST', '/relayers/r1/transactions', { to: `0x${'1'.repeat(40)}`, value: 1 }, headers);
      return status === 200 ? null : `${status} ${text}`;
    };
    const working = [
      keepCalling('REST', overRest({})),
      keepCalling('REST on new connections', overRest({ connection: 'close' })),
      ...callers.map((caller) =>
        keepCalling(caller.protocol, async () => {
          const outcome = await caller.call('TransactionService', 'ListTransactions', { relayer_id: 'r1', page_size: 1 });
          return outcome.ok ? null : `${outcome.code} ${outcome.message}`;
        }),
      ),
    ];
    const untilHaproxySays = async (name: string, state: 'stopping' | 'UP') => {
      const isSaid = () =>
        log()
          .split('\n')
          .findLast((line) => line.includes(`instances/${name} is `))
          ?.includes(` is ${state}`);
      await waitFor(`HAProxy to find ${name} ${state}`, () => isSaid() || undefined, 60_000);
    };
    for (let round = 0; round < 3; round += 1)
      for (const [index, instance] of instances.all.entries()) {
        const name = `relayer-${'abc'[index]}`;
        const { pid, exited } = instance.process();
        process.kill(pid, 'SIGTERM');
        await untilHaproxySays(name, 'stopping');
        process.kill(pid, 'SIGTERM');
        assert.equal(await exited, 0);
        await untilHaproxySays(name, 'UP');
      }
    isOver = true;
    await Promise.all(working);
    assert.deepEqual(failed, [], `${failed.length} of ${calls} calls failed\n${log()}`);
    assert.ok(calls > 300, `${calls} calls`);
  });
});
