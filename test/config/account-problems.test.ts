import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountProblems } from '../../src/config/relayer-entries.js';
import type { EvmNetwork } from '../../src/core/records/network.js';

const network: EvmNetwork = {
  name: 'anvil',
  type: 'evm',
  chainId: 31337n,
  rpcUrls: [],
  requiredConfirmations: 1,
  averageBlockTimeMs: 1000,
  eip1559: true,
  symbol: 'ETH',
  isTestnet: true,
  tags: [],
  explorerUrls: [],
};
const address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

test("accounts: reports two relayers with one account on one chain, regardless of the network's name and the address's case", () => {
  const sameChain = { ...network, name: 'anvil-docker' };
  assert.deepEqual(
    accountProblems([
      { id: 'a', network, address, origin: 'relayers[0]' },
      { id: 'b', network: sameChain, address: address.toLowerCase(), origin: 'relayers[1]' },
    ]),
    [
      {
        path: 'relayers[1].signer_id',
        problem: `has the same address as relayer "a" on the same chain (${address.toLowerCase()}); an account can have only one relayer`,
      },
    ],
  );
});

test('accounts: accepts one address on two chains', () => {
  assert.deepEqual(
    accountProblems([
      { id: 'a', network, address, origin: 'relayers[0]' },
      { id: 'b', network: { ...network, chainId: 1n }, address, origin: 'relayers[1]' },
    ]),
    [],
  );
});
