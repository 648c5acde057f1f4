import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Keypair, StrKey } from '@stellar/stellar-sdk';
import { type ApiDocument, readApiDocument } from '../../../support/api-document.js';
import { type RestAnswer, startAppRig, startEd25519App } from '../../../support/app-rig.js';

/*
 * The domain checks the sizes of lists, texts and bytes with sentences of its own. Here each size that the document states is tried on a
 * running service: it accepts the limit, and rejects what is beyond it.
 */

type Json = Readonly<Record<string, unknown>>;
type Network = 'evm' | 'stellar' | 'solana';

/** The calls whose bodies have limits, by the schema of the body. */
const calls = {
  SendTransactionRequest: ['POST', '/relayers/r1/transactions'],
  SendTransactionsRequest: ['POST', '/relayers/r1/transactions/batch'],
  QuoteTransactionRequest: ['POST', '/relayers/r1/transactions/quote'],
  CheckPoliciesRequest: ['POST', '/relayers/r1/policies/check'],
  SignTransactionRequest: ['POST', '/relayers/r1/sign-transaction'],
  CreateRelayerRequest: ['POST', '/relayers'],
  UpdateRelayerRequest: ['PATCH', '/relayers/r1'],
  CreateSignerRequest: ['POST', '/signers'],
  CreateNotificationRequest: ['POST', '/notifications'],
  UpdateNotificationRequest: ['PATCH', '/notifications/n1'],
  UpdateNetworkRequest: ['PATCH', '/networks/evm:local'],
  CreatePluginRequest: ['POST', '/plugins'],
  UpdatePluginRequest: ['PATCH', '/plugins/p1'],
  CreateApiKeyRequest: ['POST', '/api-keys'],
  CallRpcRequest: ['POST', '/relayers/r1/rpc'],
} as const;

/** How to make a body of a size, which is a number of items or characters. */
interface Trial {
  readonly schema: keyof typeof calls;
  readonly network: Network;
  readonly bodyOf: (size: number) => Json;
  /** The field, as the service names it. */
  readonly field: string;
  /** The difference to the next size. Hex digits and base64 come in groups. */
  readonly step: number;
}

interface App {
  readonly baseUrl: string;
  ask(verb: string, path: string, ask: { body: string }): Promise<RestAnswer>;
  stop(): Promise<void>;
}

const account = Keypair.random().publicKey();
const contract = StrKey.encodeContract(Buffer.alloc(32, 7));
const evmAddress = `0x${'12'.repeat(20)}`;
const program = '11111111111111111111111111111111';
const payment = { type: 'payment', destination: account, amount: '1', asset: { type: 'native' } };
const xdrAuth = (entries: readonly string[]) => ({ type: 'xdr', entries });

function listOf<T>(item: T): (size: number) => T[] {
  return (size) => Array.from({ length: size }, () => item);
}

function urlOf(length: number): string {
  return 'https://example.com/'.padEnd(length, 'x');
}

function headersOf(count: number): object[] {
  return Array.from({ length: count }, (_, index) => ({ name: `X-${index}`, value: 'a' }));
}

/** The smallest code, with zeros behind it. */
function wasmOf(bytes: number): Buffer {
  return Buffer.concat([Buffer.from('0061736d', 'hex'), Buffer.alloc(bytes - 4)]);
}

function trial(schema: Trial['schema'], field: string, bodyOf: Trial['bodyOf'], more: Partial<Trial> = {}): Trial {
  return { schema, field, bodyOf, network: 'evm', step: 1, ...more };
}

/** Nothing listens at this address, and the private key is none. */
function google(field: 'endpoint' | 'token_uri'): Trial {
  const account = { project_id: 'p', private_key_id: 'i', private_key: 'k', client_email: 'e' };
  return trial('CreateSignerRequest', `config.${field === 'token_uri' ? 'service_account.' : ''}${field}`, (size) => {
    const url = { [field]: 'http://127.0.0.1:9/'.padEnd(size, 'x') };
    const service_account = field === 'token_uri' ? { ...account, ...url } : account;
    const key = { key_ring_id: 'r', key_id: 'k' };
    return { type: 'google_cloud_kms', config: { service_account, key, ...(field === 'endpoint' ? url : {}) } };
  });
}

/** Nothing listens at this address, and the API key is none. */
function turnkey(): Trial {
  const others = {
    api_public_key: `02${'01'.repeat(32)}`,
    api_private_key: '01'.repeat(32),
    organization_id: 'o',
    private_key_id: 'k',
    public_key: '07'.repeat(32),
  };
  return trial('CreateSignerRequest', 'config.api_base_url', (size) => ({
    type: 'turnkey',
    config: { api_base_url: 'http://127.0.0.1:9/'.padEnd(size, 'x'), ...others },
  }));
}

/** Nothing listens at the address of this vault, and the API may not send the machine's token there. */
function azure(): Trial {
  return trial('CreateSignerRequest', 'config.vault_url', (size) => ({
    type: 'azure_key_vault',
    config: {
      auth_type: 'client_secret',
      tenant_id: 't',
      client_id: 'c',
      client_secret: 's',
      vault_url: 'http://127.0.0.1:9/'.padEnd(size, 'x'),
      key_name: 'k',
    },
  }));
}

/** Nothing listens at this address, and the secrets are no keys. */
function cdp(): Trial {
  const others = { api_key_id: 'k', api_key_secret: 's', wallet_secret: 'w', account_address: evmAddress };
  return trial('CreateSignerRequest', 'config.api_base_url', (size) => ({
    type: 'cdp',
    config: { api_base_url: 'http://127.0.0.1:9/'.padEnd(size, 'x'), ...others },
  }));
}

/** Nothing listens at the address of this Vault. */
function vault(type: string): Trial {
  const others = {
    role_id: 'role',
    secret_id: 'secret',
    key_name: 'key',
    ...(type === 'vault' ? {} : { pubkey: Buffer.alloc(32).toString('base64') }),
  };
  return trial('CreateSignerRequest', 'config.address', (size) => ({
    type,
    config: { address: 'http://127.0.0.1:9/'.padEnd(size, 'x'), ...others },
  }));
}

function stellar(field: string, fieldsOf: (size: number) => Json, step = 1): Trial {
  return trial('SendTransactionRequest', field, (size) => ({ network: 'local', ...fieldsOf(size) }), { network: 'stellar', step });
}

function stellarOperation(field: string, operationOf: (size: number) => Json, step = 1): Trial {
  return stellar(`operations[0].${field}`, (size) => ({ operations: [operationOf(size)] }), step);
}

function invocation(fields: Json): Json {
  return { type: 'invoke_contract', contract_address: contract, function_name: 'f', ...fields };
}

/** Of the operations that are written from the table. */
function listedTrials(): Readonly<Record<string, Trial>> {
  const address = (index: number): string => StrKey.encodeEd25519PublicKey(Buffer.alloc(32, index + 1));
  const native = { type: 'native' };
  const claimants = stellarOperation('claimants', (size) => ({
    type: 'create_claimable_balance',
    asset: native,
    amount: 1,
    claimants: Array.from({ length: size }, (_, index) => ({ destination: address(index) })),
  }));
  const keysOf = (type: string, rest: Json): Trial =>
    stellarOperation('keys', (size) => ({ type, ...rest, keys: listOf(`AAAAB${'A'.repeat(43)}`)(size) }));
  const path = (type: string, rest: Json): Trial =>
    stellarOperation('path', (size) => ({
      type,
      send_asset: native,
      dest_asset: native,
      destination: address(1),
      ...rest,
      path: listOf(native)(size),
    }));
  const value = (size: number): Json => ({ type: 'manage_data', name: 'n', value: `0x${'00'.repeat((size - 2) / 2)}` });
  return {
    'OperationSpecCreateClaimableBalance.claimants minItems': claimants,
    'OperationSpecCreateClaimableBalance.claimants maxItems': claimants,
    'OperationSpecExtendFootprintTtl.keys minItems': keysOf('extend_footprint_ttl', { extend_to: 1 }),
    'OperationSpecExtendFootprintTtl.keys maxItems': keysOf('extend_footprint_ttl', { extend_to: 1 }),
    'OperationSpecRestoreFootprint.keys minItems': keysOf('restore_footprint', {}),
    'OperationSpecRestoreFootprint.keys maxItems': keysOf('restore_footprint', {}),
    'OperationSpecPathPaymentStrictReceive.path maxItems': path('path_payment_strict_receive', { send_max: 1, dest_amount: 1 }),
    'OperationSpecPathPaymentStrictSend.path maxItems': path('path_payment_strict_send', { send_amount: 1, dest_min: 1 }),
    'OperationSpecManageData.value maxLength': stellarOperation('value', value, 2),
  };
}

function solana(field: string, bodyOf: Trial['bodyOf'], step = 1): Trial {
  return trial('SendTransactionRequest', field, bodyOf, { network: 'solana', step });
}

function labelsOf(size: number): Json[] {
  return Array.from({ length: size }, (_, index) => ({ key: `k${index}`, value: 'v' }));
}

function policy(network: Network, name: string, sizedOf: (size: number) => unknown): Trial {
  return trial('UpdateRelayerRequest', `policies.${name}`, (size) => ({ policies: { [name]: sizedOf(size) } }), { network });
}

function relayer(network: Network): Trial {
  const body = { name: 'n', network: 'local', network_type: network, signer_id: 's1' };
  return trial('CreateRelayerRequest', 'custom_rpc_urls', (size) => ({ ...body, custom_rpc_urls: listOf('http://a')(size) }), { network });
}

/* The bodies of a send have the fields of a replacement, and others. */
const evmData = trial(
  'SendTransactionRequest',
  'data',
  (size) => ({ to: evmAddress, value: '0', data: `0x${'00'.repeat((size - 2) / 2)}` }),
  { step: 2 },
);
const stellarOperations = stellar('operations', (size) => ({ operations: listOf(payment)(size) }));
const stellarXdr = stellar('transaction_xdr', (size) => ({ transaction_xdr: 'A'.repeat(size) }), 4);
const solanaWire = solana('transaction', (size) => ({ transaction: `${'A'.repeat(size - 1)}=` }), 4);
const solanaInstructions = solana('instructions', (size) => ({
  instructions: listOf({ program_id: program })(size),
}));

/** By schema, key and keyword. */
const relayersOfNotification = trial('CreateNotificationRequest', 'relayer_ids', (size) => ({
  url: urlOf(30),
  relayer_ids: listOf('r1')(size),
}));
const headersOfUrl = trial('UpdateNetworkRequest', 'rpc_urls[0].headers', (size) => ({
  rpc_urls: [{ url: 'http://a', headers: headersOf(size) }],
}));

/** The lists of a rule whose parts the network judges one by one. */
function partRuleTrials(network: Network, name: string, lists: Readonly<Record<string, string>>): Readonly<Record<string, Trial>> {
  const rules = policy(network, 'rules', (size) => Array.from({ length: size }, (_, index) => ({ id: `r${index}`, effect: 'deny' })));
  const rule = (field: string, listFor: (size: number) => unknown): Trial => {
    const bodyOf = (size: number) => ({ policies: { rules: [{ id: 'r', effect: 'allow', [field]: listFor(size) }] } }) as Json;
    return trial('UpdateRelayerRequest', `policies.rules[0].${field}`, bodyOf, { network });
  };
  const limits = (size: number) => Array.from({ length: size }, (_, index) => ({ asset: 'native', amount: 1, window_seconds: 60 + index }));
  return {
    [`${name}PoliciesInput.rules minItems`]: rules,
    [`${name}PoliciesInput.rules maxItems`]: rules,
    [`${name}RuleInput.limits maxItems`]: rule('limits', limits),
    [`${name}RuleInput.max_cost minimum`]: rule('max_cost', (size) => size),
    ...Object.fromEntries(
      Object.entries({ ...lists, api_keys: 'k' }).flatMap(([field, item]) =>
        ['minItems', 'maxItems'].map((keyword) => [`${name}RuleInput.${field} ${keyword}`, rule(field, listOf(item))]),
      ),
    ),
  };
}

function ruleTrials(): Readonly<Record<string, Trial>> {
  const signature = 'f(uint256 a)';
  const rule = (field: string, fieldsOf: (size: number) => Json): Trial =>
    trial('UpdateRelayerRequest', `policies.rules[0].${field}`, (size) => ({
      policies: { rules: [{ id: 'r', effect: 'allow', ...fieldsOf(size) }] },
    }));
  const list = (field: string, item: unknown): Trial => rule(field, (size) => ({ [field]: listOf(item)(size) }));
  const condition = (parameter: Json): Trial =>
    rule('arguments[0].in', (size) => ({
      functions: [signature],
      arguments: [{ function: signature, ...parameter, in: listOf('1')(size) }],
    }));
  const limit = (index: number): Json => ({ asset: 'native', amount: 1, window_seconds: 60 + index });
  const rules = policy('evm', 'rules', (size) => Array.from({ length: size }, (_, index) => ({ id: `r${index}`, effect: 'deny' })));
  const conditions = rule('arguments', (size) => ({
    functions: [signature],
    arguments: listOf({ function: signature, index: 0, equals: '1' })(size),
  }));
  const structs = rule('typed_data', (size) => ({
    to: [evmAddress],
    typed_data: Array.from({ length: size }, (_, index) => `Permit${index}(uint256 value)`),
  }));
  const domains = trial('UpdateRelayerRequest', 'policies.signing.typed_data.domains', (size) => ({
    policies: { signing: { typed_data: { domains: listOf(`0x${'11'.repeat(32)}`)(size) } } },
  }));
  return {
    'TypedDataPolicyInputObject.domains minItems': domains,
    'TypedDataPolicyInputObject.domains maxItems': domains,
    'EvmPoliciesInput.rules minItems': rules,
    'EvmPoliciesInput.rules maxItems': rules,
    'EvmRuleInput.to minItems': list('to', evmAddress),
    'EvmRuleInput.to maxItems': list('to', evmAddress),
    'EvmRuleInput.functions minItems': list('functions', 'f()'),
    'EvmRuleInput.functions maxItems': list('functions', 'f()'),
    'EvmRuleInput.api_keys minItems': list('api_keys', 'k'),
    'EvmRuleInput.api_keys maxItems': list('api_keys', 'k'),
    'EvmRuleInput.arguments maxItems': conditions,
    'EvmRuleInput.typed_data minItems': structs,
    'EvmRuleInput.typed_data maxItems': structs,
    'EvmRuleInput.max_cost minimum': rule('max_cost', (size) => ({ max_cost: size })),
    'EvmRuleInput.limits maxItems': rule('limits', (size) => ({ limits: Array.from({ length: size }, (_, index) => limit(index)) })),
    ...Object.fromEntries(
      [{ index: 0 }, { name: 'a' }].flatMap((parameter) =>
        ['minItems', 'maxItems'].map((keyword) => [
          `ArgumentConditionInput${'index' in parameter ? 'Index' : 'Name'}.in ${keyword}`,
          condition(parameter),
        ]),
      ),
    ),
  };
}

const trialsOfOne: Readonly<Record<string, Trial>> = {
  'EvmSignRequest.unsigned_transaction maxLength': trial(
    'SignTransactionRequest',
    'unsigned_transaction',
    (size) => ({ unsigned_transaction: `0x${'00'.repeat((size - 2) / 2)}` }),
    { step: 2 },
  ),
  'EvmTransactionRequest.data maxLength': evmData,
  'SendTransactionRequestEvm.data maxLength': evmData,
  'SendTransactionRequestEvm.labels maxItems': trial('SendTransactionRequest', 'labels', (size) => ({
    to: evmAddress,
    value: '0',
    labels: labelsOf(size),
  })),
  'ContractCallInput.function maxLength': trial('SendTransactionRequest', 'call.function', (size) => ({
    to: evmAddress,
    value: '0',
    call: { function: `${'f'.repeat(size - 2)}()` },
  })),
  'StellarTransactionRequest.operations maxItems': stellarOperations,
  'SendTransactionRequestStellar.operations maxItems': stellarOperations,
  'StellarTransactionRequest.transaction_xdr maxLength': stellarXdr,
  'SendTransactionRequestStellar.transaction_xdr maxLength': stellarXdr,
  'SendTransactionRequestStellar.labels maxItems': stellar('labels', (size) => ({ operations: [payment], labels: labelsOf(size) })),
  'MemoSpecNone.value maxLength': stellar('memo.value', (size) => ({
    operations: [payment],
    memo: { type: 'none', value: size === 0 ? null : 'm' },
  })),
  'MemoSpecText.value maxLength': stellar('memo.value', (size) => ({
    operations: [payment],
    memo: { type: 'text', value: 'm'.repeat(size) },
  })),
  'AuthSpecXdr.entries minItems': stellarOperation('auth.entries', (size) => invocation({ auth: xdrAuth(listOf('AAAA')(size)) })),
  ...listedTrials(),
  'WasmSourceHex.hex maxLength': stellarOperation(
    'wasm.hex',
    (size) => ({ type: 'upload_wasm', wasm: { hex: `0x${wasmOf((size - 2) / 2).toString('hex')}` } }),
    2,
  ),
  'WasmSourceBase64.base64 maxLength': stellarOperation(
    'wasm.base64',
    (size) => ({ type: 'upload_wasm', wasm: { base64: wasmOf((size / 4) * 3 - 1).toString('base64') } }),
    4,
  ),
  'SolanaTransactionRequest.transaction maxLength': solanaWire,
  'SendTransactionRequestSolana.transaction maxLength': solanaWire,
  'SolanaSignRequest.transaction maxLength': trial(
    'SignTransactionRequest',
    'transaction',
    (size) => ({ transaction: `${'A'.repeat(size - 1)}=` }),
    {
      network: 'solana',
      step: 4,
    },
  ),
  'SolanaTransactionRequest.instructions maxItems': solanaInstructions,
  'SendTransactionRequestSolana.instructions maxItems': solanaInstructions,
  'SendTransactionRequestSolana.labels maxItems': solana('labels', (size) => ({
    instructions: [{ program_id: program }],
    labels: labelsOf(size),
  })),
  'SolanaInstructionInput.accounts maxItems': solana('instructions[0].accounts', (size) => ({
    instructions: [{ program_id: program, accounts: listOf({ pubkey: program })(size) }],
  })),
  'SolanaInstructionInput.data maxLength': solana(
    'instructions[0].data',
    (size) => ({ instructions: [{ program_id: program, data: Buffer.alloc((size / 4) * 3 - 1).toString('base64') }] }),
    4,
  ),
  'CreateRelayerRequestEvm.custom_rpc_urls maxItems': relayer('evm'),
  'CreateRelayerRequestStellar.custom_rpc_urls maxItems': relayer('stellar'),
  'CreateRelayerRequestSolana.custom_rpc_urls maxItems': relayer('solana'),
  'UpdateRelayerRequest.custom_rpc_urls maxItems': trial('UpdateRelayerRequest', 'custom_rpc_urls', (size) => ({
    custom_rpc_urls: listOf('http://a')(size),
  })),
  'RpcUrlInputText.RpcUrlInputText maxLength': trial('UpdateNetworkRequest', 'rpc_urls[0].url', (size) => ({ rpc_urls: [urlOf(size)] })),
  'RpcUrlInputObject.url maxLength': trial('UpdateNetworkRequest', 'rpc_urls[0].url', (size) => ({ rpc_urls: [{ url: urlOf(size) }] })),
  'RpcUrlInputObject.headers maxItems': headersOfUrl,
  'RpcUrlInputObject.headers minItems': headersOfUrl,
  'UpdateNetworkRequest.rpc_urls maxItems': trial('UpdateNetworkRequest', 'rpc_urls', (size) => ({ rpc_urls: listOf('http://a')(size) })),
  'UpdateNetworkRequest.rpc_urls minItems': trial('UpdateNetworkRequest', 'rpc_urls', (size) => ({ rpc_urls: listOf('http://a')(size) })),
  'EvmPoliciesInput.whitelist_receivers minItems': policy('evm', 'whitelist_receivers', listOf(evmAddress)),
  'EvmPoliciesInput.whitelist_receivers maxItems': policy('evm', 'whitelist_receivers', listOf(evmAddress)),
  'EvmPoliciesInput.gas_price_cap minimum': policy('evm', 'gas_price_cap', (size) => size),
  'StellarPoliciesInput.max_fee minimum': policy('stellar', 'max_fee', (size) => size),
  'SolanaPoliciesInput.max_allowed_fee_lamports minimum': policy('solana', 'max_allowed_fee_lamports', (size) => size),
  'SolanaPoliciesInput.allowed_programs maxItems': policy('solana', 'allowed_programs', listOf(program)),
  'SolanaPoliciesInput.allowed_accounts maxItems': policy('solana', 'allowed_accounts', listOf(program)),
  'SolanaPoliciesInput.disallowed_accounts maxItems': policy('solana', 'disallowed_accounts', listOf(program)),
  'CreatePluginRequest.url maxLength': trial('CreatePluginRequest', 'url', (size) => ({ url: urlOf(size) })),
  'CreatePluginRequest.headers maxItems': trial('CreatePluginRequest', 'headers', (size) => ({
    url: urlOf(20),
    headers: headersOf(size),
  })),
  'UpdatePluginRequest.url maxLength': trial('UpdatePluginRequest', 'url', (size) => ({ url: urlOf(size) })),
  'UpdatePluginRequest.headers maxItems': trial('UpdatePluginRequest', 'headers', (size) => ({ headers: headersOf(size) })),
  'CreateNotificationRequest.url maxLength': trial('CreateNotificationRequest', 'url', (size) => ({ url: urlOf(size) })),
  'CreateNotificationRequest.signing_key maxLength': trial('CreateNotificationRequest', 'signing_key', (size) => ({
    url: urlOf(30),
    signing_key: 'k'.repeat(size),
  })),
  'UpdateNotificationRequest.url maxLength': trial('UpdateNotificationRequest', 'url', (size) => ({ url: urlOf(size) })),
  'UpdateNotificationRequest.signing_key maxLength': trial('UpdateNotificationRequest', 'signing_key', (size) => ({
    signing_key: 'k'.repeat(size),
  })),
  'CreateNotificationRequest.relayer_ids minItems': relayersOfNotification,
  'CreateNotificationRequest.relayer_ids maxItems': relayersOfNotification,
  'CreateApiKeyRequest.scopes minItems': trial('CreateApiKeyRequest', 'scopes', (size) => ({ name: 'n', scopes: listOf('sign')(size) })),
  'CreateApiKeyRequest.allowed_addresses maxItems': trial('CreateApiKeyRequest', 'allowed_addresses', (size) => ({
    name: 'n',
    scopes: ['sign'],
    allowed_addresses: listOf('10.0.0.1')(size),
  })),
  'CreateApiKeyRequest.relayer_ids maxItems': trial('CreateApiKeyRequest', 'relayer_ids', (size) => ({
    name: 'n',
    scopes: ['sign'],
    relayer_ids: listOf('r1')(size),
  })),
  'AzureKeyVaultSignerConfig.vault_url maxLength': azure(),
  'CdpSignerConfig.api_base_url maxLength': cdp(),
  'VaultSignerConfig.address maxLength': vault('vault'),
  'GoogleCloudKmsSignerConfig.endpoint maxLength': google('endpoint'),
  'GoogleServiceAccountKey.token_uri maxLength': google('token_uri'),
  'TurnkeySignerConfig.api_base_url maxLength': turnkey(),
  'VaultTransitSignerConfig.address maxLength': vault('vault_transit'),
  'CallRpcRequest.id maxLength': trial('CallRpcRequest', 'id', (size) => ({ method: 'eth_chainId', id: 'i'.repeat(size) })),
};

/* An item of several transactions has the fields of one. */
const sendOne = /^SendTransactionRequest/;
const trialsOfItems = Object.entries(trialsOfOne)
  .filter(([name]) => sendOne.test(name))
  .map(([name, { field, bodyOf, ...rest }]): [string, Trial] => [
    name.replace(sendOne, 'TransactionToSend'),
    {
      ...rest,
      schema: 'SendTransactionsRequest',
      field: `transactions[0].${field}`,
      bodyOf: (size) => ({ transactions: [bodyOf(size)] }),
    },
  ]);
/* A quote has the body of a send. */
const trialsOfQuotes = Object.entries(trialsOfOne)
  .filter(([name]) => sendOne.test(name))
  .map(([name, one]): [string, Trial] => [name.replace(sendOne, 'QuoteTransactionRequest'), { ...one, schema: 'QuoteTransactionRequest' }]);
/* What is checked before a replacement has the content of a send. */
const trialsOfReplacements = Object.entries(trialsOfOne)
  .filter(([name]) => sendOne.test(name) && !name.includes('labels'))
  .map(([name, { field, bodyOf, ...rest }]): [string, Trial] => [
    name.replace(sendOne, 'TransactionToReplace'),
    {
      ...rest,
      schema: 'CheckPoliciesRequest',
      field: `replace.${field}`,
      bodyOf: (size) => ({ replace: { transaction_id: 't', ...bodyOf(size) } }),
    },
  ]);
const severalPayments = trial('SendTransactionsRequest', 'transactions', (size) => ({
  transactions: listOf({ to: evmAddress, value: '0' })(size),
}));
const trials: Readonly<Record<string, Trial>> = {
  ...Object.fromEntries(trialsOfItems),
  ...Object.fromEntries(trialsOfQuotes),
  ...Object.fromEntries(trialsOfReplacements),
  'SendTransactionsRequest.transactions minItems': severalPayments,
  'SendTransactionsRequest.transactions maxItems': severalPayments,
  // Later, since they change policies.
  ...trialsOfOne,
  ...ruleTrials(),
  ...partRuleTrials('solana', 'Solana', {
    programs: program,
    discriminators: '0c',
    to: program,
    assets: 'native',
  }),
  ...partRuleTrials('stellar', 'Stellar', {
    operations: 'payment',
    to: Keypair.random().publicKey(),
    functions: 'work',
    assets: 'native',
  }),
};

describe('the limits of the OpenAPI document', () => {
  let apps: Partial<Record<Network, App>> = {};
  let document: ApiDocument;
  let limits: ReadonlyMap<string, number>;
  before(async () => {
    const rig = await startAppRig({ notifications: [{ id: 'n1', type: 'webhook', url: 'https://example.com/hook' }] });
    await rig.ask('POST', '/api/v1/plugins', { body: JSON.stringify({ id: 'p1', url: 'http://127.0.0.1:9' }) });
    apps = { evm: rig };
    apps.stellar = await startEd25519App({ network: 'stellar', networkFields: { passphrase: 'Standalone Network ; February 2017' } });
    apps.solana = await startEd25519App({ network: 'solana' });
    document = await readApiDocument(rig.port);
    limits = limitsOf(document.json);
  });
  after(async () => {
    for (const app of Object.values(apps)) await app.stop();
  });

  it('the limits of the OpenAPI document: are all tried', () => {
    assert.deepEqual([...limits.keys()].sort(), Object.keys(trials).sort());
  });

  it('the limits of the OpenAPI document: its pattern of a webhook URL accepts what the service accepts', async () => {
    for (const [url, isAccepted] of [
      ['https://hooks.example.com/relayer?token=a@b#part', true],
      ['HTTP://[2606:4700:4700::1111]:8080', true],
      ['https://b\u00fccher.de?a=@', true],
      ['https://user@hooks.example.com/', false],
      ['https://user:secret@hooks.example.com/', false],
      ['https://hooks.example.com/a b', false],
      ['https://hooks.example.com/a\nb', false],
      ['https://hooks.example.com/\u0085', false],
      ['https://', false],
      ['ftp://hooks.example.com/', false],
    ] as const) {
      const body = { url };
      assert.equal(document.problems(['components', 'schemas', 'CreateNotificationRequest'], body) === null, isAccepted, url);
      const { status, text } = await (apps.evm ?? assert.fail()).ask('POST', '/api/v1/notifications', { body: JSON.stringify(body) });
      assert.equal(status, isAccepted ? 201 : 400, `${url}: ${text}`);
    }
  });

  for (const [name, { schema, network, bodyOf, field, step }] of Object.entries(trials)) {
    it(`the limits of the OpenAPI document: the service enforces ${name}`, async () => {
      const limit = limits.get(name) ?? assert.fail('the document does not state it');
      const beyond = name.endsWith(' minItems') || name.endsWith(' minimum') ? limit - step : limit + step;
      const [verb, path] = calls[schema];
      const problemsOf = (size: number) => document.problems(['components', 'schemas', schema], bodyOf(size));
      const errorOf = async (size: number) => {
        const { text } = await (apps[network] ?? assert.fail()).ask(verb, `/api/v1${path}`, { body: JSON.stringify(bodyOf(size)) });
        const { error } = JSON.parse(text);
        return String(error?.message ?? error);
      };
      assert.equal(problemsOf(limit), null);
      assert.notEqual(problemsOf(beyond), null);
      // What is at the limit may be wrong in another way.
      const isOfSize = /at most|at least|maximum|must have 1 to|must not be empty|must be absent|must be \d+ to \d+ characters/;
      const [atLimit, refused] = [await errorOf(limit), await errorOf(beyond)];
      assert.ok(!atLimit.startsWith(field) || !isOfSize.test(atLimit), atLimit);
      assert.ok(refused.startsWith(field) && isOfSize.test(refused), refused);
    });
  }
});

/** Collects the sizes and minimums that the schemas of requests state for their keys. */
function limitsOf(json: Json): Map<string, number> {
  const { schemas } = json.components as { schemas: Record<string, Json> };
  const found = new Map<string, number>();
  const seen = new Set<string>();
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const inner of Object.values(value)) look(inner);
    const name = nameOf(value as Json);
    if (name === undefined || seen.has(name)) return;
    seen.add(name);
    const schema = schemas[name] ?? {};
    if (!/^AmountFrom/.test(name)) note(name, name, schema);
    for (const [key, property] of Object.entries((schema.properties ?? {}) as Record<string, Json>)) note(name, key, property);
    look(schema);
  };
  const note = (name: string, key: string, property: Json): void => {
    // Only a reference can be beside null.
    const [first = property] = (property.anyOf ?? []) as Json[];
    const schema = schemas[nameOf(first) ?? ''] ?? property;
    const sized = textCaseOf(property) ?? property;
    for (const keyword of ['maxLength', 'minItems', 'maxItems'])
      if (sized[keyword] !== undefined && schema === property) found.set(`${name}.${key} ${keyword}`, Number(sized[keyword]));
    if (/^AmountFrom/.test(String(schema.title))) found.set(`${name}.${key} minimum`, minimumOf(schema));
  };
  for (const verbs of Object.values(json.paths as Record<string, Record<string, Json>>))
    for (const { requestBody } of Object.values(verbs)) look(requestBody);
  return found;
}

/** The first case of a choice that client generators do not see: a text. */
function textCaseOf({ not }: Json): Json | undefined {
  return ((not as Json | undefined)?.not as { readonly anyOf: readonly Json[] } | undefined)?.anyOf[0];
}

function minimumOf({ anyOf }: Json): number {
  return Math.max(...(anyOf as { minimum?: number }[]).map(({ minimum = 0 }) => minimum));
}

function nameOf({ $ref }: Json): string | undefined {
  return typeof $ref === 'string' ? $ref.split('/').at(-1) : undefined;
}
