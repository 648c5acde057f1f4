import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, sep } from 'node:path';
import { describe, it } from 'node:test';

/** What each room may import beside itself: rooms by their path under `src`, and packages. Node's own modules but the database are free to all. */
const rooms: Readonly<Record<string, { readonly rooms: readonly string[]; readonly packages: readonly string[] }>> = {
  core: { rooms: [], packages: [] },
  json: { rooms: ['core'], packages: [] },
  codec: { rooms: ['core', 'json', 'gen'], packages: ['@bufbuild/protobuf'] },
  crypto: { rooms: ['core'], packages: ['hash-wasm'] },
  config: { rooms: ['core', 'json'], packages: ['zod'] },
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
  storage: { rooms: ['core'], packages: ['better-sqlite3', 'kysely', 'pg'] },
  webhooks: { rooms: ['core'], packages: ['undici'] },
  'chains/rpc': { rooms: ['core', 'json'], packages: ['undici'] },
  'chains/evm': { rooms: ['core', 'json', 'crypto', 'chains/rpc'], packages: ['ethers'] },
  'chains/stellar': { rooms: ['core', 'json', 'crypto', 'chains/rpc'], packages: ['@stellar/stellar-sdk'] },
  'chains/solana': { rooms: ['core', 'json', 'crypto', 'chains/rpc'], packages: ['@solana/kit'] },
  'signers/local': { rooms: ['core', 'crypto'], packages: ['ethers', 'secp256k1', 'zod'] },
  api: { rooms: ['core', 'json', 'codec', 'gen'], packages: ['@bufbuild/protobuf', '@connectrpc/connect', '@connectrpc/connect-node'] },
};

interface Import {
  readonly file: string;
  readonly room: string;
  /** A room, or `package:<name>`. */
  readonly target: string;
}

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));

function roomOf(path: string): string {
  const parts = path.split(sep);
  if (parts[0] === 'gen') return 'gen';
  return [parts.slice(0, 2).join('/'), parts[0] ?? ''].find((room) => room in rooms) ?? 'root';
}

const imports: readonly Import[] = files.flatMap((file) =>
  [...readFileSync(join('src', file), 'utf8').matchAll(/(?:from|import\()\s*'([^']+)'/g)]
    .map(([, specifier = '']) => specifier)
    .filter((specifier) => !specifier.startsWith('node:'))
    .map((specifier) => {
      if (!specifier.startsWith('.'))
        return `package:${specifier
          .split('/')
          .slice(0, specifier.startsWith('@') ? 2 : 1)
          .join('/')}`;
      const path = normalize(join('src', dirname(file), specifier));
      return roomOf(path.startsWith(`src${sep}`) ? path.slice(4) : path);
    })
    .map((target) => ({ file, room: roomOf(file), target })),
);

describe('dependencies point one way', () => {
  it('every room imports only what it may', () => {
    const wrong = imports.filter(({ room, target }) => {
      const allowed = rooms[room];
      if (allowed === undefined || target === room) return false;
      return target.startsWith('package:') ? !allowed.packages.includes(target.slice(8)) : !allowed.rooms.includes(target);
    });
    assert.deepEqual(wrong, []);
    assert.ok(imports.length > 200, 'the imports were read');
  });

  it('every room is known, and no room is empty', () => {
    const found = new Set(files.map(roomOf));
    assert.deepEqual(
      Object.keys(rooms).filter((room) => !found.has(room)),
      [],
    );
    assert.deepEqual(files.filter((file) => roomOf(file) === 'root' && !file.startsWith(`cli${sep}`)).sort(), [
      'app.ts',
      'config-in-force.ts',
      'main.ts',
      'open-chains.ts',
      'open-relayers.ts',
    ]);
  });

  it('only the configuration reads the environment', () => {
    const readers = files.filter((file) => readFileSync(join('src', file), 'utf8').includes('process.env'));
    assert.deepEqual(readers, [join('config', 'environment.ts')]);
  });
});
