import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type LoadedConfig, loadConfig } from '../../src/config/config-file.js';
import { ConfigError } from '../../src/config/problem.js';
import type { ReadKeystore } from '../../src/config/signer-entries.js';
import { defaultPolicies, type RelayerPolicies } from '../../src/core/records/relayer.js';
import { anyKeystore, keystoreFor, sampleConfig, sampleEnv, sampleNetwork, sampleRelayer, sampleSigner } from '../support/sample-config.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const rpc_urls = ['https://rpc.example.com'];
const networks = [
  sampleNetwork(),
  { type: 'stellar', network: 'lumens', rpc_urls, passphrase: 'Test' },
  { type: 'solana', network: 'cluster', rpc_urls },
];
const signers = ['key', 'other', 'third'].map((id) => sampleSigner({ id }));

async function load(relayers: readonly unknown[], readKeystore: ReadKeystore = anyKeystore): Promise<LoadedConfig> {
  const dir = await temporaryFolder({ 'config.json': sampleConfig({ networks, signers, relayers }) });
  return loadConfig({ dir, fileName: 'config.json', env: sampleEnv, readKeystore });
}

async function problemsOf(relayers: readonly unknown[], readKeystore?: ReadKeystore): Promise<readonly string[]> {
  const error: unknown = await load(relayers, readKeystore).then(
    () => assert.fail('it was taken'),
    (reason) => reason,
  );
  assert.ok(error instanceof ConfigError, String(error));
  return error.problems.map(({ path, problem }) => `${path}: ${problem}`);
}

function stellarRelayer(policies?: unknown): Record<string, unknown> {
  return sampleRelayer({ network: 'lumens', network_type: 'stellar', policies });
}

function solanaRelayer(policies?: unknown): Record<string, unknown> {
  return sampleRelayer({ network: 'cluster', network_type: 'solana', policies });
}

async function policiesOf(relayer: unknown): Promise<RelayerPolicies | undefined> {
  return (await load([relayer])).relayers[0]?.policies;
}

const userPays = 'fees that users pay in tokens are not supported';
const forUsers = 'applies to fees that users pay in tokens, which are not supported; leave it out';
const program = '11111111111111111111111111111111';
const account = 'AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9';

describe('Stellar policies', () => {
  it('Stellar policies: default if they are absent', async () => {
    const defaults = defaultPolicies.stellar;
    for (const policies of [
      undefined,
      null,
      {},
      { fee_payment_strategy: 'relayer' },
      { concurrent_transactions: false, allowed_tokens: [] },
    ]) {
      assert.deepEqual(await policiesOf(stellarRelayer(policies)), defaults);
    }
  });

  it('Stellar policies: are read from the file', async () => {
    assert.deepEqual(await policiesOf(stellarRelayer({ fee_payment_strategy: 'relayer', min_balance: '0', max_fee: 5_000_000 })), {
      ...defaultPolicies.stellar,
      minBalanceStroops: 0n,
      maxFeeStroops: 5_000_000n,
    });
  });

  it('Stellar policies: unsupported ones are reported, each by its path', async () => {
    const policies = {
      fee_payment_strategy: 'user',
      timeout_seconds: 30,
      allowed_tokens: [{ asset: 'native' }],
      slippage_percentage: 1.5,
      fee_margin_percentage: 0,
      swap_config: { strategies: ['soroswap'] },
      max_fee: 0,
      min_balence: 1,
      gas_price_cap: 1,
    };
    assert.deepEqual(
      new Set(await problemsOf([stellarRelayer(policies)])),
      new Set([
        `relayers[0].policies.fee_payment_strategy: must be "relayer": ${userPays}`,
        'relayers[0].policies.timeout_seconds: is not supported; set valid_until of each transaction instead',
        `relayers[0].policies.allowed_tokens: ${forUsers}`,
        `relayers[0].policies.slippage_percentage: ${forUsers}`,
        `relayers[0].policies.fee_margin_percentage: ${forUsers}`,
        `relayers[0].policies.swap_config: ${forUsers}`,
        'relayers[0].policies.max_fee: must be at least 1; leave it out for no cap',
        'relayers[0].policies.min_balence: is not a known field; did you mean `min_balance`?',
        'relayers[0].policies.gas_price_cap: is not a field of stellar',
      ]),
    );
  });
});

describe('Solana policies', () => {
  it('Solana policies: default if they are absent, except fee_payment_strategy', async () => {
    assert.deepEqual(await policiesOf(solanaRelayer({ fee_payment_strategy: 'relayer', allowed_programs: [], swap_config: null })), {
      network: 'solana',
      minBalanceLamports: 10_000_000n,
      maxAllowedFeeLamports: null,
      allowedPrograms: null,
      allowedAccounts: null,
      disallowedAccounts: [],
      maxSignatures: null,
      maxTxDataSizeBytes: 1232,
      allowAccountChanges: [],
      rules: null,
      signing: null,
    });
    const unsaid = [
      `relayers[0].policies.fee_payment_strategy: must be set to "relayer": the default of OpenZeppelin Relayer, "user", is not supported`,
    ];
    for (const policies of [undefined, null, {}, { fee_payment_strategy: null }]) {
      assert.deepEqual(await problemsOf([solanaRelayer(policies)]), unsaid);
    }
  });

  it('Solana policies: are read from the file', async () => {
    const policies = {
      fee_payment_strategy: 'relayer',
      min_balance: 1,
      max_allowed_fee_lamports: '100000',
      allowed_programs: [program],
      allowed_accounts: [account, program],
      disallowed_accounts: [],
      max_signatures: 3,
      max_tx_data_size: 1000,
      allow_account_changes: ['assign', 'token_close'],
      signing: { transactions: 'allow' },
    };
    assert.deepEqual(await policiesOf(solanaRelayer(policies)), {
      network: 'solana',
      minBalanceLamports: 1n,
      maxAllowedFeeLamports: 100_000n,
      allowedPrograms: [program],
      allowedAccounts: [account, program],
      disallowedAccounts: [],
      maxSignatures: 3,
      maxTxDataSizeBytes: 1000,
      allowAccountChanges: ['assign', 'token_close'],
      rules: null,
      signing: { messages: false, transactions: true, typedData: false },
    });
  });

  it('Solana policies: invalid and unsupported ones are reported, each by its path', async () => {
    const policies = {
      fee_payment_strategy: 'user',
      allowed_tokens: [{ mint: account }],
      fee_margin_percentage: 1,
      swap_config: { strategy: 'noop' },
      allowed_programs: ['0OIl', account.slice(3), `1${account}`],
      max_signatures: 256,
      max_tx_data_size: 1233,
      max_allowed_fee_lamports: -1,
    };
    assert.deepEqual(
      new Set(await problemsOf([solanaRelayer(policies)])),
      new Set([
        `relayers[0].policies.fee_payment_strategy: must be "relayer": ${userPays}`,
        `relayers[0].policies.allowed_tokens: ${forUsers}`,
        `relayers[0].policies.fee_margin_percentage: ${forUsers}`,
        `relayers[0].policies.swap_config: ${forUsers}`,
        ...[0, 1, 2].map((index) => `relayers[0].policies.allowed_programs[${index}]: must be 32 bytes in base58`),
        'relayers[0].policies.max_signatures: must be an integer from 1 to 255',
        'relayers[0].policies.max_tx_data_size: must be an integer from 1 to 1232',
        'relayers[0].policies.max_allowed_fee_lamports: must be an integer from 0 to 2^128-1 (340282366920938463463374607431768211455)',
      ]),
    );
    const both = { fee_payment_strategy: 'relayer', allowed_accounts: [account], disallowed_accounts: [program] };
    assert.deepEqual(await problemsOf([solanaRelayer(both)]), [
      'relayers[0].policies.disallowed_accounts: cannot be combined with allowed_accounts',
    ]);
  });
});

describe('the signer of a relayer', () => {
  const policies = { fee_payment_strategy: 'relayer' };

  it('the signer of a relayer: can be used once on a chain, and on several chains', async () => {
    const relayers = [sampleRelayer(), stellarRelayer(), solanaRelayer(policies)].map((relayer, index) => ({
      ...relayer,
      id: `r${index}`,
    }));
    assert.deepEqual(
      (await load(relayers)).relayers.map(({ networkType }) => networkType),
      ['evm', 'stellar', 'solana'],
    );
    assert.deepEqual(await problemsOf([...relayers, { ...stellarRelayer(), id: 'again' }]), [
      'relayers[3].signer_id: is already used on the same chain by relayers[1]; an account can have only one relayer',
    ]);
  });

  it('the signer of a relayer: must have a key of the network’s curve', async () => {
    const on = (signer_id: string, relayer: object) => ({ ...relayer, id: signer_id, signer_id });
    let count = 0;
    const oneEach: ReadKeystore = () => keystoreFor(count++ === 0 ? ['secp256k1'] : ['ed25519']);
    assert.deepEqual(
      await problemsOf([on('key', solanaRelayer(policies)), on('other', stellarRelayer()), on('third', sampleRelayer())], oneEach),
      [
        'relayers[0].signer_id: the keystore of "key" has the curve secp256k1; solana networks need ed25519. To create one: relayer keystore create --type ed25519',
        'relayers[2].signer_id: the keystore of "third" has the curve ed25519; evm networks need secp256k1. To create one: relayer keystore create --type secp256k1',
      ],
    );
  });

  it('the signer of a relayer: is reported once if its file is not a keystore', async () => {
    assert.deepEqual(await problemsOf([sampleRelayer()], (path) => ({ problem: `the keystore file ${path} does not exist` })), [
      ...[0, 1, 2].map((index) => `signers[${index}].config.path: the keystore file keys/key.json does not exist`),
    ]);
  });
});
