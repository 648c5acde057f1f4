import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative, sep } from 'node:path';
import { describe, it } from 'node:test';
import { questions as solanaQuestions } from '../src/chains/solana/questions.js';
import { questions as stellarQuestions } from '../src/chains/stellar/questions.js';

/** What each room may import besides itself: rooms by their path under `src`, and packages. Node's own modules are free to all. */
const rooms: Readonly<Record<string, { readonly rooms: readonly string[]; readonly packages: readonly string[] }>> = {
  core: { rooms: [], packages: [] },
  json: { rooms: ['core'], packages: [] },
  codec: { rooms: ['core', 'json', 'gen'], packages: ['@bufbuild/protobuf'] },
  crypto: { rooms: ['core'], packages: ['hash-wasm', 'secp256k1'] },
  config: { rooms: ['core', 'json', 'codec', 'gen'], packages: ['@bufbuild/protobuf'] },
  observability: {
    rooms: ['core'],
    packages: [
      'pino',
      'prom-client',
      '@opentelemetry/api',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace-base',
    ],
  },
  engine: { rooms: ['core'], packages: [] },
  storage: { rooms: ['core'], packages: ['better-sqlite3', 'kysely', 'pg', 'pg-protocol'] },
  webhooks: { rooms: ['core'], packages: ['undici'] },
  plugins: { rooms: ['core', 'json'], packages: ['undici'] },
  'chains/rpc': { rooms: ['core', 'json'], packages: ['undici'] },
  'chains/evm': { rooms: ['core', 'json', 'crypto', 'chains/rpc'], packages: ['ethers'] },
  'chains/stellar': { rooms: ['core', 'json', 'crypto', 'chains/rpc'], packages: ['@stellar/stellar-sdk'] },
  'chains/solana': { rooms: ['core', 'json', 'crypto', 'chains/rpc'], packages: ['@solana/kit'] },
  'signers/local': { rooms: ['core', 'crypto', 'json'], packages: [] },
  'signers/hosted': { rooms: ['core', 'crypto'], packages: ['undici'] },
  'signers/vault': { rooms: ['core', 'signers/hosted'], packages: [] },
  'signers/pkcs11': { rooms: ['core', 'signers/hosted'], packages: [] },
  // The same server as the KV engine's.
  'signers/vault-transit': { rooms: ['core', 'signers/hosted', 'signers/vault'], packages: [] },
  'signers/aws-kms': { rooms: ['core', 'signers/hosted'], packages: ['@aws-sdk/client-kms', '@aws-sdk/credential-provider-node'] },
  'signers/turnkey': { rooms: ['core', 'crypto', 'signers/hosted'], packages: [] },
  'signers/cdp': { rooms: ['core', 'crypto', 'signers/hosted'], packages: [] },
  'signers/google-cloud-kms': { rooms: ['core', 'signers/hosted'], packages: [] },
  'signers/azure-key-vault': { rooms: ['core', 'crypto', 'signers/hosted'], packages: [] },
  'api/contract': { rooms: ['core', 'json', 'codec', 'gen'], packages: ['@bufbuild/protobuf', '@connectrpc/connect'] },
  'api/http': { rooms: ['core', 'api/contract'], packages: ['@connectrpc/connect'] },
  'api/guards': { rooms: ['core', 'api/contract', 'api/http'], packages: [] },
  'api/services': { rooms: ['core', 'gen', 'codec', 'crypto', 'api/contract'], packages: ['@bufbuild/protobuf', '@connectrpc/connect'] },
  'api/unary': { rooms: ['api/contract', 'api/http'], packages: ['@bufbuild/protobuf', '@connectrpc/connect'] },
  'api/rpc': {
    rooms: ['core', 'gen', 'json', 'codec', 'api/contract', 'api/http', 'api/unary'],
    packages: ['@bufbuild/protobuf', '@connectrpc/connect', '@connectrpc/connect-node'],
  },
  'api/rest': {
    rooms: ['core', 'gen', 'json', 'codec', 'api/contract', 'api/http', 'api/unary'],
    packages: ['@bufbuild/protobuf', '@connectrpc/connect'],
  },
  // Local chains, which `npm start` and the tests run. Only the command imports it.
  sandbox: {
    rooms: ['core', 'chains/evm', 'signers/local', 'storage'],
    packages: ['@solana/kit', '@stellar/stellar-sdk', 'litesvm'],
  },
  // Browser code, which the build bundles. No other room imports it.
  console: {
    rooms: ['gen'],
    packages: ['@bufbuild/protobuf', '@connectrpc/connect', '@connectrpc/connect-web', '@preact/signals', 'preact'],
  },
  // The package's client, which the build bundles. No other room imports it.
  client: { rooms: ['gen'], packages: ['@bufbuild/protobuf', '@connectrpc/connect', '@connectrpc/connect-web'] },
  api: { rooms: ['core', 'api/contract', 'api/http', 'api/guards', 'api/rpc', 'api/rest'], packages: ['@connectrpc/connect'] },
};

/** Folders of rooms, bottom up: each file imports only from its own folder and from those below it. `.`: files in no folder of the room. */
const floors: Readonly<Record<string, readonly string[]>> = {
  core: [
    'errors',
    'text',
    'work',
    'records',
    'ports/store',
    'ports',
    'definitions',
    'rules',
    'fees',
    'network',
    'notification',
    'plugin',
    'access',
    'transaction',
    'signer',
    'relayer',
    'overview',
  ],
  storage: ['sql', 'statements', 'migrations', 'database', 'sqlite', 'postgres', '.'],
  api: [
    'contract',
    'http',
    'guards',
    'unary',
    'rpc',
    'rest',
    'services/shared',
    'services/transactions',
    'services/relayers',
    'services/instances',
    'services/overview',
    'services/networks',
    'services/plugins',
    'services/audit',
    'services/notifications',
    'services/signers',
    'services/signing',
    'services/api-keys',
    'services',
    '.',
  ],
  engine: ['leases', 'lane', '.'],
  console: ['text', 'model', 'service', 'parts', 'views', '.'],
  cli: ['terminal', 'openzeppelin', '.'],
};

interface Import {
  readonly file: string;
  readonly room: string;
  /** A room, or `package:<name>`. */
  readonly target: string;
  /** The imported file, by its path under `src`; null: a package, or a file outside. */
  readonly targetFile: string | null;
}

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
const fileSet = new Set(files);

function roomOf(path: string): string {
  const parts = path.split(sep);
  if (parts[0] === 'gen') return 'gen';
  return [parts.slice(0, 2).join('/'), parts[0] ?? ''].find((room) => room in rooms) ?? 'root';
}

/** The folder of `src` that has the file, or the file itself. */
function topOf(file: string): string {
  return file.split(sep)[0] ?? '';
}

const imports: readonly Import[] = files.flatMap((file) =>
  [...readFileSync(join('src', file), 'utf8').matchAll(/(?:from\s+|import\(\s*)'([^']+)'/g)]
    .map(([, specifier = '']) => specifier)
    .filter((specifier) => !specifier.startsWith('node:'))
    .map((specifier) => {
      if (!specifier.startsWith('.')) {
        const name = specifier
          .split('/')
          .slice(0, specifier.startsWith('@') ? 2 : 1)
          .join('/');
        return { target: `package:${name}`, targetFile: null };
      }
      const path = normalize(join('src', dirname(file), specifier));
      if (!path.startsWith(`src${sep}`)) return { target: roomOf(path), targetFile: null };
      return { target: roomOf(path.slice(4)), targetFile: sourceOf(path.slice(4)) };
    })
    .map((found) => ({ file, room: roomOf(file), ...found })),
);

/** Returns the source of an imported file, by its path under `src`. */
function sourceOf(path: string): string {
  const stem = path.replace(/\.js$/, '');
  return fileSet.has(`${stem}.tsx`) ? `${stem}.tsx` : `${stem}.ts`;
}

/** The groups of files that import one another, directly or through others of the group; type-only imports count. */
function circlesOf(edges: readonly Import[]): string[][] {
  const importsOf = new Map(files.map((file) => [file, new Set<string>()]));
  for (const { file, targetFile } of edges) if (targetFile !== null) importsOf.get(file)?.add(targetFile);
  const reachableFrom = (start: string): ReadonlySet<string> => {
    const reached = new Set<string>();
    const open = [start];
    for (let file = open.pop(); file !== undefined; file = open.pop()) {
      for (const next of importsOf.get(file) ?? []) {
        if (reached.has(next)) continue;
        reached.add(next);
        open.push(next);
      }
    }
    return reached;
  };
  const reachable = new Map(files.map((file) => [file, reachableFrom(file)]));
  const inCircle = files.filter((file) => reachable.get(file)?.has(file)).sort();
  const groups = inCircle.map((file) => inCircle.filter((other) => reachable.get(file)?.has(other) && reachable.get(other)?.has(file)));
  return groups.filter((group, index) => group[0] === inCircle[index]);
}

describe('dependencies point one way', () => {
  it('rooms: each imports only what it may', () => {
    const wrong = imports.filter(({ room, target }) => {
      const allowed = rooms[room];
      if (allowed === undefined || target === room) return false;
      return target.startsWith('package:') ? !allowed.packages.includes(target.slice(8)) : !allowed.rooms.includes(target);
    });
    assert.deepEqual(wrong, []);
    assert.ok(imports.length > 200, 'the imports were read');
  });

  it('console, client: no other room imports them', () => {
    assert.deepEqual(
      imports.filter(({ room, target }) => ['console', 'client'].includes(target) && room !== target),
      [],
    );
  });

  it('app: only commands import it, and it imports none of them', () => {
    const importers = imports.filter(({ file, targetFile }) => targetFile !== null && topOf(targetFile) === 'app' && topOf(file) !== 'app');
    assert.deepEqual(
      importers.filter(({ file }) => topOf(file) !== 'cli'),
      [],
    );
    assert.ok(importers.length > 0, 'a command starts the app');
    assert.deepEqual(
      imports.filter(
        ({ file, targetFile }) => topOf(file) === 'app' && targetFile !== null && ['cli', 'main.ts'].includes(topOf(targetFile)),
      ),
      [],
    );
  });

  it('sandbox: only the command imports it', () => {
    assert.deepEqual(
      imports.filter(({ file, room, target }) => target === 'sandbox' && room !== 'sandbox' && !file.startsWith(`cli${sep}`)),
      [],
    );
  });

  for (const [room, folders] of Object.entries(floors)) {
    it(`${room}: each folder imports only folders below it`, () => {
      /** A folder that is not listed is a part of the listed one that has it. */
      const floorOf = (file: string): number => {
        for (let folder = relative(room, dirname(file)); folder !== ''; folder = relative('.', dirname(folder)))
          if (folders.includes(folder)) return folders.indexOf(folder);
        return dirname(file) === room ? folders.indexOf('.') : -1;
      };
      const own = files.filter((file) => topOf(file) === room);
      assert.deepEqual(
        own.filter((file) => floorOf(file) === -1),
        [],
        'every file is on a floor',
      );
      assert.deepEqual(
        folders.filter((_, floor) => !own.some((file) => floorOf(file) === floor)),
        [],
        'no floor is empty',
      );
      assert.deepEqual(
        imports.filter(
          ({ file, targetFile }) =>
            topOf(file) === room && targetFile !== null && topOf(targetFile) === room && floorOf(targetFile) > floorOf(file),
        ),
        [],
      );
    });
  }

  it('chains/evm: no file but the table of questions names a method of nodes', () => {
    const naming = files
      .filter((file) => file.startsWith(join('chains', 'evm') + sep))
      .filter((file) => {
        return /['"](?:eth|net|web3|txpool|debug|trace)_\w+['"]/.test(readFileSync(join('src', file), 'utf8'));
      });
    assert.deepEqual(naming, [join('chains', 'evm', 'questions.ts')]);
  });

  for (const [network, questions] of Object.entries({ solana: solanaQuestions, stellar: stellarQuestions })) {
    it(`chains/${network}: no file but the table of questions names a method of nodes`, () => {
      const methods = Object.values(questions).map(({ entry }) => `'${entry.method}'`);
      const naming = files
        .filter((file) => file.startsWith(join('chains', network) + sep))
        .filter((file) => {
          const text = readFileSync(join('src', file), 'utf8');
          return methods.some((method) => text.includes(method)) || /\bmethod: /.test(text);
        });
      assert.deepEqual(naming, [join('chains', network, 'questions.ts')]);
    });
  }

  it('files: none import one another in a circle', () => {
    assert.deepEqual(circlesOf(imports), []);
  });

  it('rooms: every file is in a known room, and none is empty', () => {
    const found = new Set(files.map(roomOf));
    assert.deepEqual(
      Object.keys(rooms).filter((room) => !found.has(room)),
      [],
    );
    const composed = (file: string): boolean => ['app', 'cli'].includes(topOf(file));
    assert.deepEqual(
      files.filter((file) => roomOf(file) === 'root' && !composed(file)),
      ['main.ts'],
    );
  });

  it('timers: only core/work sets them, besides the console and the client, which are for browsers too, and the local chains of the sandbox', () => {
    const setters = files.filter((file) => {
      const text = readFileSync(join('src', file), 'utf8');
      return /(?<![.\w])setTimeout\(|(?<![.\w])setInterval\(|AbortSignal\.timeout\(|setTimeout.* from 'node:timers/.test(text);
    });
    assert.deepEqual(
      setters.filter((file) => !['client', 'console', 'sandbox'].includes(topOf(file))),
      [join('core', 'work', 'timers.ts')],
    );
  });

  it('the whole store: only the storage, the composition and commands take it; others name the parts that they use', () => {
    const users = files.filter((file) =>
      /import type \{[^}]*\b(Store|Reads|Changes)\b[^}]*\} from '[^']*\/store\.js'/.test(readFileSync(join('src', file), 'utf8')),
    );
    assert.deepEqual(
      users.filter((file) => !['storage', 'app', 'cli'].includes(topOf(file))),
      [],
    );
    assert.ok(users.length > 0, 'the imports were read');
  });

  it('changes of the database: each is made in the file of its aggregate', () => {
    const makers = files.filter((file) => /new BoundChange\(/.test(readFileSync(join('src', file), 'utf8')));
    assert.deepEqual(
      makers.filter((file) => dirname(file) !== join('storage', 'statements')),
      [join('storage', 'create-store.ts'), join('storage', 'postgres', 'shared-database.ts')],
    );
  });

  it('environment: only the configuration reads it', () => {
    // The console has no environment, and shows the word in examples for callers.
    const readers = files.filter((file) => roomOf(file) !== 'console' && readFileSync(join('src', file), 'utf8').includes('process.env'));
    assert.deepEqual(readers, [join('config', 'environment.ts')]);
  });

  it('tasks of a lane: only its loops import them, and they do not import one another', () => {
    const tasks = join('engine', 'lane', 'tasks');
    const importers = imports.filter(({ targetFile }) => targetFile !== null && dirname(targetFile) === tasks).map(({ file }) => file);
    assert.deepEqual([...new Set(importers)], [join('engine', 'lane', 'lane.ts'), join('engine', 'lane', 'upkeep.ts')]);
  });

  it('tasks of a lane: they get at most 12 things, none of which they can replace', () => {
    const membersOf = (file: string, name: string): readonly string[] => {
      const text = readFileSync(join('src', 'engine', 'lane', file), 'utf8');
      const [, body = ''] = new RegExp(`^export interface ${name}\\b[^{]*\\{\\n([^]*?)^\\}`, 'm').exec(text) ?? [];
      return body.split('\n').filter((line) => /^ {2}\w/.test(line));
    };
    const members = [...membersOf('lane-inputs.ts', 'LaneInputs'), ...membersOf('lane-context.ts', 'LaneContext')];
    assert.ok(members.length > 8 && members.length <= 12, `${members.length} members`);
    assert.deepEqual(
      members.filter((member) => !/^ {2}(?:readonly \w+:|\w+\()/.test(member)),
      [],
    );
  });

  it('rooms: each of more than a few files begins with a page that says what must never happen there', () => {
    const large = [...new Set(files.map(topOf))].filter(
      (room) => room !== 'sandbox' && files.filter((file) => topOf(file) === room).length > 6,
    );
    assert.ok(large.length > 10, large.join());
    for (const room of large) {
      const page = readFileSync(join('src', room, 'README.md'), 'utf8');
      for (const part of ['What lives here', 'What it may touch', 'What must never happen'])
        assert.ok(page.includes(part), `${room}: ${part}`);
    }
  });

  it('functions: none has over 150 lines, so that one can be read at once', () => {
    // The formatter lets a function at the outermost level begin and end at the start of a line. Statements of SQL are lists.
    const outermost = /^(?:export )?(?:async )?function\*? (\w+)[\s\S]*?^\}$/gm;
    const ofSrc = files.filter((file) => !['gen', 'sandbox'].includes(topOf(file)) && dirname(file) !== join('storage', 'statements'));
    const lies = join('test', 'sim', 'lies');
    const read = [...ofSrc.map((file) => join('src', file)), ...readdirSync(lies).map((file) => join(lies, file))];
    const functions = read.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(outermost)].map(([text, name = '']) => ({ name, lines: text.split('\n').length })),
    );
    assert.ok(functions.length > 2_000, 'the functions were read');
    assert.deepEqual(
      functions.filter(({ lines }) => lines > 150),
      [],
    );
  });

  it('nonces: only the numbers of an account take them', () => {
    const takers = files.filter(
      (file) => roomOf(file) === 'engine' && /\.(openLane|moveLane)\(/.test(readFileSync(join('src', file), 'utf8')),
    );
    assert.deepEqual(takers, [join('engine', 'lane', 'account-numbers.ts')]);
  });
});
