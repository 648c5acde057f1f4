import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { settings } from '../../src/config/settings.js';
import { rest, rpcCallers } from '../support/callers.js';
import { freePort } from '../support/free-port.js';
import { startInstances } from '../support/instances.js';
import { startPostgres } from '../support/postgres.js';
import { createServiceHome } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const folder = 'examples/deploy';
const haproxy = ['/usr/sbin/haproxy', '/usr/local/sbin/haproxy'].find((path) => existsSync(path));
const skip = haproxy === undefined ? 'skipped: haproxy is not installed (apt-get install haproxy)' : false;
const healthPath = '/api/v1/health';
const readyPath = '/api/v1/ready';
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

/** Runs HAProxy with the example's configuration in front of these ports; resolves to its address. */
async function startHaproxy(test: TestContext, [a, b, c]: readonly number[]): Promise<string> {
  const port = await freePort();
  const text = (await read('haproxy.cfg'))
    .replace('bind :8080', `bind 127.0.0.1:${port}`)
    .replace('relayer-a:8080', `127.0.0.1:${a}`)
    .replace('relayer-b:8080', `127.0.0.1:${b}`)
    .replace('relayer-c:8080', `127.0.0.1:${c}`);
  const dir = await mkdtemp(join(tmpdir(), 'relayer-haproxy-'));
  test.after(() => rm(dir, { recursive: true }));
  const file = join(dir, 'haproxy.cfg');
  await writeFile(file, text);
  const child = spawn(haproxy ?? '', ['-f', file], { stdio: 'ignore' });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const stopWithUs = () => void child.kill('SIGKILL');
  process.once('exit', stopWithUs);
  test.after(async () => {
    process.removeListener('exit', stopWithUs);
    child.kill('SIGKILL');
    await exited;
  });
  return `http://127.0.0.1:${port}`;
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
      assert.ok(Number.parseInt(grace, 10) > 10, 'a stop takes up to 10 s');
      assert.ok(Object.keys(needs).every((one) => one in services));
    }
    assert.ok('postgres' in volumes);
  });

  it('kubernetes.yaml probes paths that exist, routes to ready pods alone, and replaces one pod at a time', async () => {
    const documents = parseAllDocuments(await read('kubernetes.yaml'));
    for (const { errors } of documents) assert.deepEqual(errors, []);
    const objects = documents.map((document) => document.toJS());
    const byKind = (kind: string) => objects.filter((one) => one.kind === kind);
    const [deployment] = byKind('Deployment');
    const { template, replicas, strategy, selector } = deployment.spec;
    assert.deepEqual(template.metadata.labels, selector.matchLabels);
    assert.equal(replicas, 3);
    // Pods have nodes of their own, so an update that first starts another pod would wait for ever.
    assert.deepEqual(strategy.rollingUpdate, { maxUnavailable: 1, maxSurge: 0 });
    assert.ok('requiredDuringSchedulingIgnoredDuringExecution' in template.spec.affinity.podAntiAffinity);
    const [container] = template.spec.containers;
    assert.equal(container.readinessProbe.httpGet.path, readyPath);
    assert.equal(container.livenessProbe.httpGet.path, healthPath);
    assert.equal(container.startupProbe.httpGet.path, healthPath);
    assert.ok(template.spec.terminationGracePeriodSeconds > 10, 'a stop takes up to 10 s');
    const mounted = container.volumeMounts.map(({ name }: { name: string }) => name);
    assert.deepEqual(
      mounted,
      template.spec.volumes.map(({ name }: { name: string }) => name),
    );
    for (const service of byKind('Service')) assert.deepEqual(service.spec.selector, template.metadata.labels);
    const [callers] = byKind('Service');
    assert.notEqual(callers.spec.publishNotReadyAddresses, true);
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
    const baseUrl = await startHaproxy(
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
});
