import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { selfSigned } from '../support/self-signed.js';
import { apiKey, createServiceHome, type ServiceHome } from '../support/service.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const dockerfile = readFileSync('Dockerfile', 'utf8').replaceAll(/\\\n/g, '');
/** The user of the image. Only root can become another user. */
const user = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : {};

describe('the image', () => {
  let app: string;
  let home: ServiceHome;
  let env: Readonly<Record<string, string>>;

  before(async () => {
    const root = await temporaryFolder();
    chmodSync(root, 0o755);
    app = join(root, 'app');
    execFileSync(process.execPath, ['dist/.ci/image-files.js', app]);
    home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:1' });
    const data = join(root, 'data');
    mkdirSync(data);
    if (user.uid !== undefined) chownSync(data, user.uid, user.gid);
    layOutConfig();
    env = {
      ...Object.fromEntries([...dockerfile.matchAll(/(?<=ENV.*)\b([A-Z_]+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value])),
      PATH: process.env.PATH ?? '',
      STORAGE_ENCRYPTION_KEY: home.env.STORAGE_ENCRYPTION_KEY ?? '',
      API_KEY: apiKey,
      KEYSTORE_PASSPHRASE: 'pass',
      DATABASE_URL: `sqlite:${join(data, 'relayer.db')}`,
      HOST: '127.0.0.1',
    };
    // Only root can write past these modes, and it does not run the program here.
    execFileSync('chmod', ['-R', 'a-w,a+rX', app]);
    const keystore = join(app, 'config/keys/local-signer.json');
    chmodSync(keystore, 0o400);
    if (user.uid !== undefined) chownSync(keystore, user.uid, user.gid);
  });
  after(async () => {
    execFileSync('chmod', ['-R', 'u+w', app]);
    await home.remove();
  });

  it('has the program with the default settings of the image, and nothing of the tests or the build', () => {
    assert.deepEqual(readdirSync(app).sort(), ['LICENSE', 'config', 'dist', 'gen', 'node_modules', 'package.json']);
    assert.deepEqual(readdirSync(join(app, 'dist')).sort(), ['console', 'program', 'reference']);
    for (const name of ['undici', 'typescript', '@bufbuild', 'elliptic', 'prebuild-install']) {
      assert.ok(!existsSync(join(app, 'node_modules', name)), name);
    }
    const bytes = readdirSync(app, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const size = bytes.reduce((sum, entry) => sum + readFileSync(join(entry.parentPath, entry.name)).length, 0);
    assert.ok(size < 25e6, `${size} bytes`);
  });

  it('reads config/config.json with relative paths, as the image of OpenZeppelin Relayer does', () => {
    const checked = run(['check-config']);
    assert.deepEqual([checked.status, checked.stderr], [0, '']);
    assert.match(checked.stdout, /^configuration is valid: 1 relayer/m);
  });

  for (const scheme of ['http', 'https'] as const) {
    it(`serves and is healthy over ${scheme}, without the right to write to its own files`, async () => {
      const tls = scheme === 'https' ? await tlsFiles() : {};
      const service = spawn(process.execPath, ['dist/program/main.js', 'serve'], {
        cwd: app,
        ...user,
        env: { ...env, ...tls, APP_PORT: '0' },
      });
      let output = '';
      for (const stream of [service.stdout, service.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
      try {
        const port = await waitFor('the service to listen', () => {
          assert.equal(service.exitCode, null, output);
          return /"port":(\d+)/.exec(output)?.[1];
        });
        assert.equal(health({ ...tls, APP_PORT: port }), 0, output);
        if (scheme === 'http') {
          const url = `http://127.0.0.1:${port}`;
          const list = await fetch(`${url}/api/v1/relayers/r1`, { headers: { authorization: `Bearer ${apiKey}` } });
          assert.equal(list.status, 200);
          for (const path of ['/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js', '/console', '/openapi.json', '/contract.zip']) {
            assert.equal((await fetch(`${url}${path}`)).status, 200, path);
          }
        }
        const ended = new Promise((exited) => service.once('exit', exited));
        service.kill('SIGTERM');
        assert.equal(await ended, 0, output);
        assert.equal(health({ ...tls, APP_PORT: port }), 1);
      } finally {
        service.kill('SIGKILL');
      }
    });
  }

  it('is built from files that .dockerignore lets through', () => {
    const letThrough = readFileSync('.dockerignore', 'utf8')
      .split('\n')
      .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources = '']) => sources.split(' '));
    assert.ok(copied.length > 5);
    assert.deepEqual(copied.sort(), letThrough.sort());
  });

  /** Puts the configuration where a container has it: config/config.json, with the networks and keystores beside it. */
  function layOutConfig(): void {
    const config = JSON.parse(readFileSync(join(home.dir, 'config.json'), 'utf8'));
    mkdirSync(join(app, 'config/networks'), { recursive: true });
    mkdirSync(join(app, 'config/keys'));
    writeFileSync(join(app, 'config/networks/local.json'), JSON.stringify({ networks: config.networks }));
    writeFileSync(join(app, 'config/keys/local-signer.json'), readFileSync(join(home.dir, 'keystore.json')));
    const passphrase = { type: 'env', value: 'KEYSTORE_PASSPHRASE' };
    config.signers[0].config = { path: 'config/keys/local-signer.json', passphrase };
    config.networks = './config/networks';
    writeFileSync(join(app, 'config/config.json'), JSON.stringify(config));
  }

  async function tlsFiles(): Promise<Readonly<Record<string, string>>> {
    const { certPem, keyPem } = await selfSigned();
    const folder = await temporaryFolder({ 'cert.pem': certPem, 'key.pem': keyPem });
    execFileSync('chmod', ['-R', 'a+rX', folder]);
    return { TLS_CERT_FILE: join(folder, 'cert.pem'), TLS_KEY_FILE: join(folder, 'key.pem') };
  }

  function run(args: readonly string[]) {
    return spawnSync(process.execPath, ['dist/program/main.js', ...args], { cwd: app, ...user, env, encoding: 'utf8' });
  }

  /** Runs the health check of the Dockerfile, which has no shell. Returns its exit code. */
  function health(settings: Readonly<Record<string, string>>): number | null {
    const [program, ...args] = JSON.parse(/^HEALTHCHECK .*CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]') as readonly string[];
    assert.equal(program, 'node');
    return spawnSync(process.execPath, args, { cwd: resolve(app), ...user, env: { ...env, ...settings } }).status;
  }
});
