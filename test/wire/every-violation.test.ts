import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { DescMethodUnary, JsonValue } from '@bufbuild/protobuf';
import { ApiKeyService } from '../../gen/relayer/v1/api_key_service_pb.js';
import { NetworkService } from '../../gen/relayer/v1/network_service_pb.js';
import { NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { RelayerService } from '../../gen/relayer/v1/relayer_service_pb.js';
import { SignerService } from '../../gen/relayer/v1/signer_service_pb.js';
import { SigningService } from '../../gen/relayer/v1/signing_service_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { type AppRig, type Ed25519App, startAppRig, startEd25519App } from '../support/app-rig.js';
import { type RpcAsker, rpcAskers } from '../support/rpc-askers.js';

/*
 * Every violation of a body is reported at once: wrong types, unknown fields, bounds, and what only the network or the service's records can
 * tell. All are in `BadRequest`, with the paths as the caller wrote them; the sentence names the first three.
 */

interface Row {
  readonly what: string;
  /** The same request as REST and as RPC; a body that only one of them can express has only that one. */
  readonly rest?: { readonly verb: string; readonly path: string; readonly body?: object };
  readonly rpc?: { readonly method: DescMethodUnary; readonly message: JsonValue };
  /** The fields by their paths in REST. */
  readonly fields: readonly string[];
  /** By their paths in RPC; absent: the same. */
  readonly protoFields?: readonly string[];
  readonly reason?: string;
  /** What is said of each field; absent: anything. */
  readonly descriptions?: readonly string[];
}

const wrongSum = '0x70997970C51812dc3A010C7d01b50e0d17dc79c8';
const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const past = '2020-01-01T00:00:00Z';
const { sendTransaction, replaceTransaction } = TransactionService.method;
const nobody = '0190a5c8-0000-7000-8000-000000000000';
const sends = '/api/v1/relayers/r1/transactions';
const post = (path: string, body: object) => ({ verb: 'POST', path, body });

const evmRows: readonly Row[] = [
  {
    what: 'an EVM transaction: what the network refuses',
    rest: post(sends, { to: wrongSum, value: 1, gas_limit: 1, gas_price: 1, speed: 'fast', valid_until: past }),
    rpc: {
      method: sendTransaction,
      message: {
        relayer_id: 'r1',
        evm: { to: wrongSum, value: '1', gas_limit: 1, gas_price: '1', speed: 'SPEED_FAST', valid_until: past },
      },
    },
    fields: ['to', 'gas_limit', 'gas_price', 'valid_until'],
    protoFields: ['evm.to', 'evm.gas_limit', 'evm.gas_price', 'evm.valid_until'],
  },
  {
    what: 'an EVM replacement, before the transaction is looked up',
    rest: { verb: 'PUT', path: `${sends}/${nobody}`, body: { to: wrongSum, gas_limit: 1, valid_until: past } },
    rpc: {
      method: replaceTransaction,
      message: { relayer_id: 'r1', transaction_id: nobody, evm: { to: wrongSum, gas_limit: 1, valid_until: past } },
    },
    fields: ['to', 'value', 'gas_limit', 'valid_until'],
    protoFields: ['evm.to', 'evm.value', 'evm.gas_limit', 'evm.valid_until'],
  },
  {
    what: 'an EVM transaction: bounds, and what the network refuses',
    rest: post(sends, { to: wrongSum, value: '-1', gas_price: '1e3', gas_limit: 1, valid_until: past }),
    rpc: {
      method: sendTransaction,
      message: { relayer_id: 'r1', evm: { to: wrongSum, value: '-1', gas_price: '1e3', gas_limit: 1, valid_until: past } },
    },
    fields: ['value', 'gas_price', 'to', 'gas_limit', 'valid_until'],
    protoFields: ['evm.value', 'evm.gas_price', 'evm.to', 'evm.gas_limit', 'evm.valid_until'],
  },
  {
    what: 'an EVM transaction: an unknown field, a wrong type, and what the network refuses',
    rest: post(sends, { value: true, vallue: 1, to, gas_limit: 1, max_fee_per_gas: 1 }),
    fields: ['vallue', 'value', 'gas_limit', 'max_priority_fee_per_gas'],
    reason: 'FIELD_UNKNOWN',
  },
  {
    what: 'an EVM transaction: a field that is refused is not called missing, nor does its absence break another',
    rest: post(sends, { value: 1, data: 5, gas_limit: 21_000 }),
    fields: ['data'],
  },
  {
    what: 'an EVM transaction: a receiver of a wrong type does not make a contract of the transaction',
    rest: post(sends, { to: 5, value: 1, gas_limit: 21_000 }),
    fields: ['to'],
  },
  {
    what: "an EVM transaction: what the relayer's policies refuse",
    rest: post('/api/v1/relayers/strict/transactions', { to, value: 1, gas_price: 2, valid_until: past }),
    rpc: { method: sendTransaction, message: { relayer_id: 'strict', evm: { to, value: '1', gas_price: '2', valid_until: past } } },
    fields: ['to', 'gas_limit', 'gas_price', 'valid_until'],
    protoFields: ['evm.to', 'evm.gas_limit', 'evm.gas_price', 'evm.valid_until'],
    reason: 'RECEIVER_NOT_ALLOWED',
  },
  {
    what: 'hashes to sign',
    rest: post('/api/v1/relayers/r1/sign-typed-data', { domain_separator: '0x1', hash_struct_message: 'x' }),
    rpc: {
      method: SigningService.method.signTypedData,
      message: { relayer_id: 'r1', domain_separator: '0x1', hash_struct_message: 'x' },
    },
    fields: ['domain_separator', 'hash_struct_message'],
  },
  {
    what: 'no hashes to sign',
    rest: post('/api/v1/relayers/r1/sign-typed-data', {}),
    rpc: { method: SigningService.method.signTypedData, message: { relayer_id: 'r1' } },
    fields: ['domain_separator', 'hash_struct_message'],
    descriptions: ['is required', 'is required'],
  },
  {
    what: 'hashes to sign, of which one is missing',
    rest: post('/api/v1/relayers/r1/sign-typed-data', { domain_separator: 'x', hash_struct_message: null }),
    rpc: { method: SigningService.method.signTypedData, message: { relayer_id: 'r1', domain_separator: 'x' } },
    fields: ['domain_separator', 'hash_struct_message'],
  },
  {
    what: 'hashes to sign: an unknown field, a wrong type, and one that is missing',
    rest: post('/api/v1/relayers/r1/sign-typed-data', { domain_separater: 'x', domain_separator: 5 }),
    fields: ['domain_separater', 'domain_separator', 'hash_struct_message'],
    reason: 'FIELD_UNKNOWN',
  },
  {
    what: 'no message to sign',
    rest: post('/api/v1/relayers/r1/sign', {}),
    rpc: { method: SigningService.method.signData, message: { relayer_id: 'r1' } },
    fields: ['message'],
    descriptions: ['is required without message_hex'],
  },
  {
    what: 'a message to sign under a wrong name',
    rest: post('/api/v1/relayers/r1/sign', { massage: 'm' }),
    fields: ['massage', 'message'],
    reason: 'FIELD_UNKNOWN',
  },
  {
    what: 'a notification: its id, and what only its checks can tell',
    rest: post('/api/v1/notifications', { id: 'a.b', url: 'https://me@example.com', signing_key: 'k'.repeat(9_000) }),
    rpc: {
      method: NotificationService.method.createNotification,
      message: { id: 'a.b', url: 'https://me@example.com', signing_key: 'k'.repeat(9_000) },
    },
    fields: ['id', 'url', 'signing_key'],
  },
  {
    what: 'a change of a notification that does not exist',
    rest: { verb: 'PATCH', path: '/api/v1/notifications/nobody', body: { url: 'https://me@example.com', signing_key: 'k'.repeat(9_000) } },
    rpc: {
      method: NotificationService.method.updateNotification,
      message: { notification_id: 'nobody', url: 'https://me@example.com', signing_key: 'k'.repeat(9_000) },
    },
    fields: ['url', 'signing_key'],
  },
  {
    what: 'a relayer: what its network, its signer, its notification and its policies refuse',
    rest: post('/api/v1/relayers', {
      name: 'n',
      network: 'nowhere',
      network_type: 'evm',
      signer_id: 'nobody',
      notification_id: 'nobody',
      policies: { gas_price_cap: 0 },
      custom_rpc_urls: ['https://a/***'],
    }),
    rpc: {
      method: RelayerService.method.createRelayer,
      message: {
        name: 'n',
        network: 'nowhere',
        network_type: 'NETWORK_TYPE_EVM',
        signer_id: 'nobody',
        notification_id: 'nobody',
        evm: { gas_price_cap: '0' },
        custom_rpc_urls: [{ url: 'https://a/***' }],
      },
    },
    fields: ['custom_rpc_urls[0].url', 'policies.gas_price_cap', 'network', 'signer_id', 'notification_id'],
    protoFields: ['custom_rpc_urls[0].url', 'evm.gas_price_cap', 'network', 'signer_id', 'notification_id'],
  },
  {
    what: 'a relayer: a wrong type, and what its records refuse',
    rest: post('/api/v1/relayers', { id: 'a b', name: 5, network: 'nowhere', network_type: 'evm', signer_id: 'nobody' }),
    fields: ['id', 'name', 'network', 'signer_id'],
  },
  {
    what: 'a change of a relayer',
    rest: {
      verb: 'PATCH',
      path: '/api/v1/relayers/r1',
      body: { name: '', notification_id: 'nobody', policies: { gas_price_cap: 0, max_in_flight: 0 } },
    },
    rpc: {
      method: RelayerService.method.updateRelayer,
      message: { relayer_id: 'r1', name: '', notification_id: 'nobody', evm: { gas_price_cap: '0', max_in_flight: 0 } },
    },
    fields: ['name', 'policies.max_in_flight', 'policies.gas_price_cap', 'notification_id'],
    protoFields: ['name', 'evm.max_in_flight', 'evm.gas_price_cap', 'notification_id'],
  },
  {
    what: 'a key: its scopes, its relayers and its end',
    rest: post('/api/v1/api-keys', { name: 'k', scopes: ['admin'], relayer_ids: ['r1', 'a b', 'c d'], expires_at: past }),
    rpc: {
      method: ApiKeyService.method.createApiKey,
      message: { name: 'k', scopes: ['API_KEY_SCOPE_ADMIN'], relayer_ids: ['r1', 'a b', 'c d'], expires_at: past },
    },
    fields: ['relayer_ids[1]', 'relayer_ids[2]', 'scopes', 'expires_at'],
  },
  {
    what: 'nodes of a network',
    rest: {
      verb: 'PATCH',
      path: '/api/v1/networks/evm:local',
      body: { rpc_urls: ['https://a/***', 'ftp://b', { url: 'https://c', weight: 101 }] },
    },
    rpc: {
      method: NetworkService.method.updateNetwork,
      message: { network_id: 'evm:local', rpc_urls: [{ url: 'https://a/***' }, { url: 'ftp://b' }, { url: 'https://c', weight: 101 }] },
    },
    fields: ['rpc_urls[1].url', 'rpc_urls[2].weight', 'rpc_urls[0].url'],
  },
  {
    what: 'a relayer without a network type: what does not depend on it',
    rest: post('/api/v1/relayers', { id: 'a b', name: 'n', network: 'local', signer_id: 'nobody', notification_id: 'nobody' }),
    rpc: {
      method: RelayerService.method.createRelayer,
      message: { name: 'n', network: 'local', signer_id: 'nobody', notification_id: 'nobody', custom_rpc_urls: [{ url: 'https://a/***' }] },
    },
    fields: ['network_type', 'id', 'signer_id', 'notification_id'],
    protoFields: ['network_type', 'custom_rpc_urls[0].url', 'signer_id', 'notification_id'],
  },
  {
    what: 'a relayer with the policies of another network: these, and what else is wrong',
    rpc: {
      method: RelayerService.method.createRelayer,
      message: {
        name: 'n',
        network: 'nowhere',
        network_type: 'NETWORK_TYPE_STELLAR',
        signer_id: 'nobody',
        evm: { gas_price_cap: '0' },
      },
    },
    fields: ['policies', 'network', 'signer_id'],
    protoFields: ['evm', 'network', 'signer_id'],
  },
  {
    what: 'query parameters: wrong ones, an unknown one, and one that is not encoded',
    rest: { verb: 'GET', path: `${sends}?page=0&per_page=x&status=lost&pag=1&a=%zz` },
    fields: ['pag', 'page', 'per_page', 'status', 'the query'],
    reason: 'FIELD_UNKNOWN',
  },
  {
    what: 'a list: pages that cannot be, and those that are asked for in two ways',
    rpc: {
      method: TransactionService.method.listTransactions,
      message: { relayer_id: 'r1', page: 1, per_page: 1, page_size: 0, page_token: 'x' },
    },
    fields: ['page_size', 'page_token'],
  },
  {
    what: 'a signer: its id, and what only its checks can tell',
    rest: post('/api/v1/signers', { id: 'a b', type: 'local', config: { key: 'ab'.repeat(32), passphrase: 'p' } }),
    rpc: {
      method: SignerService.method.createSigner,
      message: { id: 'a b', local: { key: Buffer.alloc(32, 1).toString('base64'), passphrase: 'p' } },
    },
    fields: ['id', 'config.passphrase'],
    protoFields: ['id', 'local.passphrase'],
  },
];

const payment = { destination: `G${'A'.repeat(55)}`, amount: 1 };
const restPayment = { type: 'payment', ...payment, asset: { type: 'native' } };

const stellarRows: readonly Row[] = [
  {
    what: 'a Stellar transaction: what the network refuses in several operations and beside them',
    rest: post(sends, {
      network: 'elsewhere',
      operations: [restPayment, { ...restPayment, asset: { type: 'credit4', code: 'LONGER', issuer: payment.destination } }],
      memo: { type: 'text', value: 'm'.repeat(29) },
      valid_until: past,
      max_fee: 6_000_000,
    }),
    rpc: {
      method: sendTransaction,
      message: {
        relayer_id: 'r1',
        stellar: {
          network: 'elsewhere',
          operations: [
            { payment: { ...payment, asset: { native: {} } } },
            { payment: { ...payment, asset: { credit4: { code: 'LONGER', issuer: payment.destination } } } },
          ],
          memo: { text: 'm'.repeat(29) },
          valid_until: past,
          max_fee: 6_000_000,
        },
      },
    },
    fields: [
      'network',
      'valid_until',
      'max_fee',
      'operations[0].destination',
      'operations[1].destination',
      'operations[1].asset.code',
      'operations[1].asset.issuer',
      'memo.value',
    ],
    protoFields: [
      'stellar.network',
      'stellar.valid_until',
      'stellar.max_fee',
      'stellar.operations[0].payment.destination',
      'stellar.operations[1].payment.destination',
      'stellar.operations[1].payment.asset.credit4.code',
      'stellar.operations[1].payment.asset.credit4.issuer',
      'stellar.memo.text',
    ],
  },
  {
    what: 'a Stellar contract call: its arguments, however deep, and its authorization',
    rest: post(sends, {
      network: 'local',
      operations: [
        {
          type: 'invoke_contract',
          contract_address: `C${'A'.repeat(55)}`,
          function_name: 'f',
          args: [{ vec: [{ u128: '-1' }, { address: payment.destination }] }, { u256: 'x' }, { map: [{ key: { u32: 1 } }] }],
          auth: { type: 'xdr', entries: ['AAAA', 'BBBB'] },
        },
      ],
    }),
    fields: [
      'operations[0].args[1].u256',
      'operations[0].contract_address',
      'operations[0].args[0].vec[0].u128',
      'operations[0].args[0].vec[1].address',
      'operations[0].args[2].map[0].val',
      'operations[0].auth.entries[0]',
      'operations[0].auth.entries[1]',
    ],
  },
  {
    what: 'a Stellar transaction: wrong types, and what the network refuses',
    rest: post(sends, {
      network: 5,
      operations: [{ ...restPayment, amount: 'x' }],
      memo: { type: 'text', value: 'm'.repeat(29) },
      fee_bump: true,
    }),
    fields: ['network', 'operations[0].amount', 'fee_bump', 'operations[0].destination', 'memo.value'],
  },
  {
    what: 'a Stellar envelope of a wrong type: operations are not called missing',
    rest: post(sends, { network: 'local', transaction_xdr: 5, valid_until: past }),
    fields: ['transaction_xdr', 'valid_until'],
  },
  {
    what: 'a Stellar transaction with neither operations nor an envelope: its memo and its account are judged',
    rest: post(sends, {
      network: 'local',
      memo: { type: 'text', value: 'm'.repeat(29) },
      source_account: payment.destination,
      valid_until: past,
    }),
    rpc: {
      method: sendTransaction,
      message: {
        relayer_id: 'r1',
        stellar: { network: 'local', memo: { text: 'm'.repeat(29) }, source_account: payment.destination, valid_until: past },
      },
    },
    fields: ['valid_until', 'operations', 'source_account', 'memo.value'],
    protoFields: ['stellar.valid_until', 'stellar.operations', 'stellar.source_account', 'stellar.memo.text'],
  },
  {
    what: 'a Stellar envelope of a wrong type: the memo is judged, because it is wrong in every transaction',
    rest: post(sends, { network: 'local', transaction_xdr: 5, memo: { type: 'text', value: 'm'.repeat(29) } }),
    fields: ['transaction_xdr', 'memo.value'],
  },
  {
    what: 'operations of a wrong type: nothing is called missing or out of place',
    rest: post(sends, { network: 'local', operations: 5, memo: { type: 'text', value: 'm' }, source_account: payment.destination }),
    fields: ['operations'],
  },
];

const signTransactionPath = '/api/v1/relayers/r1/sign-transaction';

const stellarSigningRows: readonly Row[] = [
  {
    what: 'no Stellar transaction to sign',
    rest: post(signTransactionPath, {}),
    rpc: { method: SigningService.method.signTransaction, message: { relayer_id: 'r1', stellar: {} } },
    fields: ['unsigned_xdr'],
    protoFields: ['stellar.unsigned_xdr'],
    descriptions: ['is required'],
  },
  {
    what: 'a Stellar transaction to sign under a wrong name',
    rest: post(signTransactionPath, { unsigned_xdrs: 'AAAA' }),
    fields: ['unsigned_xdrs', 'unsigned_xdr'],
    reason: 'FIELD_UNKNOWN',
  },
  {
    what: 'a Stellar transaction to sign that is none, beside an unknown field',
    rest: post(signTransactionPath, { unsigned_xdr: 'AAAA', more: 1 }),
    fields: ['more', 'unsigned_xdr'],
    reason: 'FIELD_UNKNOWN',
  },
];

const solanaSigningRows: readonly Row[] = [
  {
    what: 'no Solana transaction to sign',
    rest: post(signTransactionPath, {}),
    rpc: { method: SigningService.method.signTransaction, message: { relayer_id: 'r1', solana: {} } },
    fields: ['transaction'],
    protoFields: ['solana.transaction'],
    descriptions: ['is required'],
  },
  {
    what: 'a Solana transaction to sign that is none, beside an unknown field',
    rest: post(signTransactionPath, { transaction: 'AAAA', more: 1 }),
    fields: ['more', 'transaction'],
    reason: 'FIELD_UNKNOWN',
  },
];

const program = '11111111111111111111111111111111';
const instruction = { program_id: program, accounts: [], data: '' };

const solanaRows: readonly Row[] = [
  {
    what: 'a Solana transaction: what the network refuses in several instructions and beside them',
    rest: post(sends, {
      instructions: [
        { ...instruction, program_id: '' },
        {
          ...instruction,
          accounts: [{ pubkey: program, is_signer: true, is_writable: false }],
          data: Buffer.alloc(1_233).toString('base64'),
        },
      ],
      valid_until: past,
    }),
    rpc: {
      method: sendTransaction,
      message: {
        relayer_id: 'r1',
        solana: {
          instructions: [
            { ...instruction, program_id: '' },
            { ...instruction, accounts: [{ pubkey: program, is_signer: true }], data: Buffer.alloc(1_233).toString('base64') },
          ],
          valid_until: past,
        },
      },
    },
    fields: ['instructions[0].program_id', 'instructions[1].accounts[0].is_signer', 'instructions[1].data', 'valid_until'],
    protoFields: [
      'solana.instructions[0].program_id',
      'solana.instructions[1].accounts[0].is_signer',
      'solana.instructions[1].data',
      'solana.valid_until',
    ],
  },
  {
    what: 'instructions of a wrong type: the transaction is not called missing',
    rest: post(sends, { instructions: 5, valid_until: past }),
    fields: ['instructions', 'valid_until'],
  },
  {
    what: 'a Solana transaction of a wrong type: instructions are not called missing',
    rest: post(sends, { transaction: 5, valid_until: past }),
    fields: ['transaction', 'valid_until'],
  },
];

interface Served {
  readonly baseUrl: string;
  ask: AppRig['ask'];
}

async function check({ ask }: Served, askers: readonly RpcAsker[], row: Row): Promise<void> {
  const { rest, rpc, fields, protoFields = fields, reason = 'FIELD_INVALID', descriptions } = row;
  if (rest !== undefined) {
    const { status, headers, text } = await ask(rest.verb, rest.path, rest.body && { body: JSON.stringify(rest.body) });
    assert.equal(`${status} ${headers['x-error-reason']}`, `400 ${reason}`, text);
    assertNames(JSON.parse(text).error, fields);
    if (descriptions) assert.equal(JSON.parse(text).error, fields.map((field, index) => `${field} ${descriptions[index]}`).join('; '));
  }
  for (const asker of rpc === undefined ? [] : askers) {
    const answer = await asker.ask(rpc?.method as DescMethodUnary, rpc?.message as JsonValue);
    assert.ok(!answer.ok, `${asker.protocol} accepts it`);
    assert.equal(`${answer.code} ${answer.info?.reason}`, `InvalidArgument ${reason}`, answer.sentence);
    const fieldsSaid = answer.fields.map(({ field }) => field);
    assert.deepEqual(fieldsSaid.sort(), [...protoFields].sort(), asker.protocol);
    assertNames(answer.sentence, protoFields);
    if (descriptions)
      assert.deepEqual(
        answer.fields.map(({ description }) => description),
        descriptions,
      );
  }
}

/** A sentence names three fields at most, and says how many more there are. The order is that of the checks. */
function assertNames(sentence: string, fields: readonly string[]): void {
  const named = fields.filter((field) => `; ${sentence}`.includes(`; ${field} `));
  const more = /; and (\d+) more$/.exec(sentence)?.[1] ?? '0';
  assert.deepEqual([named.length, Number(more)], [Math.min(fields.length, 3), Math.max(fields.length - 3, 0)], sentence);
}

describe('every violation of a body is reported at once, over REST and every RPC protocol', () => {
  let rig: AppRig;
  let askers: readonly RpcAsker[];

  before(async () => {
    rig = await startAppRig();
    askers = rpcAskers(rig.baseUrl);
    const key = { id: 'key', type: 'local', config: { key: '17'.repeat(32) } };
    assert.equal((await rig.ask('POST', '/api/v1/signers', { body: JSON.stringify(key) })).status, 201);
    const policies = { whitelist_receivers: [`0x${'1'.repeat(40)}`], gas_price_cap: 1, gas_limit_estimation: false };
    const strict = { id: 'strict', name: 'strict', network: 'local', network_type: 'evm', signer_id: 'key', policies };
    const made = await rig.ask('POST', '/api/v1/relayers', { body: JSON.stringify(strict) });
    assert.equal(made.status, 201, made.text);
  });
  after(async () => {
    for (const asker of askers ?? []) asker.close();
    await rig?.stop();
  });

  for (const row of evmRows) it(`all at once: ${row.what}`, () => check(rig, askers, row));
});

for (const [network, rows] of [
  ['stellar', [...stellarRows, ...stellarSigningRows]],
  ['solana', [...solanaRows, ...solanaSigningRows]],
] as const) {
  describe(`every violation of a ${network} body is reported at once, over REST and every RPC protocol`, () => {
    let app: Ed25519App;
    let askers: readonly RpcAsker[];

    before(async () => {
      app = await startEd25519App(
        network === 'stellar' ? { network, networkFields: { passphrase: 'Violations' }, policies: { max_fee: 5_000_000 } } : { network },
      );
      askers = rpcAskers(app.baseUrl);
    });
    after(async () => {
      for (const asker of askers ?? []) asker.close();
      await app?.stop();
    });

    for (const row of rows) it(`all at once: ${row.what}`, () => check(app, askers, row));
  });
}
