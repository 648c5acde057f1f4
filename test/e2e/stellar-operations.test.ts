import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Address, Asset, Keypair, xdr } from '@stellar/stellar-sdk';
import { listedOperations } from '../../src/chains/stellar/operation-table.js';
import { poolIdOf } from '../../src/sandbox/stellar/operations/liquidity-pools.js';
import type { Account } from '../../src/sandbox/stellar/state.js';
import { poolSharesKey, trustlineKey } from '../../src/sandbox/stellar/state.js';
import { type StellarApp, startStellarApp } from '../support/stellar-app.js';
import { waitFor } from '../support/wait-for.js';

const [holder, spare, created, stranger] = Array.from({ length: 4 }, () => Keypair.random().publicKey()) as [
  string,
  string,
  string,
  string,
];
const native = { type: 'native' };

/** An operation of a body. */
interface Sent {
  readonly type: string;
  readonly [field: string]: unknown;
}

let rig: StellarApp;
let relayer: string;
let usd: { readonly type: string; readonly code: string; readonly issuer: string };
const landed = new Set<string>();

before(async () => {
  rig = await startStellarApp({
    accounts: [holder, spare, stranger],
    policies: {
      allow_account_changes: ['account_merge', 'revoke_sponsorship', 'signers'],
      operation_source_accounts: [holder, spare],
      max_fee: 10_000_000,
    },
  });
  relayer = rig.app.home.address;
  usd = { type: 'credit4', code: 'USD', issuer: relayer };
  rig.node.ledger.fund(relayer, 9_000_000_000n);
  for (const account of [holder, spare]) {
    rig.node.ledger.fund(account, 1_000_000_000n);
    const { accounts } = rig.node.ledger.latest().state;
    const known = accounts.get(account);
    assert.ok(known !== undefined);
    // The relayer's key signs for them.
    accounts.set(account, { ...known, signers: [{ key: relayer, weight: 1 }], subEntries: 1 });
  }
});
after(() => rig?.stop());

/** Sends operations and returns how their transaction ends. */
async function send(...operations: readonly Sent[]): Promise<string> {
  const body = JSON.stringify({ network: 'local', operations });
  const sent = await rig.app.ask('POST', '/api/v1/relayers/r1/transactions', { body });
  assert.equal(sent.status, 200, sent.text);
  const { id } = JSON.parse(sent.text).data;
  return waitFor(`${operations.map(({ type }) => type).join(', ')} to end`, async () => {
    const { text } = await rig.app.ask('GET', `/api/v1/relayers/r1/transactions/${id}`);
    const { status, status_reason } = JSON.parse(text).data;
    if (status === 'confirmed') for (const { type } of operations) landed.add(type);
    return status === 'confirmed' ? 'confirmed' : status === 'failed' ? `failed: ${status_reason}` : undefined;
  });
}

async function land(...operations: readonly Sent[]): Promise<void> {
  assert.equal(await send(...operations), 'confirmed', JSON.stringify(operations));
}

const state = () => rig.node.ledger.latest().state;

function accountOf(id: string): Account {
  const account = state().accounts.get(id);
  assert.ok(account !== undefined);
  return account;
}

function lineOf(account: string) {
  return state().trustlines.get(trustlineKey(account, new Asset('USD', relayer).toXdrObject()));
}

/** The newest transaction of the ledger. */
function lastFrame() {
  const { ledger } = rig.node;
  for (let sequence = ledger.latest().sequence; sequence > 0; sequence--) {
    const [transaction] = ledger.at(sequence)?.transactions ?? [];
    if (transaction !== undefined) return transaction;
  }
  return assert.fail('no ledger has a transaction');
}

function balanceId(): string {
  const [id] = state().balances.keys();
  return id ?? assert.fail('there is no claimable balance');
}

describe('Stellar operations as JSON on the local ledger', () => {
  it('accounts: are created, get options and data, and are merged', async () => {
    await land({ type: 'set_options', set_flags: 10, home_domain: 'example.com' }, { type: 'manage_data', name: 'key', value: 'ab' });
    await land({ type: 'create_account', destination: created, starting_balance: '20000000' }, { type: 'bump_sequence', bump_to: 0 });
    const { flags, homeDomain, subEntries } = accountOf(relayer);
    assert.deepEqual({ flags, homeDomain, subEntries }, { flags: 10, homeDomain: 'example.com', subEntries: 1 });
    assert.equal(accountOf(created).balanceStroops, 20_000_000n);
    await land({ type: 'account_merge', destination: relayer, source_account: spare });
    assert.equal(state().accounts.has(spare), false);
  });

  it('trust lines: are made, authorized, revoked and clawed back', async () => {
    await land(
      { type: 'change_trust', asset: usd, limit: '1000', source_account: holder },
      { type: 'payment', destination: holder, amount: 500, asset: usd },
    );
    assert.deepEqual([lineOf(holder)?.balance, lineOf(holder)?.flags], [500n, 5]);
    await land({ type: 'set_trust_line_flags', trustor: holder, asset: usd, flags: { authorized: false } });
    assert.equal(lineOf(holder)?.flags, 4);
    assert.match(await send({ type: 'payment', destination: holder, amount: 1, asset: usd }), /not.?authorized/i);
    await land({ type: 'allow_trust', trustor: holder, asset_code: 'USD', authorize: 1 });
    await land({ type: 'clawback', asset: usd, amount: 200, from: holder });
    assert.deepEqual([lineOf(holder)?.balance, lineOf(holder)?.flags], [300n, 5]);
  });

  it('claimable balances: are made, claimed when their condition holds, and clawed back', async () => {
    const claimable = (predicate: unknown) => ({
      type: 'create_claimable_balance',
      asset: usd,
      amount: 100,
      claimants: [{ destination: holder, predicate }],
    });
    await land(claimable('unconditional'));
    const { sponsoring } = accountOf(relayer);
    await land({ type: 'claim_claimable_balance', balance_id: balanceId(), source_account: holder });
    assert.deepEqual([lineOf(holder)?.balance, sponsoring, accountOf(relayer).sponsoring, state().balances.size], [400n, 1, 0, 0]);
    await land(claimable({ not: { before_relative_time: '3600' } }));
    assert.match(await send({ type: 'claim_claimable_balance', balance_id: balanceId(), source_account: holder }), /cannot.?claim/i);
    await land({ type: 'clawback_claimable_balance', balance_id: balanceId() });
    assert.equal(state().balances.size, 0);
  });

  it('offers: are made, taken by others and by path payments, and deleted', async () => {
    const byAge = () => [...state().offers.values()].sort((one, other) => Number(one.id - other.id));
    const offers = () => byAge().map(({ amount }) => amount);
    await land({ type: 'manage_sell_offer', selling: usd, buying: native, amount: 100, price: '2', source_account: holder });
    assert.deepEqual([offers(), lineOf(holder)?.selling, accountOf(holder).buying], [[100n], 100n, 200n]);
    await land({ type: 'manage_buy_offer', selling: native, buying: usd, buy_amount: 40, price: '2' });
    await land({ type: 'create_passive_sell_offer', selling: native, buying: usd, amount: 10, price: '0.5' });
    assert.deepEqual(offers(), [60n, 10n]);
    const path = { send_asset: native, dest_asset: usd, destination: holder, path: [] };
    await land({ type: 'path_payment_strict_receive', ...path, send_max: 20, dest_amount: 10 });
    await land({ type: 'path_payment_strict_send', ...path, send_amount: 20, dest_min: 10 });
    assert.deepEqual(offers(), [40n, 10n]);
    assert.match(await send({ type: 'path_payment_strict_receive', ...path, send_max: 19, dest_amount: 10 }), /OVER_SENDMAX/);
    assert.match(await send({ type: 'manage_sell_offer', selling: usd, buying: native, amount: 0, price: '1', offer_id: 99 }), /NOT_FOUND/);
    const [{ id } = assert.fail()] = byAge();
    await land({
      type: 'manage_sell_offer',
      selling: usd,
      buying: native,
      amount: 0,
      price: '2',
      offer_id: Number(id),
      source_account: holder,
    });
    assert.deepEqual([offers(), lineOf(holder)?.selling], [[10n], 0n]);
  });

  it('sponsorships: are begun, ended in the same transaction, and revoked', async () => {
    const before = accountOf(relayer).sponsoring;
    const [begin, end] = [
      { type: 'begin_sponsoring_future_reserves', sponsored_id: holder },
      { type: 'end_sponsoring_future_reserves', source_account: holder },
    ];
    const data = { type: 'manage_data', name: 'sponsored', value: 'ab', source_account: holder };
    assert.match(await send(begin, data), /txBAD_SPONSORSHIP/);
    await land(begin, data, end);
    assert.deepEqual([accountOf(relayer).sponsoring, accountOf(holder).sponsored], [before + 1, 1]);
    await land({ type: 'revoke_data_sponsorship', account: holder, name: 'sponsored' });
    assert.deepEqual([accountOf(relayer).sponsoring, accountOf(holder).sponsored], [before, 0]);
  });

  it('sponsorships: of accounts, lines, offers and signers are revoked, and those of claimable balances handed on', async () => {
    const eur = { type: 'credit4', code: 'EUR', issuer: relayer };
    const before = accountOf(relayer).sponsoring;
    await land(
      { type: 'begin_sponsoring_future_reserves', sponsored_id: holder },
      { type: 'change_trust', asset: eur, limit: '1000', source_account: holder },
      { type: 'manage_sell_offer', selling: native, buying: eur, amount: 10, price: '9', source_account: holder },
      { type: 'set_options', signer: { ed25519_public_key: stranger, weight: 1 }, source_account: holder },
      { type: 'end_sponsoring_future_reserves', source_account: holder },
    );
    assert.equal(accountOf(relayer).sponsoring, before + 3);
    const [offer = assert.fail()] = [...state().offers.values()].filter(({ seller }) => seller === holder);
    await land(
      { type: 'revoke_trustline_sponsorship', account: holder, asset: eur },
      { type: 'revoke_offer_sponsorship', seller: holder, offer_id: Number(offer.id) },
      { type: 'revoke_signer_sponsorship', account: holder, signer: { ed25519_public_key: stranger } },
    );
    assert.equal(accountOf(relayer).sponsoring, before);
    // A sponsored account signs its own creation, so the ledger is told that this one is sponsored.
    state().sponsors.set(`account ${created}`, relayer);
    state().accounts.set(relayer, { ...accountOf(relayer), sponsoring: before + 2 });
    state().accounts.set(created, { ...accountOf(created), sponsored: 2 });
    await land({ type: 'revoke_account_sponsorship', account: created });
    assert.deepEqual([accountOf(relayer).sponsoring, accountOf(created).sponsored], [before, 0]);
    await land({
      type: 'create_claimable_balance',
      asset: native,
      amount: 10,
      claimants: [{ destination: holder, predicate: 'unconditional' }],
    });
    await land(
      { type: 'begin_sponsoring_future_reserves', sponsored_id: relayer, source_account: holder },
      { type: 'revoke_claimable_balance_sponsorship', balance_id: balanceId() },
      { type: 'end_sponsoring_future_reserves' },
    );
    assert.deepEqual([accountOf(relayer).sponsoring, accountOf(holder).sponsoring], [before, 1]);
  });

  it('liquidity pools: are made by a line for their shares, filled, and emptied', async () => {
    const asset = { type: 'liquidity_pool', asset_a: native, asset_b: usd };
    const id = poolIdOf(Asset.native().toXdrObject(), new Asset('USD', relayer).toXdrObject());
    const deposit = {
      type: 'liquidity_pool_deposit',
      liquidity_pool_id: id,
      max_amount_a: 4000,
      max_amount_b: 1000,
      min_price: '3',
      max_price: '5',
    };
    assert.match(await send(deposit), /NO_TRUST/);
    await land({ type: 'change_trust', asset, limit: '10000' }, deposit);
    const shares = () => state().poolShares.get(poolSharesKey(relayer, id))?.balance;
    assert.deepEqual([state().pools.get(id)?.reserves, shares()], [[4_000n, 1_000n], 2_000n]);
    assert.match(await send({ ...deposit, min_price: '1', max_price: '2' }), /BAD_PRICE/);
    const withdraw = { type: 'liquidity_pool_withdraw', liquidity_pool_id: id, amount: 500, min_amount_a: 1000, min_amount_b: 250 };
    await land(withdraw);
    assert.deepEqual([state().pools.get(id)?.reserves, shares()], [[3_000n, 750n], 1_500n]);
    assert.match(await send({ ...withdraw, min_amount_a: 1001 }), /UNDER_MINIMUM/);
    await land({ ...withdraw, amount: 1500 }, { type: 'change_trust', asset, limit: '0' });
    assert.equal(state().pools.has(id), false);
  });

  it('contract entries: are extended and, once archived, restored', async () => {
    const { ledger } = rig.node;
    const contract = Address.fromString(ledger.testContract).toScAddress();
    const instance = xdr.LedgerKey.contractData(
      new xdr.LedgerKeyContractData({
        contract,
        key: xdr.ScVal.scvLedgerKeyContractInstance(),
        durability: xdr.ContractDataDurability.persistent,
      }),
    ).toXdr('base64');
    const liveUntil = () => state().contracts.get(instance)?.liveUntil ?? 0;
    const call = {
      type: 'invoke_contract',
      contract_address: ledger.testContract,
      function_name: 'increment',
      args: [{ u32: 1 }],
    };
    await land(call);
    ledger.archiveContracts();
    await land({ type: 'restore_footprint', keys: [instance] });
    const before = liveUntil();
    assert.ok(before > ledger.latest().sequence + 1_000);
    await land({ type: 'extend_footprint_ttl', keys: [instance], extend_to: 2_073_600 });
    assert.ok(liveUntil() > before);
    ledger.archiveContracts();
    // The call restores what it needs.
    await land(call);
    assert.ok(liveUntil() > ledger.latest().sequence + 1_000);
  });

  it('archives: a call that restores entries fails unsigned if the policy forbids that, and pays the margin of the policy', async () => {
    const call = {
      type: 'invoke_contract',
      contract_address: rig.node.ledger.testContract,
      function_name: 'increment',
      args: [{ u32: 1 }],
    };
    const change = (policies: object) =>
      rig.app.ask('PATCH', '/api/v1/relayers/r1', {
        body: JSON.stringify({ policies }),
        headers: { 'content-type': 'application/merge-patch+json' },
      });
    const declared = async (): Promise<bigint> => {
      await land(call);
      return lastFrame().frame.resourceFeeStroops;
    };
    assert.equal((await change({ restore_archived: false, resource_fee_margin_percent: 0 })).status, 200);
    const exact = await declared();
    rig.node.ledger.archiveContracts();
    assert.match(await send(call), /^failed: .*restore_archived forbids/);
    assert.equal((await change({ restore_archived: null, resource_fee_margin_percent: 50 })).status, 200);
    await land(call);
    const raised = await declared();
    assert.ok(raised * 100n >= exact * 149n && raised * 100n <= exact * 151n, `${raised} is not 50 % above ${exact}`);
  });

  it('failures: end with the result of the ledger', async () => {
    assert.match(await send({ type: 'inflation' }), /not.?time/i);
  });

  it('memo: a merge needs one if its destination requires it', async () => {
    const requirement = { account: stranger, name: 'config.memo_required', value: Buffer.from('1'), modifiedAt: 1 };
    state().data.set(`${stranger}:config.memo_required`, requirement);
    assert.match(
      await send({ type: 'account_merge', destination: stranger, source_account: holder }),
      /^failed: .*requires a memo \(SEP-29\)/,
    );
  });

  it('all: each operation has landed, or the protocol never lets it', async () => {
    const missing = [...listedOperations.keys()].filter((type) => !landed.has(type));
    assert.deepEqual(missing.sort(), ['inflation', 'revoke_liquidity_pool_sponsorship']);
    assert.match(
      await send({ type: 'revoke_liquidity_pool_sponsorship', liquidity_pool_id: 'ab'.repeat(32) }),
      /^failed.*REVOKE_SPONSORSHIP_(?:MALFORMED|DOES_NOT_EXIST)/,
    );
  });
});
