import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { create, toJson } from '@bufbuild/protobuf';
import { Account, Address, Asset, Claimant, Keypair, Networks, Operation, StrKey, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { withOperations } from '../../.ci/generate/stellar-operations.js';
import { withOperationsReference } from '../../.ci/generate/stellar-operations-page.js';
import { StellarAccountChange, type StellarTransactionRequest, StellarTransactionRequestSchema } from '../../gen/relayer/v1/stellar_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { stellarRequestOf } from '../../src/api/services/transactions/stellar-transaction.js';
import { listedOperations } from '../../src/chains/stellar/operation-table.js';
import { operationFrom } from '../../src/chains/stellar/operations.js';
import { receiversIn } from '../../src/chains/stellar/receivers.js';
import { CodecCompiler } from '../../src/codec/message-codec.js';
import { Reading } from '../../src/codec/reading.js';
import { defaultPolicies } from '../../src/core/records/relayer.js';
import type { StellarContent } from '../../src/core/records/stellar.js';
import { jsonFromText } from '../../src/json/json-reader.js';
import { type Ed25519App, startEd25519App } from '../support/app-rig.js';
import { type RpcAsker, rpcAskers } from '../support/rpc-askers.js';

const passphrase = Networks.STANDALONE;
const sends = '/api/v1/relayers/r1/transactions';
const G = Keypair.random().publicKey();
const other = Keypair.random().publicKey();
const M = StrKey.encodeMed25519PublicKey(Buffer.concat([StrKey.decodeEd25519PublicKey(G), Buffer.alloc(8, 1)]));
const usd = { type: 'credit4', code: 'USD', issuer: G };
const native = { type: 'native' };
const everyChange = ['signers', 'immutable', 'account_merge', 'bump_sequence', 'revoke_sponsorship'];

let app: Ed25519App;
let askers: readonly RpcAsker[];
/** The same without any allowance. */
let strict: Ed25519App;

before(async () => {
  const policies = { allow_account_changes: everyChange, operation_source_accounts: [other] };
  app = await startEd25519App({ network: 'stellar', networkFields: { passphrase }, policies });
  askers = rpcAskers(app.baseUrl);
  strict = await startEd25519App({ network: 'stellar', networkFields: { passphrase } });
});
after(async () => {
  for (const asker of askers ?? []) asker.close();
  await app?.stop();
  await strict?.stop();
});

async function refusalOf(to: Ed25519App, ...operations: readonly unknown[]): Promise<string> {
  const { status, text } = await to.ask('POST', sends, { body: JSON.stringify({ network: 'local', operations }) });
  return status === 200 ? 'accepted' : `${status} ${JSON.parse(text).error}`;
}

/** The relayer issues the assets of the examples, as some operations demand. */
function ownIssuer(example: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const issuer = /GBRPYHIL2CI3FNQ4BXLFMNDLFJUNPU2HY3ZMFSHONUCEOASW7QC7OX2H/;
  const { asset, flags, from } = example as { asset?: object; flags?: unknown; from?: unknown };
  const isIssuers = asset !== undefined && (flags !== undefined || from !== undefined);
  return isIssuers ? JSON.parse(JSON.stringify(example).replace(issuer, app.home.address)) : { ...example };
}

function messageOf(body: object): StellarTransactionRequest {
  const reading = new Reading('stellar', []);
  const codec = new CodecCompiler().message(StellarTransactionRequestSchema);
  const message = codec.read(jsonFromText(JSON.stringify(body)), '', reading);
  assert.equal(reading.problem, null);
  return message as StellarTransactionRequest;
}

/** The operation that the SDK builds from the same fields: names in camelCase, amounts in decimal units. */
function builtBy(type: string, example: Readonly<Record<string, unknown>>): xdr.Operation {
  const build = (Operation as unknown as Record<string, (options: object) => xdr.Operation>)[camel(type)];
  if (build === undefined) throw new Error(`the SDK has no ${camel(type)}`);
  const { keys: _, ...given } = example;
  return build.call(Operation, Object.fromEntries(Object.entries(given).map(([name, value]) => [camel(name), forBuilder(name, value)])));
}

function forBuilder(name: string, value: unknown): unknown {
  if (/amount|^limit$|_max$|_min$|balance$/.test(name)) return decimal(String(value));
  if (name === 'flags') return value;
  if (name === 'bump_to' || name === 'offer_id') return String(value);
  if (name === 'value') return Buffer.from(String(value), 'hex');
  if (name === 'asset_code') return value;
  if (name === 'path') return (value as readonly object[]).map(assetOf);
  if (name === 'claimants') {
    const [{ destination }] = value as [{ destination: string }];
    return [new Claimant(destination, Claimant.predicateNot(Claimant.predicateBeforeRelativeTime('3600')))];
  }
  if (name === 'signer') return { ed25519PublicKey: (value as { ed25519_public_key: string }).ed25519_public_key };
  return typeof value === 'object' && value !== null && 'type' in value ? assetOf(value) : value;
}

function assetOf(value: object): Asset {
  const { code, issuer } = value as { code?: string; issuer?: string };
  return code === undefined ? Asset.native() : new Asset(code, issuer);
}

function decimal(units: string): string {
  const digits = units.padStart(8, '0');
  return `${digits.slice(0, -7)}.${digits.slice(-7)}`;
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

describe('Stellar operations as JSON', () => {
  it('table: has every operation of the protocol', () => {
    const byType = new Set<string>();
    for (const [type, { example }] of listedOperations) {
      byType.add(type.replace(/^revoke_.*_sponsorship$/, 'revoke_sponsorship'));
      assert.ok(typeof example === 'object', type);
    }
    // The first is a kind of its own, and the second has three.
    for (const type of ['payment', 'invoke_host_function']) byType.add(type);
    const all = [...xdr.OperationType.schema.nameByValue.values()].map((name) =>
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    );
    assert.deepEqual([...byType].sort(), all.sort());
  });

  it('table: the definitions and the page are written from it', async () => {
    const [definitions, page] = await Promise.all(
      ['proto/relayer/v1/stellar.proto', 'docs/stellar-operations.md'].map((file) => readFile(file, 'utf8')),
    );
    assert.ok(definitions !== undefined && page !== undefined);
    assert.equal(withOperations(definitions), definitions);
    assert.equal(withOperationsReference(page), page);
  });

  it('examples: each becomes what the builder of the SDK makes of the same fields', async () => {
    for (const [type, { example }] of listedOperations) {
      const [operation] = messageOf({ network: 'local', operations: [{ type, ...ownIssuer(example) }] }).operations;
      assert.ok(operation !== undefined);
      const [read] = stellarRequestOf(create(StellarTransactionRequestSchema, { operations: [operation] })).operations;
      assert.ok(read !== undefined);
      const { operation: ours } = operationFrom(read, 'operations[0]', { account: app.home.address, policies: defaultPolicies.stellar });
      assert.equal(ours.toXdr('base64'), builtBy(type, ownIssuer(example)).toXdr('base64'), type);
    }
  });

  it('examples: receivers are the accounts that are paid, created or merged into, and the contracts that are called', () => {
    const contract = StrKey.encodeContract(Buffer.alloc(32, 1));
    const wasm = Buffer.from('0061736d01000000', 'hex');
    const of = (...operations: readonly xdr.Operation[]) =>
      receiversIn({ kind: 'operations', operations: operations.map((one) => one.toXdr('base64')) } as unknown as StellarContent);
    const paying = ['create_account', 'path_payment_strict_receive', 'path_payment_strict_send', 'account_merge'];
    for (const [type, { example }] of listedOperations) {
      const expected = paying.includes(type) ? [String(example.destination)] : [];
      assert.deepEqual([...new Set(of(builtBy(type, ownIssuer(example))))], expected, type);
    }
    const pay = { amount: '1', asset: Asset.native() };
    const [payment, muxed] = [Operation.payment({ ...pay, destination: other }), Operation.payment({ ...pay, destination: M })];
    const call = Operation.invokeContractFunction({ contract, function: 'f', args: [] });
    assert.deepEqual(new Set(of(payment)), new Set([other]));
    assert.deepEqual(of(muxed), [M, G]);
    assert.deepEqual(of(call), [contract]);
    assert.deepEqual(of(Operation.uploadContractWasm({ wasm })), []);
    assert.deepEqual(of(Operation.createCustomContract({ address: Address.fromString(G), wasmHash: Buffer.alloc(32) })), []);
    assert.deepEqual(new Set(of(payment, call, muxed)), new Set([other, contract, M, G]));
    const envelope = new TransactionBuilder(new Account(G, '1'), { fee: '100', networkPassphrase: passphrase })
      .addOperation(payment)
      .addOperation(call)
      .setTimeout(0)
      .build()
      .toEnvelope()
      .toXdr('base64');
    assert.deepEqual(new Set(receiversIn({ kind: 'fee_bump', envelope } as unknown as StellarContent)), new Set([other, contract]));
  });

  it('examples: each is accepted over REST and every RPC protocol', async () => {
    assert.ok(listedOperations.size >= 31);
    for (const [type, { example }] of listedOperations) {
      const operation = { type, ...ownIssuer(example) };
      assert.equal(await refusalOf(app, operation), 'accepted', type);
      const stellar = toJson(StellarTransactionRequestSchema, messageOf({ network: 'local', operations: [operation] }));
      for (const asker of askers) {
        const said = await asker.ask(TransactionService.method.sendTransaction, { relayer_id: 'r1', stellar });
        assert.ok(said.ok, `${asker.protocol} ${type}`);
      }
    }
  });

  it('refused: RPC names a field by its path in the definitions', async () => {
    const offer = {
      selling: { native: {} },
      buying: { credit4: { code: 'USD', issuer: `G${'A'.repeat(55)}` } },
      amount: '1',
      price: { n: 0, d: 1 },
    };
    const stellar = { network: 'local', operations: [{ manage_sell_offer: offer }] };
    for (const asker of askers) {
      const said = await asker.ask(TransactionService.method.sendTransaction, { relayer_id: 'r1', stellar });
      assert.ok(!said.ok);
      const paths = said.fields.map(({ field }) => field);
      assert.deepEqual(
        [...paths].sort(),
        ['stellar.operations[0].manage_sell_offer.buying.credit4.issuer', 'stellar.operations[0].manage_sell_offer.price.n'],
        asker.protocol,
      );
    }
  });

  it('order: classic operations share a transaction, with payments', async () => {
    const classic = [...listedOperations].filter(([type]) => !type.endsWith('_footprint') && !type.endsWith('_ttl'));
    const pay = { type: 'payment', destination: G, amount: 1, asset: native };
    assert.equal(await refusalOf(app, pay, ...classic.map(([type, { example }]) => ({ type, ...ownIssuer(example) })), pay), 'accepted');
  });

  it('contract operations: are the only one', async () => {
    const restore = { type: 'restore_footprint', ...listedOperations.get('restore_footprint')?.example };
    assert.equal(
      await refusalOf(app, restore, restore),
      '400 operations must contain only the contract operation; send other operations separately',
    );
  });

  it('missing fields: each is named by its path', async () => {
    let count = 0;
    for (const [type, { fields, example }] of listedOperations) {
      for (const [name, { isRequired }] of Object.entries(fields)) {
        if (!isRequired) continue;
        const { [name]: _, ...rest } = ownIssuer(example);
        const told = await refusalOf(app, { type: 'inflation' }, { type, ...rest });
        assert.ok(told.startsWith(`400 operations[1].${name} `), `${type}.${name}: ${told}`);
        count += 1;
      }
    }
    assert.ok(count > 60);
  });

  it('account changes: each is refused by its path unless the policy allows it', async () => {
    const changing = [...listedOperations].filter(
      ([type]) => type === 'account_merge' || type.startsWith('revoke_') || type === 'bump_sequence',
    );
    const rows: readonly unknown[] = [
      ...changing.map(([type, { example }]) => ({ type, ...example, ...(type === 'bump_sequence' ? { bump_to: '1' } : {}) })),
      { type: 'set_options', master_weight: 0 },
      { type: 'set_options', high_threshold: 255 },
      { type: 'set_options', signer: { sha256_hash: '11'.repeat(32), weight: 1 } },
      { type: 'set_options', set_flags: 4 },
    ];
    assert.equal(rows.length, 13);
    for (const row of rows) {
      assert.match(await refusalOf(strict, { type: 'inflation' }, row), /^400 operations\[1\] takes away what G/, JSON.stringify(row));
      assert.equal(await refusalOf(app, row), 'accepted', JSON.stringify(row));
    }
    assert.equal(await refusalOf(strict, { type: 'set_options', home_domain: 'example.com', set_flags: 8 }), 'accepted');
    assert.equal(await refusalOf(strict, { type: 'bump_sequence', bump_to: 0 }), 'accepted');
    assert.equal(Object.values(StellarAccountChange).filter((value) => typeof value === 'number').length - 1, everyChange.length);
  });

  it('source account: is the relayer or an account that the policy names', async () => {
    const inflation = (source_account: string) => ({ type: 'inflation', source_account });
    assert.equal(await refusalOf(app, inflation(app.home.address), inflation(other)), 'accepted');
    assert.match(await refusalOf(strict, inflation(other)), /^400 operations\[0\]\.source_account must be G.*operation_source_accounts$/);
    assert.equal(await refusalOf(app, inflation('x')), '400 operations[0].source_account must be the address of an account (G... or M...)');
    const named = { type: 'payment', destination: G, amount: 1, asset: native, source_account: other };
    assert.equal(await refusalOf(app, named), 'accepted');
    assert.match(await refusalOf(strict, named), /^400 operations\[0\]\.source_account must be/);
  });

  const refused: readonly (readonly [operation: object, told: string])[] = [
    [{ type: 'create_account', destination: M, starting_balance: 1 }, 'destination must be the address of an account (G...)'],
    [{ type: 'create_account', destination: G, starting_balance: -1 }, 'starting_balance must be'],
    [{ type: 'create_account', destination: G }, 'starting_balance is required'],
    [{ type: 'manage_sell_offer', selling: native, buying: native, amount: 1, price: '1' }, 'buying is not valid: its asset is not valid'],
    [
      { type: 'manage_sell_offer', selling: native, buying: usd, amount: 0, price: '1' },
      'amount is not valid: its amounts must be positive',
    ],
    [{ type: 'manage_buy_offer', selling: native, buying: usd, buy_amount: 0, price: '1' }, 'buy_amount is not valid'],
    [{ type: 'manage_sell_offer', selling: native, buying: usd, amount: 1, price: '0' }, 'price must be above 0'],
    [{ type: 'manage_sell_offer', selling: native, buying: usd, amount: 1, price: '0.3333333333' }, 'price is no exact fraction'],
    [{ type: 'manage_sell_offer', selling: native, buying: usd, amount: 1, price: { n: 0, d: 1 } }, 'price.n is 0; must be at least 1'],
    [{ type: 'manage_sell_offer', selling: native, buying: usd, amount: 1, price: { n: 1 } }, 'price.d is required'],
    [{ type: 'change_trust', asset: { ...usd, issuer: 'G' } }, 'asset.issuer must be the address of an account (G...)'],
    [{ type: 'change_trust', asset: { type: 'liquidity_pool', asset_a: usd, asset_b: native } }, 'asset.asset_b must come after asset_a'],
    [{ type: 'allow_trust', trustor: G, asset_code: 'TOOLONGFORACODE', authorize: 1 }, 'asset_code must be'],
    [{ type: 'allow_trust', trustor: G, asset_code: 'USD', authorize: 3 }, 'authorize must be'],
    [
      { type: 'set_trust_line_flags', trustor: other, asset: usd, flags: { authorized: true } },
      'asset is not valid: its account does not issue the asset',
    ],
    [{ type: 'manage_data', name: '' }, 'name is required'],
    [{ type: 'manage_data', name: 'n', value: '11'.repeat(65) }, 'value is 65 bytes; the maximum is 64'],
    [{ type: 'create_claimable_balance', asset: native, amount: 1, claimants: [] }, 'claimants has 0 claimants; must have 1 to 10'],
    [
      { type: 'create_claimable_balance', asset: native, amount: 1, claimants: [{ destination: G }, { destination: G }] },
      'claimants is not valid: it must have claimants, each once',
    ],
    [
      {
        type: 'create_claimable_balance',
        asset: native,
        amount: 1,
        claimants: [{ destination: G, predicate: { and: ['unconditional'] } }],
      },
      'claimants[0].predicate.and has 1 predicates; must have 2',
    ],
    [{ type: 'claim_claimable_balance', balance_id: '00' }, 'balance_id must be 72 hex digits'],
    [{ type: 'clawback', asset: usd, amount: 1, from: G }, 'asset is not valid: its account does not issue the asset'],
    [
      {
        type: 'liquidity_pool_deposit',
        liquidity_pool_id: '11'.repeat(32),
        max_amount_a: 1,
        max_amount_b: 1,
        min_price: '2',
        max_price: '1',
      },
      'max_price is not valid: its price is not valid',
    ],
    [{ type: 'restore_footprint', keys: ['AAAA'] }, 'keys[0] must be base64 XDR of a LedgerKey'],
    [{ type: 'set_options', signer: { weight: 1 } }, 'signer must have ed25519_public_key'],
    [{ type: 'set_options', signer: { ed25519_public_key: G } }, 'signer.weight is required'],
    [{ type: 'set_options', clear_flags: 1, set_flags: 1 }, 'clear_flags is not valid: its flags are not valid'],
    [{ type: 'set_options', low_threshold: 256 }, 'low_threshold must be'],
    [{ type: 'path_payment_strict_send', send_asset: native, send_amount: 1, destination: G, dest_asset: usd, dest_min: 0 }, 'dest_min '],
  ];
  for (const [operation, told] of refused) {
    it(`refused: ${JSON.stringify(operation).slice(0, 90)}: ${told}`, async () => {
      const said = await refusalOf(app, { type: 'inflation' }, operation);
      assert.ok(said.startsWith(`400 operations[1].${told}`), said);
    });
  }
});
