import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { NetworkService } from '../../gen/relayer/v1/network_service_pb.js';
import { NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { RelayerService } from '../../gen/relayer/v1/relayer_service_pb.js';
import { loadConfig } from '../../src/config/config-file.js';
import { ConfigError } from '../../src/config/problem.js';
import { type AppRig, startAppRig } from '../support/app-rig.js';
import { type RpcAsker, rpcAskers } from '../support/rpc-askers.js';
import { anyKeystore, sampleEnv, sampleNetwork, sampleSigner } from '../support/sample-config.js';
import { temporaryFolder } from '../support/temporary-folder.js';

/**
 * One contract, three doors: the configuration file, REST and RPC accept and refuse the same entries, in the same words.
 *
 * What differs on purpose: the file needs an id, since a new one at every start would make another entry; it says so on Solana that the
 * relayer pays, since OpenZeppelin Relayer's default is the user; it refuses policies of another kind of network, which REST ignores with a
 * warning; and it accepts what only files of OpenZeppelin Relayer have (secrets by reference, white space around URLs, settings that ask for
 * nothing).
 */
interface Row {
  readonly name: string;
  /** In the words of REST and the file; undefined leaves a member out. */
  readonly change: Readonly<Record<string, unknown>>;
  /** The problem, or a pattern of it if a door adds a hint; absent: the entry is accepted. */
  readonly refused?: string | RegExp;
  /** Binary protobuf cannot write it: there it is not set. */
  readonly isAbsentInBinary?: true;
  /** The contract of RPC has no such field. */
  readonly isRestOnly?: true;
}

const address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const program = '11111111111111111111111111111111';
const account = 'AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9';
const max = 2n ** 128n - 1n;
const amount = `must be an integer from 0 to 2^128-1 (${max})`;
const noCap = 'must be at least 1; leave it out for no cap';
const noLimit = 'must not be empty; leave it out to allow all';
const nameRule = 'name must be 1 to 100 characters without control characters';
const idRule = 'id must be 1 to 36 characters from A-Z, a-z, 0-9, _ and -';
const urlRule = 'must be a URL that begins with http://, https://, ws:// or wss://';
const base58Rule = 'must be 32 bytes in base58';

const evm = (policies: unknown) => ({ policies });
const offChain = ['http://127.0.0.1:9'];
const stellar = (policies: object) => ({ network: 'testnet', network_type: 'stellar', custom_rpc_urls: offChain, policies });
const solana = (policies: object) => ({
  network: 'devnet',
  network_type: 'solana',
  custom_rpc_urls: offChain,
  policies: { fee_payment_strategy: 'relayer', ...policies },
});

const issuer = 'GBRPYHIL2CI3FNQ4BXLFMNDLFJUNPU2HY3ZMFSHONUCEOASW7QC7OX2H';
const assetLimit = (asset: string) => ({ asset, amount: '5', window_seconds: 60 });
const stellarRule = (rule: object) => stellar({ rules: [{ id: 'a', effect: 'allow', ...rule }] });
const stellarRules: readonly Row[] = [
  { name: 'rules on Stellar', change: stellarRule({ operations: ['payment'], to: [issuer], limits: [assetLimit(`USD:${issuer}`)] }) },
  { name: 'budgets on Stellar', change: stellarRule({ max_cost: '5', limits: [assetLimit('cost'), assetLimit('fee')] }) },
  {
    name: 'a budget on Stellar without a maximum cost',
    change: stellarRule({ limits: [assetLimit('fee')] }),
    refused: 'policies.rules[0].limits[0].asset is fee, which needs max_cost in the rule: each transaction reserves it',
  },
  {
    name: 'a cost that a rule on Stellar cannot read',
    change: stellarRule({ max_cost: '5', operations: ['account_merge'], limits: [assetLimit('cost')] }),
    refused: /^policies\.rules\[0\]\.operations\[0\] is account_merge, whose cost a rule cannot read/,
  },
  {
    name: 'a function of EVM in a rule on Stellar',
    change: stellarRule({ functions: ['transfer(address to, uint256 amount)'] }),
    refused: 'policies.rules[0].functions[0] must be 1 to 32 characters from a-z, A-Z, 0-9 and _',
  },
  {
    name: 'an address of EVM in a rule on Stellar',
    change: stellarRule({ to: [address] }),
    refused: 'policies.rules[0].to[0] must be the address of an account (G..., M...) or of a contract (C...)',
  },
  {
    name: 'a mint of Solana in a limit on Stellar',
    change: stellarRule({ limits: [assetLimit(account)] }),
    refused: 'policies.rules[0].limits[0].asset must be native, CODE:ISSUER, or the contract of a token (C...)',
  },
  {
    name: 'a limit on what a rule on Stellar does not match',
    change: stellarRule({ operations: ['create_account'], limits: [assetLimit(`USD:${issuer}`)] }),
    refused: `policies.rules[0].limits[0].asset is USD:${issuer}, which nothing pays that the rule is for`,
  },
  {
    name: 'a limit in a rule on Stellar for operations whose amount is not read',
    change: stellarRule({ operations: ['payment', 'manage_sell_offer'], limits: [assetLimit('native')] }),
    refused: /^policies\.rules\[0\]\.operations\[1\] is manage_sell_offer, whose amount a rule cannot read/,
  },
  {
    name: 'an operation that there is not',
    change: stellarRule({ operations: ['transfer'] }),
    refused: /^policies\.rules\[0\]\.operations\[0\] must be a type of operation/,
  },
];

const solanaRule = (rule: object) => solana({ rules: [{ id: 'a', effect: 'allow', ...rule }] });
const solanaRules: readonly Row[] = [
  { name: 'rules on Solana', change: solanaRule({ programs: [program], discriminators: ['0x02000000'], limits: [assetLimit('native')] }) },
  {
    name: 'data that is not hex in a rule on Solana',
    change: solanaRule({ discriminators: ['transfer(address)'] }),
    refused: 'policies.rules[0].discriminators[0] must be the first 1 to 32 bytes of the data: an even number of hex digits',
  },
  {
    name: 'an address of EVM in a rule on Solana',
    change: solanaRule({ to: [address] }),
    refused: `policies.rules[0].to[0] ${base58Rule}`,
  },
  {
    name: 'an asset of Stellar in a limit on Solana',
    change: solanaRule({ limits: [assetLimit(`USD:${issuer}`)] }),
    refused: 'policies.rules[0].limits[0].asset must be native, or the mint of a token: 32 bytes in base58',
  },
  {
    name: 'a limit on what a rule on Solana does not match',
    change: solanaRule({ programs: [program], limits: [assetLimit(account)] }),
    refused: `policies.rules[0].limits[0].asset is ${account}, which nothing pays that the rule is for`,
  },
  {
    name: 'a limit in a rule on Solana for a transfer without a mint',
    change: solanaRule({ discriminators: ['0c', 'ff'], limits: [assetLimit(account)] }),
    refused: /^policies\.rules\[0\]\.discriminators\[1\] is ff, whose amount a rule cannot read/,
  },
];

const relayers: readonly Row[] = [
  { name: 'only what is required', change: {} },
  { name: 'no paused, which means false', change: { paused: undefined } },
  { name: 'null for everything that may be absent', change: { policies: null, notification_id: null, custom_rpc_urls: null } },
  { name: 'an id with a space', change: { id: 'a b' }, refused: idRule },
  { name: 'an id of 37 characters', change: { id: 'a'.repeat(37) }, refused: idRule },
  { name: 'an empty id', change: { id: '' }, refused: /^id must/ },
  { name: 'a name of 100 characters', change: { name: '\u{1F600}'.repeat(100) } },
  { name: 'a name of 101 characters', change: { name: 'n'.repeat(101) }, refused: nameRule },
  { name: 'a name with a line break', change: { name: 'a\nb' }, refused: nameRule },
  { name: 'an empty name', change: { name: '' }, refused: /^name must/ },
  { name: 'an unknown network', change: { network: 'nowhere' }, refused: /^network / },
  { name: 'a network of another kind', change: { network: 'devnet' }, refused: /^network / },
  { name: 'no kind of network', change: { network_type: undefined }, refused: 'network_type is required' },
  { name: 'an unknown signer', change: { signer_id: 'nobody' }, refused: /^signer_id / },
  { name: 'an unknown notification', change: { notification_id: 'nobody' }, refused: /^notification_id / },
  { name: 'an empty notification, which means none', change: { notification_id: '' } },

  { name: 'nodes', change: { custom_rpc_urls: ['http://127.0.0.1:9', { url: 'https://b.example.com/key', weight: 0 }] } },
  { name: 'a node that is not http', change: { custom_rpc_urls: ['ftp://a'] }, refused: `custom_rpc_urls[0].url ${urlRule}` },
  { name: 'a node with a space', change: { custom_rpc_urls: ['http://a/b c'] }, refused: `custom_rpc_urls[0].url ${urlRule}` },
  {
    name: 'a masked node',
    change: { custom_rpc_urls: ['https://a/***'] },
    refused: 'custom_rpc_urls[0].url is masked; send the complete URL',
  },
  {
    name: 'a node of 2049 characters',
    change: { custom_rpc_urls: [`http://a/${'b'.repeat(2040)}`] },
    refused: 'custom_rpc_urls[0].url must be at most 2048 characters',
  },
  {
    name: 'only nodes of weight 0',
    change: { custom_rpc_urls: [{ url: 'http://a', weight: 0 }] },
    refused: 'custom_rpc_urls must have at least one item with a weight above 0',
  },
  {
    name: 'a weight above 100',
    change: { custom_rpc_urls: [{ url: 'http://a', weight: 101 }] },
    refused: 'custom_rpc_urls[0].weight must be an integer from 0 to 100',
  },
  {
    name: '21 nodes',
    change: { custom_rpc_urls: Array.from({ length: 21 }, () => 'http://a') },
    refused: 'custom_rpc_urls must have at most 20 items',
  },

  { name: 'no policies', change: evm({}) },
  { name: 'a whitelist', change: evm({ whitelist_receivers: [address, address.toLowerCase()] }) },
  { name: 'null for a whitelist, which allows all', change: evm({ whitelist_receivers: null }) },
  {
    name: 'an empty whitelist, which would allow all',
    change: evm({ whitelist_receivers: [] }),
    refused: `policies.whitelist_receivers ${noLimit}`,
    isAbsentInBinary: true,
  },
  {
    name: 'a whitelist with a name in it',
    change: evm({ whitelist_receivers: [address, 'me'] }),
    refused: 'policies.whitelist_receivers[1] must be 0x and 40 hex digits',
  },
  {
    name: 'a whitelist of 10001 addresses',
    change: evm({ whitelist_receivers: Array.from({ length: 10_001 }, () => address) }),
    refused: 'policies.whitelist_receivers must have at most 10000 items',
  },
  { name: 'a hexadecimal amount', change: evm({ min_balance: '0x10' }) },
  { name: 'the maximum amount', change: evm({ min_balance: String(max), gas_price_cap: `0x${max.toString(16)}` }) },
  { name: 'an amount above the maximum', change: evm({ min_balance: String(max + 1n) }), refused: `policies.min_balance ${amount}` },
  { name: 'a negative amount', change: evm({ min_balance: -1 }), refused: `policies.min_balance ${amount}` },
  { name: 'an amount that is a fraction', change: evm({ min_balance: 1.5 }), refused: `policies.min_balance ${amount}` },
  { name: 'an exponent in a text', change: evm({ gas_price_cap: '1e18' }), refused: `policies.gas_price_cap ${amount}` },
  { name: 'an empty amount', change: evm({ gas_price_cap: '' }), refused: `policies.gas_price_cap ${amount}` },
  { name: 'null for an amount', change: evm({ min_balance: null, gas_price_cap: null }) },
  { name: 'a gas price cap of 0', change: evm({ gas_price_cap: 0 }), refused: `policies.gas_price_cap ${noCap}` },
  { name: 'a minimum balance of 0', change: evm({ min_balance: 0 }) },
  { name: 'none in flight', change: evm({ max_in_flight: 0 }), refused: 'policies.max_in_flight must be an integer from 1 to 100000' },
  {
    name: 'too many in flight',
    change: evm({ max_in_flight: 100_001 }),
    refused: 'policies.max_in_flight must be an integer from 1 to 100000',
  },
  { name: 'no private transactions', change: evm({ private_transactions: false }), isRestOnly: true },
  {
    name: 'private transactions',
    change: evm({ private_transactions: true }),
    refused: 'policies.private_transactions must be false: private transactions are not supported',
    isRestOnly: true,
  },

  { name: 'policies on Stellar', change: stellar({ fee_payment_strategy: 'relayer', min_balance: 0, max_fee: '1' }) },
  ...stellarRules,
  ...solanaRules,
  { name: 'signing on Stellar', change: stellar({ signing: { messages: 'deny', transactions: 'allow' } }) },
  { name: 'signing on Solana', change: solana({ signing: { transactions: 'allow', typed_data: 'deny' } }) },
  ...[stellar, solana].map((onNetwork) => ({
    name: `typed data on another network than an EVM one (${onNetwork.name})`,
    change: onNetwork({ signing: { typed_data: 'allow' } }),
    refused: 'policies.signing.typed_data must be deny or left out: only evm relayers sign typed data',
  })),
  { name: 'a maximum fee of 0', change: stellar({ max_fee: '0' }), refused: `policies.max_fee ${noCap}` },

  {
    name: 'policies on Solana',
    change: solana({ allowed_programs: [program, account], max_signatures: 255, max_tx_data_size: 1, max_allowed_fee_lamports: 1 }),
  },
  {
    name: 'empty lists on Solana, which limit nothing',
    change: solana({ allowed_programs: [], allowed_accounts: [], disallowed_accounts: [] }),
  },
  {
    name: 'a program of fewer than 32 bytes',
    change: solana({ allowed_programs: [program, account.slice(3)] }),
    refused: `policies.allowed_programs[1] ${base58Rule}`,
  },
  {
    name: 'an account of 33 bytes',
    change: solana({ allowed_accounts: [`1${account.slice(0, 43)}`] }),
    refused: `policies.allowed_accounts[0] ${base58Rule}`,
  },
  {
    name: 'an account that is not base58',
    change: solana({ disallowed_accounts: ['0OIl'] }),
    refused: `policies.disallowed_accounts[0] ${base58Rule}`,
  },
  {
    name: 'allowed and disallowed accounts',
    change: solana({ allowed_accounts: [account], disallowed_accounts: [program] }),
    refused: 'policies.disallowed_accounts cannot be combined with allowed_accounts',
  },
  { name: 'a fee cap of 0', change: solana({ max_allowed_fee_lamports: 0 }), refused: `policies.max_allowed_fee_lamports ${noCap}` },
  { name: 'no signatures', change: solana({ max_signatures: 0 }), refused: 'policies.max_signatures must be an integer from 1 to 255' },
  {
    name: 'a size above the network’s',
    change: solana({ max_tx_data_size: 1233 }),
    refused: 'policies.max_tx_data_size must be an integer from 1 to 1232',
  },
];

const notifications: readonly Row[] = [
  { name: 'a webhook', change: {} },
  { name: 'no type, which means webhook', change: { type: undefined } },
  { name: 'an id with a dot', change: { id: 'a.b' }, refused: idRule },
  { name: 'no URL', change: { url: undefined }, refused: 'url is required' },
  { name: 'a URL that is not http', change: { url: 'ftp://hooks.example.com' }, refused: 'url must begin with http:// or https://' },
  {
    name: 'a URL with user info',
    change: { url: 'https://me@hooks.example.com' },
    refused: 'url must not contain a user name or password',
  },
  {
    name: 'a URL with a space',
    change: { url: 'https://hooks.example.com/ x' },
    refused: 'url must not contain white space or control characters',
  },
  { name: 'a URL as answers show it', change: { url: 'https://hooks.example.com/***' }, refused: 'url is masked; send the complete URL' },
  { name: 'a URL of 2049 characters', change: { url: `https://a/${'b'.repeat(2039)}` }, refused: 'url must be at most 2048 characters' },
  {
    name: 'a URL of a private host',
    change: { url: 'http://10.0.0.1/' },
    refused: 'url must not point to a private, loopback, link-local, metadata or otherwise reserved host',
  },
  { name: 'a signing key', change: { signing_key: 'k'.repeat(32) } },
  { name: 'a signing key that is too long', change: { signing_key: 'k'.repeat(10_000) }, refused: /^signing_key must/ },
];

/** The nodes of a network: of an entry in the file, and of UpdateNetwork. */
const networks: readonly Row[] = [
  { name: 'a node', change: { rpc_urls: ['http://127.0.0.1:9'] } },
  { name: 'no node', change: { rpc_urls: [] }, refused: 'rpc_urls must have at least one item' },
  { name: 'a node that is not http', change: { rpc_urls: ['http://a', 'ftp://a'] }, refused: `rpc_urls[1].url ${urlRule}` },
  { name: 'a masked node', change: { rpc_urls: ['https://a/***'] }, refused: 'rpc_urls[0].url is masked; send the complete URL' },
];

/** The answer of a door to an entry: `accepted`, or its first problem. */
type Door = (entry: Readonly<Record<string, unknown>>) => Promise<string>;

let rig: AppRig;
let grpc: RpcAsker;

before(async () => {
  rig = await startAppRig({ env: { WEBHOOK_ALLOW_PRIVATE: 'false' } });
  const [first, ...others] = rpcAskers(rig.baseUrl);
  assert.ok(first?.protocol === 'gRPC');
  grpc = first;
  for (const other of others) other.close();
  const key = { id: 'key', type: 'local', config: { key: randomBytes(32).toString('hex') } };
  assert.equal((await rig.ask('POST', '/api/v1/signers', { body: JSON.stringify(key) })).status, 201);
});
after(async () => {
  grpc?.close();
  await rig?.stop();
});

/** The file with this one entry, of the section where it belongs. */
function fileDoor(section: 'relayers' | 'notifications' | 'networks', file: (entry: unknown) => object): Door {
  return async (entry) => {
    const dir = await temporaryFolder({ 'config.json': file(entry) });
    try {
      await loadConfig({ dir, fileName: 'config.json', env: sampleEnv, readKeystore: anyKeystore });
      return 'accepted';
    } catch (error) {
      assert.ok(error instanceof ConfigError, String(error));
      assert.equal(error.problems.length, 1, error.message);
      return error.message.replace(`${section}[0].`, '').replace(': ', ' ');
    }
  };
}

function restDoor(verb: string, path: string): Door {
  return async (entry) => {
    const { status, text } = await rig.ask(verb, path, { body: JSON.stringify(entry) });
    if (status === 200 || status === 201) return 'accepted';
    assert.equal(status, 400, text);
    return JSON.parse(text).error;
  };
}

/** Connect JSON as it is written by hand: clients leave empty lists out. */
function connectDoor(path: string, messageOf: (entry: Readonly<Record<string, unknown>>) => JsonObject): Door {
  return async (entry) => {
    const { status, text } = await rig.ask('POST', `/relayer.v1.${path}`, { body: JSON.stringify(messageOf(entry)) });
    if (status === 200) return 'accepted';
    assert.equal(status, 400, text);
    return withRestPaths(JSON.parse(text).message);
  };
}

function grpcDoor(method: Parameters<RpcAsker['ask']>[0], messageOf: (entry: Readonly<Record<string, unknown>>) => JsonObject): Door {
  return async (entry) => {
    const answer = await grpc.ask(method, messageOf(entry));
    return answer.ok ? 'accepted' : withRestPaths(answer.sentence);
  };
}

/** Over RPC a violation has the path of its field as the caller wrote it, where REST has one key for the policies of any network. */
function withRestPaths(sentence: string): string {
  return sentence.replace(/(?<=^|; )(?:evm|stellar|solana)\./g, 'policies.');
}

/** An entry in protobuf JSON. */
function relayerMessage({ network_type: type, policies, custom_rpc_urls: urls, ...others }: Readonly<Record<string, unknown>>): JsonObject {
  return defined({
    ...others,
    ...(type === undefined ? {} : { network_type: `NETWORK_TYPE_${String(type).toUpperCase()}` }),
    ...(policies ? { [String(type)]: policiesMessage(String(type), policies as JsonObject) } : {}),
    ...(urls ? { custom_rpc_urls: urlsMessage(urls) } : {}),
  });
}

function policiesMessage(type: string, policies: JsonObject): JsonObject {
  const amounts = ['min_balance', 'gas_price_cap', 'max_fee', 'max_allowed_fee_lamports'];
  return Object.fromEntries(
    Object.entries(policies).map(([name, value]): [string, JsonValue] => {
      if (name === 'fee_payment_strategy') return [name, `${type.toUpperCase()}_FEE_PAYMENT_STRATEGY_RELAYER`];
      if (name === 'rules') return [name, (value as JsonObject[]).map((rule) => ({ ...rule, effect: 'RULE_EFFECT_ALLOW' }))];
      if (name === 'signing') return [name, signingMessage(value as JsonObject)];
      return [name, amounts.includes(name) && value !== null ? String(value) : value];
    }),
  );
}

function signingMessage({ typed_data: typed, ...others }: JsonObject): JsonObject {
  const effect = (text: JsonValue | undefined): string => `SIGNING_EFFECT_${String(text).toUpperCase()}`;
  const effects = Object.fromEntries(Object.entries(others).map(([name, text]) => [name, effect(text)]));
  return typed === undefined ? effects : { ...effects, typed_data: { effect: effect(typed) } };
}

function urlsMessage(urls: unknown): JsonValue {
  return (urls as JsonValue[]).map((url) => (typeof url === 'string' ? { url } : url));
}

function notificationMessage({ type, ...others }: Readonly<Record<string, unknown>>): JsonObject {
  return defined({ ...others, ...(type === undefined ? {} : { type: 'NOTIFICATION_TYPE_WEBHOOK' }) });
}

function networkMessage({ rpc_urls: urls }: Readonly<Record<string, unknown>>): JsonObject {
  return { network_id: 'evm:local', rpc_urls: urlsMessage(urls) };
}

function defined(object: Readonly<Record<string, unknown>>): JsonObject {
  return JSON.parse(JSON.stringify(object));
}

/** Every row at every door; what a door creates is deleted, so that the next can create it. */
function theSame(
  rows: readonly Row[],
  base: Readonly<Record<string, unknown>>,
  collection: string | null,
  doors: Readonly<Record<string, Door>>,
): void {
  for (const { name, change, refused, isAbsentInBinary, isRestOnly } of rows) {
    it(`${refused === undefined ? 'accept' : 'refuse'} ${name}`, async () => {
      const entry = { ...base, ...change };
      for (const [door, answer] of Object.entries(doors)) {
        if (isRestOnly && door !== 'file' && door !== 'REST') continue;
        const said = await answer(entry);
        if (said === 'accepted' && collection !== null && door !== 'file') {
          assert.equal((await rig.ask('DELETE', `${collection}/${String(entry.id)}`)).status, 200);
        }
        const expected = isAbsentInBinary && door === 'gRPC' ? 'accepted' : (refused ?? 'accepted');
        if (expected instanceof RegExp) assert.match(said, expected, door);
        else assert.equal(said, expected, door);
      }
    });
  }
}

const network = sampleNetwork({ network: 'local' });

describe('the configuration file, REST and RPC say the same to a relayer: they', () => {
  const base = { id: 'doors', name: 'Doors', network: 'local', network_type: 'evm', paused: false, signer_id: 'key' };
  theSame(relayers, base, '/api/v1/relayers', {
    file: fileDoor('relayers', (entry) => ({ networks: [network], signers: [sampleSigner()], relayers: [entry] })),
    REST: restDoor('POST', '/api/v1/relayers'),
    Connect: connectDoor('RelayerService/CreateRelayer', relayerMessage),
    gRPC: grpcDoor(RelayerService.method.createRelayer, relayerMessage),
  });

  it('the configuration file, REST and RPC say the same to a relayer: they refuse an empty whitelist in a change too, and leave out of answers what would not be accepted back', async () => {
    const change = JSON.stringify({ policies: { whitelist_receivers: [] } });
    const refused = await rig.ask('PATCH', '/api/v1/relayers/r2', { body: change });
    assert.equal(JSON.parse(refused.text).error, `policies.whitelist_receivers ${noLimit}`);
    const hidden = '{"relayer_id":"r2","update_mask":"evm","evm":{"whitelist\\u005freceivers":[]}}';
    const overRpc = await rig.ask('POST', '/relayer.v1.RelayerService/UpdateRelayer', { body: hidden });
    assert.equal(JSON.parse(overRpc.text).message, `evm.whitelist_receivers ${noLimit}`);
    const relayer = JSON.parse((await rig.ask('GET', '/api/v1/relayers/r2')).text).data;
    assert.ok(!('whitelist_receivers' in relayer.policies));
    const again = await rig.ask('PATCH', '/api/v1/relayers/r2', { body: JSON.stringify({ policies: relayer.policies }) });
    assert.deepEqual(JSON.parse(again.text).data, relayer);
  });
});

describe('the configuration file, REST and RPC say the same to a notification: they', () => {
  /** In the file a secret is a reference. */
  const inFile = (entry: object) =>
    'signing_key' in entry ? { ...entry, signing_key: { type: 'plain', value: entry.signing_key } } : entry;
  theSame(notifications, { id: 'doors', type: 'webhook', url: 'https://hooks.example.com/x' }, '/api/v1/notifications', {
    file: fileDoor('notifications', (entry) => ({ relayers: [], notifications: [inFile(entry as object)] })),
    REST: restDoor('POST', '/api/v1/notifications'),
    Connect: connectDoor('NotificationService/CreateNotification', notificationMessage),
    gRPC: grpcDoor(NotificationService.method.createNotification, notificationMessage),
  });
});

describe('the configuration file, REST and RPC say the same to the nodes of a network: they', () => {
  theSame(networks, {}, null, {
    file: fileDoor('networks', (entry) => ({ relayers: [], networks: [{ ...network, ...(entry as object) }] })),
    REST: restDoor('PATCH', '/api/v1/networks/evm:local'),
    Connect: connectDoor('NetworkService/UpdateNetwork', networkMessage),
    gRPC: grpcDoor(NetworkService.method.updateNetwork, networkMessage),
  });
});
