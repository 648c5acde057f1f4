import assert from 'node:assert/strict';
import { it } from 'node:test';
import { computeAddress } from 'ethers';
import type { ConfigInForce } from '../../src/app/config-in-force.js';
import { openChains } from '../../src/app/open-chains.js';
import { createHostedKeys } from '../../src/app/open-hosted-keys.js';
import { openRelayers } from '../../src/app/open-relayers.js';
import type { RelayerEntry } from '../../src/config/relayer-entries.js';
import { createNetworks } from '../../src/core/network/networks.js';
import { noTelemetry } from '../../src/core/ports/telemetry.js';
import { keystoreFrom } from '../../src/signers/local/open-signer.js';
import { cheapKeystore } from '../support/cheap-keystore.js';
import { evmNetwork, evmPolicies } from '../support/evm.js';
import { silentLog } from '../support/stored-samples.js';

const key = Buffer.alloc(32, 1);
const network = evmNetwork({ rpcUrls: [{ url: 'http://127.0.0.1:9', weight: 100 }] });

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
    ...change,
  };
}

/** Three signers: two of one key, and one whose passphrase is wrong. */
async function configWith(relayers: readonly RelayerEntry[], signerIds: readonly string[]): Promise<ConfigInForce> {
  const keystore = keystoreFrom(await cheapKeystore(key, 'right'));
  const all = [
    { id: 'one', keystore, passphrase: 'right' },
    { id: 'two', keystore: keystoreFrom(await cheapKeystore(key, 'right')), passphrase: 'right' },
    { id: 'wrong', keystore, passphrase: 'wrong' },
  ];
  const signers = all.filter(({ id }) => signerIds.includes(id));
  return {
    networks: createNetworks([network]),
    relayers: relayers.map((entry, index) => ({ entry, origin: `relayers[${index}]` })),
    fileSigners: signers.map((entry, index) => ({ entry, origin: `signers[${index}]` })),
    storedKeys: [],
    pinnedKeys: [],
    warnings: [],
  };
}

const options = { rpcTimeoutMs: 1_000, log: silentLog, telemetry: noTelemetry };
const nowhere = { authorityHost: null, federatedTokenFile: null, imdsTokenUrl: null, identityEndpoint: null, identityHeader: null };
const hostedKeys = createHostedKeys(silentLog, {
  modules: new Set(),
  azureVaults: new Set(),
  azureTokenFiles: new Set(),
  azure: nowhere,
  limits: new Map(),
});

it('relayers have the addresses of their keys, and the chains of their networks', async () => {
  const own = [{ url: 'http://127.0.0.1:8', weight: 100 }];
  const other = evmNetwork({ name: 'other', chainId: 2n, rpcUrls: own });
  const relayers = [relayer('a', 'one'), relayer('b', 'one', { network: other })];
  const chains = openChains(options);
  const { directory } = await openRelayers(await configWith(relayers, ['one']), chains, hostedKeys);
  try {
    assert.deepEqual(new Set(directory.relayers().map(({ address }) => address)), new Set([computeAddress(`0x${key.toString('hex')}`)]));
    const [a, b] = directory.relayers().map((one) => directory.chainOf(one));
    assert.deepEqual([a?.network, b?.network], [network, other]);
  } finally {
    await chains.close();
  }
});

it('keys that cannot be opened, and accounts that two relayers share, are reported together', async () => {
  const relayers = [relayer('a', 'one'), relayer('b', 'two'), relayer('c', 'wrong')];
  const address = computeAddress(`0x${key.toString('hex')}`);
  await assert.rejects(openRelayers(await configWith(relayers, ['one', 'two', 'wrong']), openChains(options), hostedKeys), {
    problems: [
      { path: 'signers[2].config.passphrase', problem: 'the passphrase does not decrypt the keystore' },
      {
        path: 'relayers[1].signer_id',
        problem: `has the same address as relayer "a" on the same chain (${address}); an account can have only one relayer`,
      },
    ],
  });
});
