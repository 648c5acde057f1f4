import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { JsonValue } from '@bufbuild/protobuf';
import {
  Account,
  Asset,
  BASE_FEE,
  Contract,
  FeeBumpTransaction,
  Keypair,
  Memo,
  Networks,
  Operation,
  StrKey,
  Transaction,
  TransactionBuilder,
  xdr,
} from '@stellar/stellar-sdk';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { type StellarNode, startStellar } from '../../src/sandbox/stellar/server.js';
import { type Ed25519App, type RestAnswer, startEd25519App } from '../support/app-rig.js';
import { pendingRecord } from '../support/pending-record.js';
import { type RpcAsker, rpcAskers } from '../support/rpc-askers.js';
import { change, v1Of } from '../support/stellar-xdr.js';
import { waitFor } from '../support/wait-for.js';

const passphrase = 'Standalone Network ; February 2017';
const sends = '/api/v1/relayers/r1/transactions';
const G = Keypair.random().publicKey();
const M = StrKey.encodeMed25519PublicKey(Buffer.concat([StrKey.decodeEd25519PublicKey(G), Buffer.alloc(8, 1)]));
const C = StrKey.encodeContract(Buffer.alloc(32, 7));
const wasm = Buffer.from('0061736d01000000', 'hex');
const hash = 'ab'.repeat(32);

let app: Ed25519App;
let askers: readonly RpcAsker[];
/** The relayer's own. */
let own: Keypair;

before(async () => {
  app = await startEd25519App({ network: 'stellar', networkFields: { passphrase }, policies: { max_fee: 5_000_000 } });
  askers = rpcAskers(app.baseUrl);
  own = Keypair.fromRawEd25519Seed(Buffer.from(app.home.privateKey, 'hex'));
});
after(async () => {
  for (const asker of askers ?? []) asker.close();
  await app?.stop();
});

/** Contract values whose proto name differs from REST's. */
const protoNames: Readonly<Record<string, string>> = {
  bool: 'bool_value',
  bytes: 'bytes_value',
  string: 'string_value',
  map: 'map_value',
};

/** A part of a REST body as protobuf JSON has it: tagged unions become fields. */
function protoOf(value: unknown): unknown {
  if (value === 'void') return { void_value: {} };
  if (Array.isArray(value)) return value.map(protoOf);
  if (typeof value !== 'object' || value === null) return value;
  const { type, from, ...rest } = value as Record<string, unknown>;
  const fields = Object.fromEntries(Object.entries(rest).map(([key, item]) => [protoNames[key] ?? key, itemOf(key, item)]));
  if (typeof type === 'string')
    return { [type === 'return' ? 'return_hash' : type]: 'value' in fields ? bytesOf(type, fields.value) : fields };
  return typeof from === 'string' ? { [from]: fields } : fields;
}

function itemOf(key: string, item: unknown): unknown {
  if (['hex', 'bytes', 'wasm_hash', 'salt'].includes(key)) return bytesOf(key, item);
  if (['u128', 'i128', 'u256', 'i256'].includes(key) && typeof item !== 'object') return { decimal: String(item) };
  if (key === 'valid_until' && /^[0-9]+$/.test(String(item))) return new Date(Number(item) * 1000).toISOString();
  if (key === 'vec') return { values: protoOf(item) };
  if (key === 'map') return { entries: protoOf(item) };
  return protoOf(item);
}

function bytesOf(key: string, item: unknown): unknown {
  return key === 'text' || key === 'id' ? item : Buffer.from(String(item), 'hex').toString('base64');
}

/** Returns the common answer of REST and each RPC protocol to a body: `400 FIELD_INVALID field: sentence`. */
async function refusalOf(body: Record<string, unknown>): Promise<string> {
  const answer = await app.ask('POST', sends, { body: JSON.stringify(body) });
  const { error, message } = JSON.parse(answer.text);
  assert.equal(message, answer.status === 501 ? 'Not Implemented' : 'Bad Request', answer.text);
  const told = `${answer.headers['x-error-reason']}: ${error}`;
  for (const asker of askers) {
    const said = await asker.ask(TransactionService.method.sendTransaction, { relayer_id: 'r1', stellar: protoOf(body) as JsonValue });
    assert.ok(!said.ok, `${asker.protocol} takes it`);
    assert.equal(said.code, answer.status === 501 ? 'Unimplemented' : 'InvalidArgument');
    // Over RPC a violation has the proto path of its field.
    const [violation] = said.fields;
    if (violation === undefined) assert.equal(`${said.info?.reason}: ${said.sentence}`, told, asker.protocol);
    else {
      assert.equal(`${violation.field} ${violation.description}`, said.sentence);
      assert.match(violation.field, /^stellar\.(?!.*\b(?:type|from)$)/);
      assert.ok(told.startsWith(`${said.info?.reason}: `) && told.endsWith(` ${violation.description}`), said.sentence);
    }
  }
  return told;
}

const pay = { type: 'payment', destination: G, amount: 1, asset: { type: 'native' } };
const invoke = { type: 'invoke_contract', contract_address: C, function_name: 'f', args: [] };
const create = { type: 'create_contract', source: { from: 'address', address: G }, wasm_hash: hash };
const upload = { type: 'upload_wasm', wasm: { base64: wasm.toString('base64') } };
const withPayment = (changes: object) => ({ network: 'local', operations: [{ ...pay, ...changes }] });
const withInvoke = (changes: object) => ({ network: 'local', operations: [{ ...invoke, ...changes }] });
const withArg = (arg: unknown) => withInvoke({ args: ['void', arg] });
const withCreate = (changes: object) => ({ network: 'local', operations: [{ ...create, ...changes }] });
const withUpload = (changes: object) => ({ network: 'local', operations: [{ ...upload, ...changes }] });

describe('refused Stellar requests, over REST and every RPC protocol', () => {
  const plain = { network: 'local', operations: [pay] };
  const deep = (levels: number): unknown => (levels === 0 ? 'void' : { vec: [deep(levels - 1)] });
  const symbols = 'must be at most 32 characters from a-z, A-Z, 0-9 and _';
  const rows: readonly (readonly [what: string, body: Record<string, unknown>, told: string])[] = [
    ['another network', { ...plain, network: 'testnet' }, "network must be local, the relayer's network"],
    ['no content', { network: 'local' }, 'operations is required if transaction_xdr is absent'],
    ['no operation', { network: 'local', operations: [] }, 'operations is required if transaction_xdr is absent'],
    ['both contents', { ...plain, transaction_xdr: 'AAAA' }, 'transaction_xdr cannot be combined with operations'],
    ['no kind of operation', { network: 'local', operations: [{}] }, 'operations[0].type is required'],
    ['no kind of asset', withPayment({ asset: {} }), 'operations[0].asset.type is required'],
    ['no asset', withPayment({ asset: null }), 'operations[0].asset is required'],
    ['no kind of authorization', withInvoke({ auth: {} }), 'operations[0].auth.type is required'],
    ['no kind of source', withCreate({ source: {} }), 'operations[0].source.from is required'],
    ['no kind of memo', { ...plain, memo: {} }, 'memo.type is required'],
    ['no kind of value', withArg({}), 'operations[0].args[1] must name the kind of its value, such as u32'],
    ['no key of a map', withArg({ map: [{ val: { u32: 1 } }] }), 'operations[0].args[1].map[0].key is required'],
    ['101 operations', { network: 'local', operations: Array(101).fill(pay) }, 'operations has 101 items; the maximum is 100'],
    ['no receiver', withPayment({ destination: '' }), 'operations[0].destination must be the address of an account (G... or M...)'],
    [
      'a contract as receiver',
      withPayment({ destination: C }),
      'operations[0].destination must be the address of an account (G... or M...)',
    ],
    [
      'a wrong checksum',
      withPayment({ destination: `${G.slice(0, -1)}${G.endsWith('A') ? 'B' : 'A'}` }),
      'operations[0].destination must be the address of an account (G... or M...)',
    ],
    ['amount 0', withPayment({ amount: 0 }), 'operations[0].amount must be an integer from 1 to 9223372036854775807'],
    ['a negative amount', withPayment({ amount: -5 }), 'operations[0].amount must be an integer from 1 to 9223372036854775807'],
    [
      'a long code',
      withPayment({ asset: { type: 'credit4', code: 'ABCDE', issuer: G } }),
      'operations[0].asset.code must be 1 to 4 characters from A-Z, a-z and 0-9',
    ],
    [
      'a short code',
      withPayment({ asset: { type: 'credit12', code: 'ABCD', issuer: G } }),
      'operations[0].asset.code must be 5 to 12 characters from A-Z, a-z and 0-9',
    ],
    [
      'a code of other characters',
      withPayment({ asset: { type: 'credit4', code: 'A-C', issuer: G } }),
      'operations[0].asset.code must be 1 to 4 characters from A-Z, a-z and 0-9',
    ],
    [
      'a muxed issuer',
      withPayment({ asset: { type: 'credit4', code: 'ABC', issuer: M } }),
      'operations[0].asset.issuer must be the address of an account (G...)',
    ],
    [
      'an account as contract',
      withInvoke({ contract_address: G }),
      'operations[0].contract_address must be the address of a contract (C...)',
    ],
    ['no function', withInvoke({ function_name: '' }), 'operations[0].function_name must be 1 to 32 characters from a-z, A-Z, 0-9 and _'],
    [
      'a long function',
      withInvoke({ function_name: 'x'.repeat(33) }),
      'operations[0].function_name must be 1 to 32 characters from a-z, A-Z, 0-9 and _',
    ],
    ['a long symbol', withArg({ symbol: 'x'.repeat(33) }), `operations[0].args[1].symbol ${symbols}`],
    ['a symbol of other characters', withArg({ symbol: 'a b' }), `operations[0].args[1].symbol ${symbols}`],
    [
      'no address',
      withArg({ address: 'me' }),
      'operations[0].args[1].address must be the address of an account (G..., M...) or of a contract (C...)',
    ],
    [
      'u128 beyond its range',
      withArg({ u128: (2n ** 128n).toString() }),
      'operations[0].args[1].u128 must be an integer from 0 to 2^128-1',
    ],
    ['a negative u128', withArg({ u128: '-1' }), 'operations[0].args[1].u128 must be an integer from 0 to 2^128-1'],
    [
      'i128 beyond its range',
      withArg({ i128: (-(2n ** 127n) - 1n).toString() }),
      'operations[0].args[1].i128 must be an integer from -2^127 to 2^127-1',
    ],
    [
      'u256 beyond its range',
      withArg({ u256: (2n ** 256n).toString() }),
      'operations[0].args[1].u256 must be an integer from 0 to 2^256-1',
    ],
    [
      'i256 beyond its range',
      withArg({ i256: (2n ** 255n).toString() }),
      'operations[0].args[1].i256 must be an integer from -2^255 to 2^255-1',
    ],
    ['a wide integer of nothing', withArg({ u256: {} }), 'operations[0].args[1].u256 must have decimal digits or 64-bit parts'],
    ['a wide integer twice', withArg({ i128: { decimal: '1', lo: 1 } }), 'operations[0].args[1].i128 must have decimal or parts, not both'],
    ['words for a wide integer', withArg({ u128: { decimal: 'ten' } }), 'operations[0].args[1].u128.decimal must be an integer'],
    ['a bad item of a list', withArg({ vec: ['void', { symbol: '-' }] }), `operations[0].args[1].vec[1].symbol ${symbols}`],
    [
      'a bad value of a map',
      withArg({ map: [{ key: { u32: 1 }, val: { symbol: '-' } }] }),
      `operations[0].args[1].map[0].val.symbol ${symbols}`,
    ],
    [
      'a key twice',
      withArg({
        map: [
          { key: { i128: '5' }, val: 'void' },
          { key: { u32: 1 }, val: 'void' },
          { key: { i128: { hi: 0, lo: 5 } }, val: 'void' },
        ],
      }),
      'operations[0].args[1].map[2].key is a duplicate key in the map',
    ],
    ['no value of a map', withArg({ map: [{ key: { u32: 1 } }] }), 'operations[0].args[1].map[0].val is required'],
    ['no source of a contract', withCreate({ source: null }), 'operations[0].source is required'],
    [
      'a contract as account',
      withCreate({ source: { from: 'address', address: C } }),
      'operations[0].source.address must be the address of an account (G...)',
    ],
    [
      'an account as factory',
      withCreate({ source: { from: 'contract', contract: G } }),
      'operations[0].source.contract must be the address of a contract (C...)',
    ],
    [
      'a short hash',
      withCreate({ wasm_hash: 'abcd' }),
      'operations[0].wasm_hash must be 32 bytes: 64 hex digits or an array of 32 integers',
    ],
    ['a short salt', withCreate({ salt: 'abcd' }), 'operations[0].salt must be 32 bytes: 64 hex digits or an array of 32 integers'],
    [
      'a bad argument of a constructor',
      withCreate({ constructor_args: [{ address: '' }] }),
      'operations[0].constructor_args[0].address must be the address of an account (G..., M...) or of a contract (C...)',
    ],
    ['no code', withUpload({ wasm: {} }), 'operations[0].wasm is required: {"hex":...} or {"base64":...}'],
    [
      'what is no code',
      withUpload({ wasm: { hex: '00' } }),
      'operations[0].wasm.hex must be WebAssembly, which starts with the bytes 00 61 73 6d',
    ],
    [
      'too much code',
      withUpload({ wasm: { base64: Buffer.concat([wasm, Buffer.alloc(128 * 1024)]).toString('base64') } }),
      'operations[0].wasm.base64 is 131080 bytes; networks allow at most 131072',
    ],
    ['no entry', withInvoke({ auth: { type: 'xdr', entries: [] } }), 'operations[0].auth.entries must have at least one entry'],
    [
      'an entry that is none',
      withInvoke({ auth: { type: 'xdr', entries: ['AAAA'] } }),
      'operations[0].auth.entries[0] must be base64 XDR of a SorobanAuthorizationEntry',
    ],
    [
      'two contract calls',
      { network: 'local', operations: [invoke, invoke] },
      'operations must contain only the contract operation; send other operations separately',
    ],
    [
      'a contract call beside a payment',
      { network: 'local', operations: [pay, upload] },
      'operations must contain only the contract operation; send other operations separately',
    ],
    [
      'a contract call with a memo',
      { ...withInvoke({}), memo: { type: 'text', value: 'x' } },
      'memo must be none for a contract operation',
    ],
    [
      'a long text',
      { ...plain, memo: { type: 'text', value: `${'x'.repeat(25)}€€` } },
      'memo.value is 31 bytes in UTF-8; the maximum is 28',
    ],
    [
      'a short memo hash',
      { ...plain, memo: { type: 'hash', value: 'abcd' } },
      'memo.value must be 32 bytes: 64 hex digits or an array of 32 integers',
    ],
    [
      'a long memo return',
      { ...plain, memo: { type: 'return', value: `${hash}ab` } },
      'memo.value must be 32 bytes: 64 hex digits or an array of 32 integers',
    ],
    ['a past time', { ...plain, valid_until: '2020-01-01T00:00:00Z' }, 'valid_until must not be in the past'],
    ['past seconds', { ...plain, valid_until: '1600000000' }, 'valid_until must not be in the past'],
    ['max_fee 0', { ...plain, max_fee: 0 }, 'max_fee must be an integer from 1 to 9223372036854775807'],
    [
      'max_fee below what a ledger takes',
      { network: 'local', operations: [pay, pay], max_fee: 199 },
      'max_fee is 199 stroops; this transaction needs at least 200',
    ],
    [
      'max_fee above the policy',
      { ...plain, max_fee: 5_000_001 },
      "max_fee is 5000001 stroops; the relayer's policy max_fee allows at most 5000000",
    ],
    [
      'a fee bump of operations',
      { ...plain, fee_bump: true },
      'fee_bump applies only to a signed transaction_xdr; remove it to send operations',
    ],
    ['no XDR', { network: 'local', transaction_xdr: '' }, 'transaction_xdr must be base64 XDR of a TransactionEnvelope'],
    ['what is no XDR', { network: 'local', transaction_xdr: 'AAAA' }, 'transaction_xdr must be base64 XDR of a TransactionEnvelope'],
    [
      'too much XDR',
      { network: 'local', transaction_xdr: 'AAAA'.repeat(90_000) },
      'transaction_xdr must be at most 262144 bytes; networks accept no more',
    ],
    [
      'more authorization entries than a transaction may have, which are not read one by one',
      {
        network: 'local',
        operations: [{ ...invoke, auth: { type: 'xdr', entries: Array(2).fill('AAAA'.repeat(30_000)) } }],
      },
      'operations has 180000 bytes of authorization entries; the maximum is 131072',
    ],
  ];
  for (const [what, body, told] of rows)
    it(`Stellar request, refused: ${what}`, async () => assert.equal(await refusalOf(body), `FIELD_INVALID: ${told}`));

  // RPC's memo none is an empty message.
  for (const [what, value] of [
    ['a text', 'x'],
    ['an empty object', {}],
  ] as const) {
    it(`Stellar request: the value of a memo none is refused over REST, ${what}`, async () => {
      const { status, text } = await app.ask('POST', sends, { body: JSON.stringify({ ...plain, memo: { type: 'none', value } }) });
      assert.equal(status, 400);
      assert.equal(JSON.parse(text).error, 'memo.value must be absent or null');
    });
  }

  it('Stellar request: a signed_auth_entry of null is ignored, and any other is refused with the reason', async () => {
    const send = async (entry: unknown) => {
      const { status, text } = await app.ask('POST', sends, { body: JSON.stringify({ ...plain, signed_auth_entry: entry }) });
      return status === 200 ? 200 : JSON.parse(text).error;
    };
    assert.equal(await send(null), 200);
    assert.equal(
      await send('AAAA'),
      'signed_auth_entry must be null: fees that users pay in tokens are not supported; the relayer pays the fee',
    );
    assert.equal(await send(5), 'signed_auth_entry must be a string');
  });

  it('Stellar request: words for a time are refused', async () => {
    const { status, text } = await app.ask('POST', sends, { body: JSON.stringify({ ...plain, valid_until: 'tomorrow' }) });
    assert.equal(status, 400);
    assert.equal(JSON.parse(text).error, 'valid_until must be an RFC 3339 time, such as 2030-01-31T12:00:00Z');
  });

  it('Stellar request: an absent network is refused', async () => {
    assert.equal(await refusalOf({ operations: [pay] }), 'FIELD_INVALID: network is required');
  });

  it('Stellar request: authorization by addresses is not implemented', async () => {
    const told = await refusalOf(withInvoke({ auth: { type: 'addresses', signers: [G] } }));
    assert.equal(
      told,
      'NOT_IMPLEMENTED: operations[0].auth of type addresses is not supported; sign the entries and send them with type xdr',
    );
  });

  it('Stellar request: another source account is refused', async () => {
    const told = `source_account must be ${own.publicKey()}, the relayer's account, or a muxed address of it`;
    for (const source of [G, M]) assert.equal(await refusalOf({ ...plain, source_account: source }), `FIELD_INVALID: ${told}`);
    for (const source of [C, 'me']) {
      const refusal = await refusalOf({ ...plain, source_account: source });
      assert.equal(refusal, 'FIELD_INVALID: source_account must be the address of an account (G... or M...)');
    }
  });

  it('Stellar request: a muxed source account of a contract call is refused', async () => {
    const muxed = StrKey.encodeMed25519PublicKey(Buffer.concat([own.rawPublicKey(), Buffer.alloc(8, 1)]));
    const told = await refusalOf({ ...withInvoke({}), source_account: muxed });
    assert.equal(told, 'FIELD_INVALID: source_account must not be muxed for a contract operation');
  });

  it('Stellar request: a value that is nested too deep is refused', async () => {
    // REST ends such bodies by the depth of their JSON.
    for (const asker of askers.filter(({ protocol }) => protocol !== 'gRPC')) {
      const said = await asker.ask(TransactionService.method.sendTransaction, {
        relayer_id: 'r1',
        stellar: protoOf(withArg(deep(32))) as JsonValue,
      });
      assert.ok(!said.ok);
      assert.equal(
        said.sentence,
        `stellar.operations[0].invoke_contract.args[1]${'.vec.values[0]'.repeat(32)} must not be nested deeper than 32 levels`,
      );
    }
  });
});

/** A transaction of `signer`'s account; not signed. */
function built(
  account: Keypair,
  operations: readonly xdr.Operation[],
  change: (builder: TransactionBuilder) => TransactionBuilder = (one) => one.setTimeout(0),
): Transaction {
  const builder = new TransactionBuilder(new Account(account.publicKey(), '41'), { fee: BASE_FEE, networkPassphrase: passphrase });
  for (const operation of operations) builder.addOperation(operation);
  return change(builder).build();
}

const paying = (source?: string): xdr.Operation =>
  Operation.payment({ destination: G, asset: Asset.native(), amount: '1', ...(source === undefined ? {} : { source }) });
const user = Keypair.random();

function signed(transaction: Transaction, by: Keypair): string {
  transaction.sign(by);
  return transaction.toXdr();
}

const wronglySigned = `transaction_xdr has a signature of ${user.publicKey()} that is not valid on this network; sign it again, with this network's passphrase`;

/** Signs as for the public network. `isMuxed`: its source account becomes a muxed address of the same account. */
function signedElsewhere(transaction: Transaction, { isMuxed = false } = {}): string {
  const envelope = transaction.toEnvelope();
  if (isMuxed) {
    const ed25519 = user.rawPublicKey();
    const muxed = new xdr.MuxedAccountMed25519({ id: 7n, ed25519 });
    change(v1Of(envelope).tx, { sourceAccount: xdr.MuxedAccount.keyTypeMuxedEd25519(muxed) });
  }
  const elsewhere = new Transaction(envelope, Networks.PUBLIC);
  elsewhere.sign(user);
  return elsewhere.toXdr();
}

function withFee(text: string, fee: number): string {
  const envelope = xdr.TransactionEnvelope.fromXdr(text, 'base64');
  change(v1Of(envelope).tx, { fee });
  return envelope.toXdr('base64');
}

describe('refused Stellar envelopes', () => {
  const past = Math.floor(Date.now() / 1000) - 10;
  const rows: readonly (readonly [what: string, body: () => Record<string, unknown>, told: () => string])[] = [
    [
      "another account's",
      () => ({ transaction_xdr: built(user, [paying()]).toXdr() }),
      () => `transaction_xdr must have ${own.publicKey()}, the relayer's account, as its source account`,
    ],
    [
      'signed',
      () => ({ transaction_xdr: signed(built(own, [paying()]), own) }),
      () => 'transaction_xdr must not be signed, unless fee_bump is true and another account signed it',
    ],
    [
      'with bytes behind it',
      () => ({ transaction_xdr: Buffer.concat([built(own, [paying()]).toEnvelope().toXdr(), Buffer.alloc(3)]).toString('base64') }),
      () => 'transaction_xdr must be base64 XDR of a TransactionEnvelope',
    ],
    [
      'with an operation of another account',
      () => ({ transaction_xdr: built(own, [paying(), paying(G)]).toXdr() }),
      () =>
        `transaction_xdr has an operation 2 of ${G}, which is neither ${own.publicKey()}, the relayer's account, nor in its operation_source_accounts`,
    ],
    [
      'with conditions on its sequence',
      () => ({ transaction_xdr: built(own, [paying()], (one) => one.setTimeout(0).setMinAccountSequence('1')).toXdr() }),
      () => 'transaction_xdr must have no preconditions other than time bounds; the relayer chooses its sequence number',
    ],
    [
      'with conditions on ledgers',
      () => ({ transaction_xdr: built(own, [paying()], (one) => one.setTimeout(0).setLedgerbounds(1, 2)).toXdr() }),
      () => 'transaction_xdr must have no preconditions other than time bounds; the relayer chooses its sequence number',
    ],
    [
      'of the past',
      () => ({ transaction_xdr: built(own, [paying()], (one) => one.setTimebounds(0, past)).toXdr() }),
      () => 'transaction_xdr has time bounds that have passed; build it with a later maximum time',
    ],
    [
      'without operations',
      () => ({ transaction_xdr: withoutOperations(built(own, [paying()])) }),
      () => 'transaction_xdr has 0 operations; must have 1 to 100',
    ],
    [
      'a contract call beside a payment',
      () => ({ transaction_xdr: built(own, [paying(), new Contract(C).call('f')]).toXdr() }),
      () => 'transaction_xdr must contain only the contract operation; send other operations separately',
    ],
    [
      'a contract call with a memo',
      () => ({ transaction_xdr: built(own, [new Contract(C).call('f')], (one) => one.setTimeout(0).addMemo(Memo.text('x'))).toXdr() }),
      () => 'transaction_xdr must have no memo for a contract operation',
    ],
    [
      'with a memo beside it',
      () => ({ transaction_xdr: built(own, [paying()]).toXdr(), memo: { type: 'text', value: 'x' } }),
      () => 'memo applies only to operations; transaction_xdr has its own',
    ],
    [
      'with a source beside it',
      () => ({ transaction_xdr: built(own, [paying()]).toXdr(), source_account: own.publicKey() }),
      () => 'source_account applies only to operations; transaction_xdr has its own',
    ],
    [
      'unsigned, for a fee bump',
      () => ({ transaction_xdr: built(user, [paying()]).toXdr(), fee_bump: true }),
      () => 'fee_bump applies only to a signed transaction_xdr',
    ],
    [
      "the relayer's own, for a fee bump",
      () => ({ transaction_xdr: signed(built(own, [paying()]), own), fee_bump: true }),
      () => "transaction_xdr must not be a transaction of the relayer's own account; send that one unsigned and without fee_bump",
    ],
    [
      'signed for another network, for a fee bump',
      () => ({ transaction_xdr: signedElsewhere(built(user, [paying()])), fee_bump: true }),
      () => wronglySigned,
    ],
    [
      'signed for another network by a muxed account, for a fee bump',
      () => ({ transaction_xdr: signedElsewhere(built(user, [paying()]), { isMuxed: true }), fee_bump: true }),
      () => wronglySigned,
    ],
    [
      'changed since it was signed, for a fee bump',
      () => ({ transaction_xdr: withFee(signed(built(user, [paying()]), user), 101), fee_bump: true }),
      () => wronglySigned,
    ],
    [
      'a fee bump',
      () => ({ transaction_xdr: bumped(), fee_bump: true }),
      () => 'transaction_xdr must not be a fee-bump envelope; send its inner envelope',
    ],
    [
      'with a max_fee below what the fee bump takes',
      () => ({ transaction_xdr: signed(built(user, [paying()]), user), fee_bump: true, max_fee: 199 }),
      () => 'max_fee is 199 stroops; this transaction needs at least 200',
    ],
  ];
  for (const [what, body, told] of rows) {
    it(`Stellar envelope, refused: ${what}`, async () =>
      assert.equal(await refusalOf({ network: 'local', ...body() }), `FIELD_INVALID: ${told()}`));
  }

  function withoutOperations(transaction: Transaction): string {
    const envelope = transaction.toEnvelope();
    change(v1Of(envelope).tx, { operations: [] });
    return envelope.toXdr('base64');
  }

  function bumped(): string {
    const inner = built(user, [paying()]);
    inner.sign(user);
    return TransactionBuilder.buildFeeBumpTransaction(user, '200', inner, passphrase).toXdr();
  }
});

describe('accepted Stellar requests', () => {
  const taken = async (body: object): Promise<Record<string, unknown>> => {
    const { status, text } = await app.ask('POST', sends, { body: JSON.stringify(body) });
    assert.equal(status, 200, text);
    return JSON.parse(text);
  };

  it('Stellar request: the answer is the record of the transaction', async () => {
    const { data } = (await taken({ network: 'local', operations: [pay] })) as { data: Record<string, unknown> };
    assert.match(String(data.status_reason), /^waiting: queued for signing: /);
    assert.deepEqual(
      { ...data, id: '', status_reason: '', created_at: '', updated_at: '' },
      {
        ...pendingRecord,
        id: '',
        status_reason: '',
        created_at: '',
        updated_at: '',
        source_account: own.publicKey(),
        fee: 0,
        sequence_number: '0',
        transaction_result_xdr: null,
      },
    );
  });

  it('Stellar request: the record has valid_until: as given, the earlier one of an envelope, or null', async () => {
    const validUntilOf = async (body: object) => {
      const { data } = (await taken({ network: 'local', ...body })) as { data: Record<string, unknown> };
      return data.valid_until;
    };
    const seconds = Math.floor(Date.now() / 1000) + 3_600;
    const time = new Date(seconds * 1000).toISOString();
    assert.equal(await validUntilOf({ operations: [pay], valid_until: time }), time);
    assert.equal(await validUntilOf({ operations: [pay], valid_until: String(seconds) }), time);
    const until = (maxTimeS: number) => ({ transaction_xdr: built(own, [paying()], (one) => one.setTimebounds(0, maxTimeS)).toXdr() });
    assert.equal(await validUntilOf({ ...until(seconds + 60), valid_until: time }), time);
    assert.equal(await validUntilOf({ ...until(seconds) }), time);
    assert.equal(await validUntilOf({ ...until(253_402_300_799) }), '9999-12-31T23:59:59.000Z');
    assert.equal(await validUntilOf({ ...until(253_402_300_800) }), null);
    assert.equal(await validUntilOf({ ...until(8_640_000_000_000) }), null);
  });

  it('Stellar request: accepts every form of operation, asset, value and authorization', async () => {
    const values = [
      'void',
      { void: {} },
      { bool: true },
      { u32: 4294967295 },
      { i32: -1 },
      { u64: '18446744073709551615' },
      { u64: 1 },
      { i64: -1 },
      { timepoint: 1 },
      { duration: '1' },
      { u128: { hi: 1, lo: '2' } },
      { u128: '340282366920938463463374607431768211455' },
      { i128: '-170141183460469231731687303715884105728' },
      { i128: { hi: -1, lo: 0 } },
      { u256: { hi_hi: 1, hi_lo: 2, lo_hi: 3, lo_lo: 4 } },
      { u256: '1' },
      { i256: '-1' },
      { bytes: 'abcd' },
      { string: 'ü' },
      { symbol: 'abc' },
      { address: G },
      { address: M },
      { address: C },
      { vec: [{ u32: 1 }, { vec: [] }] },
      {
        map: [
          { key: { symbol: 'b' }, val: 'void' },
          { key: { symbol: 'a' }, val: { u32: 1 } },
        ],
      },
    ];
    const entry = new xdr.SorobanAuthorizationEntry({
      credentials: xdr.SorobanCredentials.sorobanCredentialsSourceAccount(),
      rootInvocation: new xdr.SorobanAuthorizedInvocation({
        function: xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(
          new xdr.InvokeContractArgs({ contractAddress: new Contract(C).address().toScAddress(), functionName: 'f', args: [] }),
        ),
        subInvocations: [],
      }),
    }).toXdr('base64');
    const operations = [
      ...['native'].map((type) => ({ ...pay, asset: { type } })),
      ...['credit4', 'credit_alphanum4'].map((type) => ({
        ...pay,
        amount: '9223372036854775807',
        asset: { type, code: 'USD', issuer: G },
      })),
      ...['credit12', 'credit_alphanum12'].map((type) => ({ ...pay, destination: M, asset: { type, code: 'LONGER', issuer: G } })),
      { ...invoke, args: values },
      ...['none', 'source_account'].map((type) => ({ ...invoke, auth: { type } })),
      { ...invoke, auth: { type: 'xdr', entries: [entry] } },
      create,
      { ...create, source: { from: 'contract', contract: C }, salt: hash, constructor_args: [{ u32: 1 }] },
      upload,
      { ...upload, wasm: { hex: wasm.toString('hex'), type: 'hex' }, auth: { type: 'none' } },
    ];
    for (const operation of operations) await taken({ network: 'local', operations: [operation] });
    await taken({ network: 'local', operations: Array(100).fill(pay), source_account: own.publicKey(), max_fee: 10_000, fee_bump: false });
  });

  it('Stellar request: accepts unsigned envelopes of its own account and signed foreign ones for a fee bump', async () => {
    await taken({ network: 'local', transaction_xdr: built(own, [paying(), paying(own.publicKey())]).toXdr() });
    await taken({ network: 'local', transaction_xdr: signed(built(user, [paying()]), user), fee_bump: true, valid_until: '4102444800' });
  });

  it('Stellar request: fields of other networks are ignored with a warning', async () => {
    const body = { network: 'local', operations: [pay], to: '0x1', value: 1, transaction: 'AAAA', speed: 'fast' };
    const { metadata } = (await taken(body)) as { metadata: { logs: readonly { level: string; message: string }[] } };
    assert.deepEqual(metadata.logs.map(({ level, message }) => `${level} ${message}`).sort(), [
      'warn speed is ignored: it is a field of evm, not of stellar',
      'warn to is ignored: it is a field of evm, not of stellar',
      'warn transaction is ignored: it is a field of solana, not of stellar',
      'warn value is ignored: it is a field of evm, not of stellar',
    ]);
  });
});

describe('a Stellar relayer on a ledger', () => {
  let node: StellarNode;
  let live: Ed25519App;

  before(async () => {
    node = await startStellar({ closeEveryMs: 100, accounts: { [G]: 10_000_000n } });
    live = await startEd25519App({
      network: 'stellar',
      networkFields: { passphrase },
      rpcUrls: [node.url],
      policies: { max_fee: 5_000_000 },
    });
    node.ledger.fund(live.home.address, 1_000_000_000n);
  });
  after(async () => {
    await live?.stop();
    await node?.stop();
  });

  const bodyOf = ({ status, text }: RestAnswer): unknown => {
    assert.equal(status, 200, text);
    return JSON.parse(text).data;
  };

  async function landed(
    body: object,
  ): Promise<{ readonly record: Record<string, unknown>; readonly envelope: Transaction | FeeBumpTransaction }> {
    const { id } = bodyOf(await live.ask('POST', sends, { body: JSON.stringify(body) })) as { id: string };
    const record = await waitFor('the transaction to be confirmed', async () => {
      const now = bodyOf(await live.ask('GET', `${sends}/${id}`)) as Record<string, unknown>;
      return now.status === 'confirmed' ? now : undefined;
    });
    const [attempt] = bodyOf(await live.ask('GET', `${sends}/${id}/attempts`)) as { envelope_xdr: string }[];
    return { record, envelope: TransactionBuilder.fromXdr(attempt?.envelope_xdr ?? '', passphrase) };
  }

  it('Stellar transaction: memos in the forms of the specification and of the clients are written', async () => {
    const bytes = Array.from({ length: 32 }, (_, index) => index);
    const hex = Buffer.from(bytes).toString('hex');
    const memos: readonly (readonly [object, Memo])[] = [
      [{ type: 'none' }, Memo.none()],
      [{ type: 'none', value: null }, Memo.none()],
      [{ type: 'text', value: 'grüße' }, Memo.text('grüße')],
      [{ type: 'id', value: 7 }, Memo.id('7')],
      [{ type: 'id', value: '18446744073709551615' }, Memo.id('18446744073709551615')],
      [{ type: 'hash', value: bytes }, Memo.hash(hex)],
      [{ type: 'hash', value: hex }, Memo.hash(hex)],
      [{ type: 'return', value: bytes }, Memo.return(hex)],
      [{ type: 'return', value: hex }, Memo.return(hex)],
    ];
    for (const [memo, expected] of memos) {
      const { envelope } = await landed({ network: 'local', operations: [pay], memo });
      // On a slow machine its fee may have been bumped.
      const { memo: written } = envelope instanceof FeeBumpTransaction ? envelope.innerTransaction : envelope;
      assert.equal(written.toXdrObject().toXdr('base64'), expected.toXdrObject().toXdr('base64'), JSON.stringify(memo));
    }
  });

  it('Stellar transaction: the record has the charged fee and the return value of a function', async () => {
    const call = {
      ...invoke,
      contract_address: node.ledger.testContract,
      function_name: 'echo',
      args: [
        {
          map: [
            { key: { symbol: 'b' }, val: { i128: '-5' } },
            { key: { symbol: 'a' }, val: 'void' },
          ],
        },
      ],
    };
    const { record } = await landed({ network: 'local', operations: [call] });
    const given = xdr.expectUnionVariant(xdr.ScVal.fromXdr(String(record.transaction_result_xdr), 'base64'), 'scvMap').map ?? [];
    assert.deepEqual(
      given.map((entry) => String(entry.key.value)),
      ['a', 'b'],
    );
    assert.ok(Number(record.fee) > 100);
    assert.match(String(record.sequence_number), /^[0-9]{10,}$/);
    assert.match(String(record.hash), /^[0-9a-f]{64}$/);
  });

  it('Stellar transaction: an unsigned envelope gets a sequence number and keeps the rest', async () => {
    const account = Keypair.fromRawEd25519Seed(Buffer.from(live.home.privateKey, 'hex'));
    const until = Math.floor(Date.now() / 1000) + 600;
    const unsigned = built(account, [paying()], (one) => one.setTimebounds(5, until).addMemo(Memo.text('mine')));
    const { envelope } = await landed({ network: 'local', transaction_xdr: unsigned.toXdr() });
    assert.ok(!(envelope instanceof FeeBumpTransaction));
    assert.deepEqual(
      [envelope.timeBounds, Buffer.from(envelope.memo.value ?? '').toString()],
      [{ minTime: '5', maxTime: String(until) }, 'mine'],
    );
    assert.notEqual(envelope.sequence, unsigned.sequence);
  });

  it('Stellar signing: adds its signature to a foreign envelope next to the others', async () => {
    const account = Keypair.fromRawEd25519Seed(Buffer.from(live.home.privateKey, 'hex'));
    const sign = (unsigned: string) =>
      live.ask('POST', '/api/v1/relayers/r1/sign-transaction', { body: JSON.stringify({ unsigned_xdr: unsigned }) });
    const shared = built(user, [paying(), paying(account.publicKey())]);
    shared.sign(user);
    const { signedXdr, signature } = bodyOf(await sign(shared.toXdr())) as { signedXdr: string; signature: string };
    const envelope = TransactionBuilder.fromXdr(signedXdr, passphrase);
    assert.equal(envelope.signatures.length, 2);
    assert.ok(account.verify(shared.hash(), Buffer.from(signature, 'base64')));
    assert.equal((bodyOf(await sign(signedXdr)) as { signedXdr: string }).signedXdr, signedXdr, 'once is enough');
    const said = async (unsigned: string) => {
      const { status, headers, text } = await sign(unsigned);
      return `${status} ${headers['x-error-reason']}: ${JSON.parse(text).error}`;
    };
    assert.equal(await said('AAAA'), '400 FIELD_INVALID: unsigned_xdr must be base64 XDR of a TransactionEnvelope');
    assert.equal(
      await said('AAAA'.repeat(90_000)),
      '400 FIELD_INVALID: unsigned_xdr must be at most 262144 bytes; networks accept no more',
    );
    assert.equal(
      await said(built(user, [paying()]).toXdr()),
      `400 FIELD_INVALID: unsigned_xdr must have ${account.publicKey()}, the relayer's account, as the source account of the transaction or of an operation`,
    );
    const dear = TransactionBuilder.buildFeeBumpTransaction(account, '5000000', shared, passphrase);
    assert.equal(
      await said(dear.toXdr()),
      "400 FIELD_INVALID: unsigned_xdr has a fee of 15000000 stroops; the relayer's policy max_fee allows at most 5000000",
    );
    const foreign = TransactionBuilder.buildFeeBumpTransaction(user, '200', shared, passphrase);
    assert.equal(
      await said(foreign.toXdr()),
      `400 FIELD_INVALID: unsigned_xdr must be a fee-bump envelope whose fee ${account.publicKey()}, the relayer's account, pays`,
    );
    assert.equal((await sign(TransactionBuilder.buildFeeBumpTransaction(account, '200', shared, passphrase).toXdr())).status, 200);
    const elsewhere = TransactionBuilder.fromXdr(signedElsewhere(built(user, [paying()])), passphrase);
    assert.ok(!(elsewhere instanceof FeeBumpTransaction));
    assert.equal(
      await said(TransactionBuilder.buildFeeBumpTransaction(account, '200', elsewhere, passphrase).toXdr()),
      `400 FIELD_INVALID: ${wronglySigned.replace('transaction_xdr has', 'unsigned_xdr wraps an envelope that has')}`,
    );
  });

  it('Stellar relayer: refuses to sign typed data and to look up a nonce', async () => {
    const typed = await live.ask('POST', '/api/v1/relayers/r1/sign-typed-data', {
      body: JSON.stringify({ domain_separator: hash, hash_struct_message: hash }),
    });
    assert.equal(`${typed.status} ${typed.headers['x-error-reason']}`, '400 NOT_SUPPORTED_ON_NETWORK');
    const byNonce = await live.ask('GET', `${sends}/by-nonce/7`);
    assert.equal(byNonce.status, 501);
  });
});
