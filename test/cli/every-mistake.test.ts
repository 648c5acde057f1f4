import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { hostedTypes } from '../../src/codec/signer-values.js';
import { cheapEd25519Keystore, cheapKeystore } from '../support/cheap-keystore.js';
import { runCli } from '../support/run-cli.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const rpc_urls = ['https://rpc.example.com'];
const secret = 'hunter2-hunter2';

it('serve: reports every problem of the settings and the file by its path, and exits with 2', async () => {
  const keys = await temporaryFolder({
    'evm.json': await cheapKeystore(Buffer.alloc(32, 1), 'right'),
    'ed25519.json': cheapEd25519Keystore(Buffer.alloc(32, 1), 'right'),
    'text.json': secret,
    'other.json': { version: 1 },
  });
  const local = (id: string, file: string, passphrase: unknown = { type: 'plain', value: secret }) => ({
    id,
    type: 'local',
    config: { path: join(keys, file), passphrase },
  });
  const relayer = (id: string, change: object) => ({
    id,
    name: id,
    network: 'mine',
    network_type: 'evm',
    paused: false,
    signer_id: 'evm',
    ...change,
  });
  const dir = await temporaryFolder({
    'config.json': {
      relayer: [],
      plugins: [{ id: 'p', path: 'p.ts' }],
      networks: [
        { type: 'evm', network: 'mine', chain_id: 7, rpc_urls, required_confirmations: 1, average_blocktime_ms: 1, symbol: 'M' },
        { type: 'evm', network: 'mine', chain_id: 8 },
        { type: 'evm', network: 'bare' },
        {
          type: 'evm',
          network: 'wrong',
          chain_id: 'one',
          rpc_urls: [`ftp://x/${secret}`, { url: 'https://a', weight: 101 }, { type: 'env', value: 'NODE_URL' }],
          required_confirmations: 0,
          average_blocktime_ms: 0.5,
          features: 'eip1559',
          gas_price_cache: { enabled: true },
          simbol: 'X',
        },
        { type: 'evm', network: 'orphan', from: 'nobody' },
        { type: 'evm', network: 'ring', from: 'gnir' },
        { type: 'evm', network: 'gnir', from: 'ring' },
        { type: 'stellar', network: 'lumens', rpc_urls },
        { type: 'solana', network: 'cluster', rpc_urls: [{ url: 'https://a', weight: 0 }], chain_id: 1 },
        { type: 'evmm', network: 'typo' },
        'a text',
      ],
      signers: [
        local('evm', 'evm.json'),
        local('ed', 'ed25519.json'),
        local('gone', 'gone.json'),
        local('text', 'text.json'),
        local('other', 'other.json'),
        local('unset', 'evm.json', { type: 'env', value: 'PASS_PHRASE' }),
        local('file', 'evm.json', { type: 'command', value: secret }),
        local('evm', 'evm.json'),
        { id: 'kms', type: 'trezor', config: {} },
        { id: 'no spaces', type: 'local', config: { path: '', passphrase: secret } },
      ],
      notifications: [
        { id: 'hook', type: 'webhook', url: 'http://10.0.0.1/' },
        { id: 'mail', type: 'email', url: 'https://hooks.example.com' },
        {
          id: 'hook',
          type: 'webhook',
          url: `https://u:${secret}@hooks.example.com`,
          signing_key: { type: 'plain', value: `whsec_${secret}` },
        },
      ],
      relayers: [
        relayer('a', { signer_id: 'evn', network: 'main', notification_id: 'hok', paused: 'no', custom_rpc_urls: ['x'], extra: 1 }),
        relayer('a', {
          policies: {
            min_balance: -1,
            gas_price_cap: 0,
            whitelist_receivers: [],
            max_in_flight: 0,
            eip1559_pricing: 1,
            private_transactions: true,
            gas_limit: 1,
          },
        }),
        relayer('b', {}),
        relayer('duplicate', {}),
        relayer('c', { signer_id: 'ed' }),
        relayer('d', {
          network_type: 'stellar',
          network: 'testnet',
          policies: { fee_payment_strategy: 'user', concurrent_transactions: true, timeout_seconds: 1, allowed_tokens: [{}], max_fee: 1.5 },
        }),
        relayer('e', {
          network_type: 'solana',
          network: 'devnet',
          signer_id: 'ed',
          policies: { allowed_programs: ['x'], max_tx_data_size: 2000 },
        }),
        relayer('f', {
          network_type: 'solana',
          network: 'mine',
          signer_id: 'ed',
          policies: {
            fee_payment_strategy: 'relayer',
            allowed_accounts: ['11111111111111111111111111111111'],
            disallowed_accounts: ['11111111111111111111111111111111'],
          },
        }),
        relayer('g', { network_type: 'bitcoin' }),
        {},
      ],
    },
  });
  const result = await runCli(['serve'], { CONFIG_DIR: dir, APP_PORT: '99999', API_KEY: secret, RESET_STORAGE_ON_START: 'true' });
  assert.deepEqual(result.stderr.split('\n'), [...lines.map((line) => line.replace('KEYS', keys)), '']);
  assert.equal(result.exitCode, 2);
  assert.equal(result.stdout, '');
  assert.ok(!result.stderr.includes('hunter2'));
});

/** Sections refer to earlier ones: settings, networks, signers, notifications, plugins, relayers. */
const lines: readonly string[] = [
  'note: networks[3].gas_price_cache has no effect: this service has no such setting',
  "note: relayers[5].policies.concurrent_transactions has no effect: the relayer's own transactions are sent one after another, and signed transactions of other accounts rarely wait for them",
  'error: the configuration has 74 problems:',
  '  APP_PORT: must be an integer from 0 to 65535 (value: "99999")',
  '  API_KEY: has 15 characters; at least 32 are required',
  '  STORAGE_ENCRYPTION_KEY: is required. Key that encrypts stored secrets: base64 of 32 bytes. To create one: openssl rand -base64 32. To rotate it: relayer rotate-encryption-key.',
  '  RESET_STORAGE_ON_START: is not supported: the service never deletes stored data at start; unset it',
  '  relayer: is not a known section; did you mean `relayers`?',
  '  networks[1].network: "mine" is already used by networks[0]',
  '  networks[3].rpc_urls[2].value: names the environment variable NODE_URL, which is not set',
  '  networks[3].chain_id: must be an integer from 1 to 18446744073709551615',
  '  networks[3].rpc_urls[0].url: must be a URL that begins with http://, https://, ws:// or wss://',
  '  networks[3].rpc_urls[1].weight: must be an integer from 0 to 100',
  '  networks[3].required_confirmations: must be an integer from 1 to 4294967295',
  '  networks[3].average_blocktime_ms: must be an integer from 1 to 4294967295',
  '  networks[3].features: must be an array',
  '  networks[3].simbol: is not a known field; did you mean `symbol`?',
  '  networks[8].chain_id: is not a known field',
  '  networks[8].rpc_urls: must have at least one item with a weight above 0',
  '  networks[9].type: must be one of evm, stellar, solana',
  '  networks[10]: must be an object',
  '  networks[2].chain_id: is required',
  '  networks[2].rpc_urls: is required',
  '  networks[2].required_confirmations: is required',
  '  networks[2].average_blocktime_ms: is required',
  '  networks[2].symbol: is required',
  '  networks[4].from: no evm network has the name "nobody"',
  '  networks[5].from: inherits from itself; name another network',
  '  networks[6].from: inherits from itself; name another network',
  '  networks[7].passphrase: is required',
  '  signers[7].id: "evm" is already used by signers[0]',
  '  signers[2].config.path: the keystore file KEYS/gone.json does not exist',
  '  signers[3].config.path: the keystore is not valid JSON: expected a value at line 1, column 1',
  '  signers[4].config.path: the keystore is not a version 3 keystore; missing or malformed: version, crypto',
  '  signers[5].config.passphrase.value: names the environment variable PASS_PHRASE, which is not set',
  '  signers[6].config.passphrase.type: must be "env", "file" or "plain"',
  `  signers[8].type: signers of type "trezor" are not supported; supported types: local, ${hostedTypes.join(', ')}`,
  '  signers[9].config.path: must not be empty',
  '  signers[9].config.passphrase: must be {"type": "env", "value": "<name of an environment variable>"}, {"type": "file", "value": "<path>"} or {"type": "plain", "value": "<the secret>"}',
  '  signers[9].id: must be 1 to 36 characters from A-Z, a-z, 0-9, _ and -',
  '  notifications[2].id: "hook" is already used by notifications[0]',
  '  notifications[0].url: must not point to a private, loopback, link-local, metadata or otherwise reserved host',
  '  notifications[1].type: must be one of webhook',
  '  notifications[2].url: must not contain a user name or password',
  '  plugins[0].path: is not supported: plugins do not run in the service; run the code in a process of your own, and set url to its address',
  '  relayers[1].id: "a" is already used by relayers[0]',
  '  relayers[0].paused: must be true or false',
  '  relayers[0].custom_rpc_urls[0].url: must be a URL that begins with http://, https://, ws:// or wss://',
  '  relayers[0].extra: is not a known field',
  '  relayers[0].network: no evm network has the name "main"',
  '  relayers[0].signer_id: no signer has the id "evn"; did you mean "evm"?',
  '  relayers[0].notification_id: no notification has the id "hok"; did you mean "hook"?',
  '  relayers[1].policies.min_balance: must be an integer from 0 to 2^128-1 (340282366920938463463374607431768211455)',
  '  relayers[1].policies.whitelist_receivers: must not be empty; leave it out to allow all',
  '  relayers[1].policies.max_in_flight: must be an integer from 1 to 100000',
  '  relayers[1].policies.eip1559_pricing: must be true or false',
  '  relayers[1].policies.private_transactions: must be false: private transactions are not supported',
  '  relayers[1].policies.gas_limit: is not a known field',
  '  relayers[1].policies.gas_price_cap: must be at least 1; leave it out for no cap',
  '  relayers[3].signer_id: is already used on the same chain by relayers[2]; an account can have only one relayer',
  '  relayers[4].signer_id: the keystore of "ed" has the curve ed25519; evm networks need secp256k1. To create one: relayer keystore create --type secp256k1',
  '  relayers[5].policies.timeout_seconds: is not supported; set valid_until of each transaction instead',
  '  relayers[5].policies.allowed_tokens: applies to fees that users pay in tokens, which are not supported; leave it out',
  '  relayers[5].policies.fee_payment_strategy: must be "relayer": fees that users pay in tokens are not supported',
  '  relayers[5].policies.max_fee: must be an integer from 0 to 2^128-1 (340282366920938463463374607431768211455)',
  '  relayers[5].signer_id: the keystore of "evm" has the curve secp256k1; stellar networks need ed25519. To use the same key there, set "curve": "ed25519" in the config of the signer. To create one: relayer keystore create --type ed25519',
  '  relayers[6].policies.fee_payment_strategy: must be set to "relayer": the default of OpenZeppelin Relayer, "user", is not supported',
  '  relayers[6].policies.allowed_programs[0]: must be 32 bytes in base58',
  '  relayers[6].policies.max_tx_data_size: must be an integer from 1 to 1232',
  '  relayers[7].policies.disallowed_accounts: cannot be combined with allowed_accounts',
  '  relayers[7].network: "mine" is a network of type evm, but network_type is "solana"',
  '  relayers[8].network_type: must be one of evm, stellar, solana',
  '  relayers[9].id: is required',
  '  relayers[9].name: is required',
  '  relayers[9].network: is required',
  '  relayers[9].network_type: is required',
  '  relayers[9].signer_id: is required',
];
