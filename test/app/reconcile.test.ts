import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { computeAddress } from 'ethers';
import { createReconciler, type Starting } from '../../src/app/reconcile.js';
import { createWanted } from '../../src/app/wanted.js';
import type { LoadedConfig } from '../../src/config/config-file.js';
import { ConfigError } from '../../src/config/problem.js';
import type { RelayerEntry } from '../../src/config/relayer-entries.js';
import type { SignerEntry } from '../../src/config/signer-entries.js';
import type { DefinitionWrite, StoredDefinitions } from '../../src/core/definitions/definition-writer.js';
import { DomainError } from '../../src/core/errors/errors.js';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import type { Definition } from '../../src/core/records/definition.js';
import type { Relayer } from '../../src/core/records/relayer.js';
import { createDirectory } from '../../src/core/relayer/create-directory.js';
import { definitionFromRelayer } from '../../src/core/relayer/stored-relayer.js';
import { storedFormOf } from '../../src/core/signer/hosted-key.js';
import { createSigners, definitionFromKey, type HeldSigner, type HostedKeys, signerPurpose } from '../../src/core/signer/signers.js';
import { heldSignerFrom, keystoreFrom } from '../../src/signers/local/open-signer.js';
import { createSecretBox } from '../../src/storage/secret-box.js';
import { cheapKeystore } from '../support/cheap-keystore.js';
import { evmNetwork, evmPolicies } from '../support/evm.js';

const key = Buffer.alloc(32, 1);
const otherKey = Buffer.alloc(32, 2);
const addressOf = (one: Buffer) => computeAddress(`0x${one.toString('hex')}`);
const urls = (port: number) => [{ url: `http://127.0.0.1:${port}`, weight: 100 }];
const network = evmNetwork({ rpcUrls: urls(9) });
const other = evmNetwork({ name: 'other', chainId: 2n, rpcUrls: urls(8) });
const secretBox = createSecretBox(randomBytes(32).toString('base64'));
const keystore = keystoreFrom(await cheapKeystore(key, 'right'));

function relayer(id: string, signerId: string, change: Partial<RelayerEntry> = {}): RelayerEntry {
  return {
    id,
    name: id,
    network,
    networkType: 'evm',
    signerId,
    notificationId: null,
    customRpcUrls: [],
    paused: false,
    policies: evmPolicies(),
    policiesVersion: 1,
    policiesLocked: false,
    ...change,
  };
}

const stored = (...definitions: Definition[]): StoredDefinitions => {
  const of = (kind: Definition['kind']) => definitions.filter((one) => one.kind === kind);
  return {
    version: 1,
    relayer: of('relayer'),
    signer: of('signer'),
    network: of('network'),
    pinned_key: of('pinned_key'),
    plugin: of('plugin'),
  };
};
const storedKey = (id: string, one = key) => definitionFromKey(secretBox, id, one);
const storedRelayer = (one: RelayerEntry) => definitionFromRelayer(secretBox, one);

/** A key outside of the service, as stored. */
function storedHostedKey(id: string): Definition {
  const { content, secret } = storedFormOf({ type: 'aws_kms', at: { region: 'eu-central-1', key_id: 'k' }, secrets: {} });
  return { kind: 'signer', id, content, sealed: secretBox.seal(secret, signerPurpose(id)) };
}

/** What runs, and everything that was opened and ended, in order. */
function rigWith(file: Partial<Pick<LoadedConfig, 'signers' | 'relayers'>> = {}) {
  const calls: string[] = [];
  /** The names of calls that fail. */
  const failing = new Set<string>();
  let whileAcquiring = (): void => undefined;
  const note = (name: string, done = name) => {
    if (failing.has(name)) throw new Error(`${name} fails`);
    calls.push(done);
  };
  const open = new Map<string, Chain>();
  const chains = {
    async acquire(where: typeof network, rpcUrls: readonly { url: string }[]) {
      const name = rpcUrls.map(({ url }) => url).join();
      whileAcquiring();
      note('acquire', `acquire ${name}`);
      const chain = open.get(name) ?? ({ network: where, name } as unknown as Chain);
      open.set(name, chain);
      return chain;
    },
    release: async (chain: Chain) => note('release', `release ${(chain as unknown as { name: string }).name}`),
  };
  const engine = {
    open: async (relayers: readonly Relayer[]) => note('open', `open ${relayers.map(({ id }) => id).join()}`),
    close: async ({ id }: Relayer) => note('close', `close ${id}`),
  };
  const hostedKeys: HostedKeys = {
    async open(id, { type, at }) {
      if (failing.has('provider'))
        throw new DomainError('unavailable', 'SIGNER_UNAVAILABLE', 'it is not reachable', { metadata: { signer_id: id } });
      const signer: HeldSigner = { ...heldSignerFrom(id, otherKey, ['secp256k1']), close: async () => note(`close signer ${id}`) };
      const place = { type, at } as Parameters<HostedKeys['open']>[1];
      return { signer, pin: { signerId: id, place, curve: 'secp256k1', publicKey: '00' } };
    },
  };
  const config: LoadedConfig = {
    networks: [network, other],
    relayers: [],
    signers: [],
    notifications: [],
    plugins: [],
    notices: [],
    digests: new Map(),
    revision: 0,
    ...file,
  };
  const wanted = createWanted(secretBox, config);
  const [directory, signers] = [createDirectory([]), createSigners()];
  const reconciler = createReconciler({ wanted, signers, directory, chains, engine, hostedKeys, secretBox });
  const start = (definitions = stored(), admit: (starting: Starting) => Promise<void> = async () => undefined) =>
    reconciler.start(wanted.learn(definitions), admit);
  const follow = (what: StoredDefinitions | readonly DefinitionWrite[]) => reconciler.follow(what);
  const running = () => directory.relayers().map(({ id }) => id);
  const during = (task: () => void) => {
    whileAcquiring = task;
  };
  return { calls, failing, directory, signers, start, follow, running, during };
}

const fileSigner = (id: string, passphrase = 'right'): SignerEntry => ({ id, keystore, passphrase });

it('start: relayers have the addresses of their keys, and the chains of their networks', async () => {
  const relayers = [relayer('a', 'one'), relayer('b', 'one', { network: other })];
  const { start, directory, calls } = rigWith({ signers: [fileSigner('one')], relayers });
  await start();
  assert.deepEqual(new Set(directory.relayers().map(({ address }) => address)), new Set([addressOf(key)]));
  const [a, b] = directory.relayers().map((one) => directory.chainOf(one).network);
  assert.deepEqual([a, b], [network, other]);
  assert.deepEqual(calls.at(-1), 'open a,b');
});

it('start: keys that cannot be opened, and accounts that two relayers share, are reported together, and no lane is opened', async () => {
  const signers = [fileSigner('one'), fileSigner('two'), fileSigner('wrong', 'wrong')];
  const relayers = [relayer('a', 'one'), relayer('b', 'two'), relayer('c', 'wrong')];
  const { start, calls } = rigWith({ signers, relayers });
  await assert.rejects(start(), {
    problems: [
      { path: 'signers[2].config.passphrase', problem: 'the passphrase does not decrypt the keystore' },
      {
        path: 'relayers[1].signer_id',
        problem: `has the same address as relayer "a" on the same chain (${addressOf(key)}); an account can have only one relayer`,
      },
    ],
  });
  assert.deepEqual(calls, []);
});

it('start: what is not admitted opens no lane, and a signer that was opened before is known, so that it can be closed', async () => {
  const { start, signers, calls } = rigWith();
  const definitions = stored(storedHostedKey('k'), storedRelayer(relayer('a', 'k')));
  await assert.rejects(
    start(definitions, async ({ relayers, pins }) => {
      assert.deepEqual([relayers.map(({ id }) => id), pins.map(({ signerId }) => signerId)], [['a'], ['k']]);
      throw new ConfigError([]);
    }),
    ConfigError,
  );
  assert.deepEqual([calls, signers.all().map(({ id }) => id)], [[], ['k']]);
});

for (const [how, all] of [
  ['written here', false],
  ['written elsewhere', true],
] as const) {
  it(`change ${how}: what ends has ended before what takes its place begins`, async () => {
    const { start, follow, calls, directory, signers } = rigWith();
    await start(stored(storedHostedKey('k'), storedRelayer(relayer('a', 'k'))));
    calls.length = 0;
    const next = [storedHostedKey('k'), storedRelayer(relayer('b', 'k'))];
    await follow(all ? stored(...next) : [{ kind: 'relayer', id: 'a' }, ...next]);
    assert.deepEqual(calls, ['close a', 'release http://127.0.0.1:9', 'close signer k', 'acquire http://127.0.0.1:9', 'open b']);
    assert.deepEqual([directory.relayers().map(({ id }) => id), signers.all().length], [['b'], 1]);
  });

  it(`change ${how}: new URLs of a network move its lanes, and new policies move none`, async () => {
    const { start, follow, calls, directory } = rigWith({ signers: [fileSigner('one')], relayers: [relayer('a', 'one')] });
    await start();
    calls.length = 0;
    const sealed = secretBox.seal(JSON.stringify(urls(7)), `network:evm:${network.name}`);
    const moved: Definition = { kind: 'network', id: `evm:${network.name}`, content: {}, sealed };
    await follow(all ? stored(moved) : [moved]);
    assert.deepEqual(calls, ['acquire http://127.0.0.1:7', 'open a', 'release http://127.0.0.1:9']);
    calls.length = 0;
    const paused = storedRelayer(relayer('a', 'one', { paused: true }));
    await follow(all ? stored(moved, paused) : [paused]);
    assert.deepEqual(calls, ['acquire http://127.0.0.1:7', 'release http://127.0.0.1:7']);
    assert.equal(directory.relayer('a')?.paused, true);
  });
}

it('change: a lane that could not be opened is opened by the next reconciliation, and its earlier chain is released then', async () => {
  const { start, follow, calls, failing } = rigWith();
  const signer = storedKey('k');
  await start(stored(signer, storedRelayer(relayer('a', 'k'))));
  calls.length = 0;
  const moved = stored(
    signer,
    storedRelayer(relayer('a', 'k', { customRpcUrls: urls(7) })),
    storedRelayer(relayer('b', 'k', { network: other })),
  );
  failing.add('open');
  await assert.rejects(follow(moved), /open fails/);
  assert.deepEqual(calls, ['acquire http://127.0.0.1:7', 'acquire http://127.0.0.1:8']);
  failing.clear();
  await follow([]);
  assert.deepEqual(
    calls
      .slice(2)
      .filter((call) => !call.startsWith('acquire'))
      .sort(),
    ['open a', 'open b', 'release http://127.0.0.1:7', 'release http://127.0.0.1:8', 'release http://127.0.0.1:9'],
  );
});

it('change: a signer that cannot be opened keeps only its own relayers from starting, and they start when it can be opened', async () => {
  const { start, follow, failing, running } = rigWith();
  await start();
  const next = stored(storedHostedKey('away'), storedKey('k'), storedRelayer(relayer('a', 'away')), storedRelayer(relayer('b', 'k')));
  failing.add('provider');
  await assert.rejects(follow(next), { reason: 'SIGNER_UNAVAILABLE', message: /^signer away, .*: it is not reachable$/ });
  assert.deepEqual(running(), ['b']);
  failing.clear();
  await follow([]);
  assert.deepEqual(running(), ['b', 'a']);
});

it('change: a relayer that cannot be stopped keeps its signer and its account, and is replaced later', async () => {
  const { start, follow, failing, running, signers, calls } = rigWith();
  const [before, after] = [storedHostedKey('k'), storedHostedKey('k')];
  await start(stored(before, storedRelayer(relayer('a', 'k'))));
  failing.add('close');
  calls.length = 0;
  await assert.rejects(follow(stored(after, storedRelayer(relayer('b', 'k')))), /close fails/);
  assert.deepEqual([running(), calls, signers.isFrom('k', before.sealed)], [['a'], [], true]);
  failing.clear();
  await follow(stored(after, storedRelayer(relayer('b', 'k'))));
  assert.deepEqual([running(), signers.isFrom('k', after.sealed)], [['b'], true]);
});

it('change: the account of a relayer that runs is given to no other', async () => {
  const { start, follow, running } = rigWith();
  const first = [storedKey('k'), storedRelayer(relayer('a', 'k'))] as const;
  await start(stored(...first));
  await assert.rejects(follow(stored(...first, storedKey('same'), storedRelayer(relayer('b', 'same')))), /already|same address/);
  assert.deepEqual(running(), ['a']);
});

for (const [what, before, after] of [
  ['disabled', null, 'this is another chain'],
  ['enabled again', 'this is another chain', null],
] as const) {
  it(`change: a relayer that the service has ${what} meanwhile stays so`, async () => {
    const { start, follow, directory, during } = rigWith({ signers: [fileSigner('one')], relayers: [relayer('a', 'one')] });
    await start();
    directory.setDisabled('a', before);
    during(() => directory.setDisabled('a', after));
    await follow([storedRelayer(relayer('a', 'one', { name: 'New' }))]);
    const { name, disabledReason } = directory.relayer('a') ?? assert.fail('it is gone');
    assert.deepEqual([name, disabledReason], ['New', after]);
  });
}
