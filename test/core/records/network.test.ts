import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainKeyOf, type SolanaNetwork, type StellarNetwork } from '../../../src/core/records/network.js';
import {
  defaultPolicies,
  maxInFlightOf,
  minBalanceOf,
  type SolanaPolicies,
  type StellarPolicies,
} from '../../../src/core/records/relayer.js';
import { evmNetwork, evmPolicies } from '../../support/evm.js';

const { name, rpcUrls, requiredConfirmations, averageBlockTimeMs, symbol, isTestnet, tags, explorerUrls } = evmNetwork();
const fields = { name, rpcUrls, requiredConfirmations, averageBlockTimeMs, symbol, isTestnet, tags, explorerUrls };
const stellar: StellarNetwork = { ...fields, type: 'stellar', passphrase: 'Standalone Network ; February 2017' };
const solana: SolanaNetwork = { ...fields, type: 'solana', name: 'devnet' };

test('chain key: contains the network type and what identifies the chain', () => {
  assert.equal(chainKeyOf(evmNetwork({ chainId: 10n, name: 'any' })), 'evm:10');
  assert.equal(chainKeyOf(stellar), 'stellar:Standalone Network ; February 2017');
  assert.equal(chainKeyOf(solana), 'solana:devnet');
});

test('policies: every network has a minimum balance and a maximum in flight', () => {
  const onStellar: StellarPolicies = { ...defaultPolicies.stellar, minBalanceStroops: 2n };
  const onSolana: SolanaPolicies = {
    network: 'solana',
    minBalanceLamports: 3n,
    maxAllowedFeeLamports: null,
    allowedPrograms: null,
    allowedAccounts: null,
    disallowedAccounts: [],
    maxSignatures: null,
    maxTxDataSizeBytes: 1232,
    allowAccountChanges: [],
    rules: null,
    signing: null,
  };
  const all = [evmPolicies({ minBalanceWei: 1n, maxInFlight: 5 }), onStellar, onSolana];
  assert.deepEqual(all.map(minBalanceOf), [1n, 2n, 3n]);
  assert.deepEqual(all.map(maxInFlightOf), [5, 1, 1]);
});
