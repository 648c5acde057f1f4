import { xdr } from '@stellar/stellar-sdk';
import { readAll } from '../../core/errors/read-all.js';
import type { StellarFields } from '../../core/records/stellar.js';
import * as kinds from './operation-kinds.js';

type Kind<T> = kinds.Kind<T>;

/** A field of an operation; the names are those of the SDK's `Operation` builder in snake_case. */
interface Field<T> {
  readonly kind: Kind<unknown>;
  /** The first sentence of its comment in the definitions. */
  readonly about: string;
  readonly isRequired: boolean;
  read(fields: StellarFields, name: string, path: string): T;
}

type Fields = Readonly<Record<string, Field<unknown>>>;
type Values<F extends Fields> = { readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never };

/** What an operation is in XDR. */
interface Encoded {
  readonly body: xdr.OperationBody;
  /** The ledger entries that the operation names; null: none. */
  readonly footprint: xdr.LedgerFootprint | null;
}

/** An operation of the table. */
export interface ListedOperation {
  /** What it does: its comment in the definitions. */
  readonly about: string;
  /** By their names, in the order of the definitions. */
  readonly fields: Fields;
  /** Its JSON without `type`. */
  readonly example: Readonly<Record<string, unknown>>;
  /** Encodes it. Throws `DomainError` (400) naming every field of `path` that is wrong. */
  read(fields: StellarFields, path: string): Encoded;
}

function required<T>(kind: Kind<T>, about: string): Field<T> {
  return { kind, about, isRequired: true, read: (fields, name, path) => kind.read(fields[name], `${path}.${name}`) };
}

function optional<T, A>(kind: Kind<T>, about: string, absent: A): Field<T | A> {
  return {
    kind,
    about,
    isRequired: false,
    read: (fields, name, path) => (fields[name] === undefined ? absent : kind.read(fields[name], `${path}.${name}`)),
  };
}

function listed<F extends Fields>(
  about: string,
  fields: F,
  example: ListedOperation['example'],
  encode: (values: Values<F>) => xdr.OperationBody | Encoded,
): ListedOperation {
  return {
    about,
    fields,
    example,
    read(given, path) {
      const reads = Object.entries(fields).map(([name, field]) => [name, () => field.read(given, name, path)] as const);
      const encoded = encode(readAll(Object.fromEntries(reads)) as Values<F>);
      return 'body' in encoded ? encoded : { body: encoded, footprint: null };
    },
  };
}

const maxInt64 = 2n ** 63n - 1n;
const account = 'GAFWCK265XMRRRZAEPMAE2PTNTQA4BMIKUNVCZ3ROGFYQC5HXVUYYXXT';
const issuer = 'GBRPYHIL2CI3FNQ4BXLFMNDLFJUNPU2HY3ZMFSHONUCEOASW7QC7OX2H';
const native = { type: 'native' };
const usd = { type: 'credit4', code: 'USD', issuer };
const hash = 'a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90';
const balance = `00000000${hash}`;
const ledgerKey = 'AAAAB6Gyw9Tl9gcYKTpLXG1+j5ChssPU5fYHGCk6S1xtfo+Q';

const selling = required(kinds.asset, 'The asset that the account gives.');
const buying = required(kinds.asset, 'The asset that the account gets.');
const offerPrice = 'The price of one unit of the sold asset, in units of the bought one.';
const offerId = optional(kinds.count, 'The offer to change or, with an amount of 0, to delete. Absent or 0: a new one.', 0n);
const path = optional(kinds.path, 'The assets between the two, in order. Absent: none.', []);
const poolShares = required(kinds.poolId, 'The pool.');
const balanceId = required(kinds.balanceId, 'The balance.');
const keys = required(kinds.ledgerKeys, 'The ledger entries.');
const entries = (ledgerKey: xdr.LedgerKey): xdr.OperationBody =>
  xdr.OperationBody.revokeSponsorship(xdr.RevokeSponsorshipOp.revokeSponsorshipLedgerEntry(ledgerKey));

/**
 * Every operation that callers can send as fields, beside `payment` and the three of contracts: the definitions, their part of the
 * documentation and the encoding follow from it. By `type`.
 */
export const listedOperations: ReadonlyMap<string, ListedOperation> = new Map(
  Object.entries({
    create_account: listed(
      'Creates an account and pays its first balance.',
      {
        destination: required(kinds.account, 'The new account.'),
        starting_balance: required(kinds.amount(0), 'What it gets. 0 needs a sponsor for its reserve.'),
      },
      { destination: account, starting_balance: '20000000' },
      (to) =>
        xdr.OperationBody.createAccount(new xdr.CreateAccountOp({ destination: to.destination, startingBalance: to.starting_balance })),
    ),
    path_payment_strict_receive: listed(
      'Pays an exact amount of one asset with another one, by the offers and pools of the network.',
      {
        send_asset: required(kinds.asset, 'The asset that the account pays.'),
        send_max: required(kinds.amount(1), 'The most that it pays.'),
        destination: required(kinds.receiver, 'The receiver.'),
        dest_asset: required(kinds.asset, 'The asset that the receiver gets.'),
        dest_amount: required(kinds.amount(1), 'What the receiver gets.'),
        path,
      },
      { send_asset: native, send_max: '50000000', destination: account, dest_asset: usd, dest_amount: '10000000', path: [] },
      (op) =>
        xdr.OperationBody.pathPaymentStrictReceive(
          new xdr.PathPaymentStrictReceiveOp({
            sendAsset: op.send_asset,
            sendMax: op.send_max,
            destination: op.destination,
            destAsset: op.dest_asset,
            destAmount: op.dest_amount,
            path: [...op.path],
          }),
        ),
    ),
    path_payment_strict_send: listed(
      'Pays with an exact amount of one asset in another one, by the offers and pools of the network.',
      {
        send_asset: required(kinds.asset, 'The asset that the account pays.'),
        send_amount: required(kinds.amount(1), 'What it pays.'),
        destination: required(kinds.receiver, 'The receiver.'),
        dest_asset: required(kinds.asset, 'The asset that the receiver gets.'),
        dest_min: required(kinds.amount(1), 'The least that the receiver gets.'),
        path,
      },
      { send_asset: native, send_amount: '50000000', destination: account, dest_asset: usd, dest_min: '9000000', path: [] },
      (op) =>
        xdr.OperationBody.pathPaymentStrictSend(
          new xdr.PathPaymentStrictSendOp({
            sendAsset: op.send_asset,
            sendAmount: op.send_amount,
            destination: op.destination,
            destAsset: op.dest_asset,
            destMin: op.dest_min,
            path: [...op.path],
          }),
        ),
    ),
    manage_sell_offer: listed(
      'Makes, changes or deletes an offer that names what it sells.',
      {
        selling,
        buying,
        amount: required(kinds.amount(0), 'The amount to sell. 0 deletes the offer.'),
        price: required(kinds.price, offerPrice),
        offer_id: offerId,
      },
      { selling: native, buying: usd, amount: '100000000', price: '0.25' },
      (op) =>
        xdr.OperationBody.manageSellOffer(
          new xdr.ManageSellOfferOp({ selling: op.selling, buying: op.buying, amount: op.amount, price: op.price, offerId: op.offer_id }),
        ),
    ),
    manage_buy_offer: listed(
      'Makes, changes or deletes an offer that names what it buys.',
      {
        selling,
        buying,
        buy_amount: required(kinds.amount(0), 'The amount to buy. 0 deletes the offer.'),
        price: required(kinds.price, 'The price of one unit of the bought asset, in units of the sold one.'),
        offer_id: offerId,
      },
      { selling: native, buying: usd, buy_amount: '25000000', price: { n: 4, d: 1 } },
      (op) =>
        xdr.OperationBody.manageBuyOffer(
          new xdr.ManageBuyOfferOp({
            selling: op.selling,
            buying: op.buying,
            buyAmount: op.buy_amount,
            price: op.price,
            offerId: op.offer_id,
          }),
        ),
    ),
    create_passive_sell_offer: listed(
      'Makes an offer that does not take offers at the same price.',
      { selling, buying, amount: required(kinds.amount(1), 'The amount to sell.'), price: required(kinds.price, offerPrice) },
      { selling: native, buying: usd, amount: '100000000', price: '0.25' },
      (op) =>
        xdr.OperationBody.createPassiveSellOffer(
          new xdr.CreatePassiveSellOfferOp({ selling: op.selling, buying: op.buying, amount: op.amount, price: op.price }),
        ),
    ),
    set_options: listed(
      "Changes an account's options. Master weight, thresholds and signers need `allow_account_changes` with `signers`, the flag AUTH_IMMUTABLE with `immutable`.",
      {
        inflation_dest: optional(kinds.account, 'The inflation destination.', null),
        clear_flags: optional(
          kinds.number(1, 15),
          'Flags to clear: 1 AUTH_REQUIRED, 2 AUTH_REVOCABLE, 4 AUTH_IMMUTABLE, 8 AUTH_CLAWBACK_ENABLED.',
          null,
        ),
        set_flags: optional(kinds.number(1, 15), 'Flags to set, the same.', null),
        master_weight: optional(kinds.number(0, 255), "The weight of the account's own key.", null),
        low_threshold: optional(kinds.number(0, 255), 'The low threshold.', null),
        med_threshold: optional(kinds.number(0, 255), 'The medium threshold.', null),
        high_threshold: optional(kinds.number(0, 255), 'The high threshold.', null),
        signer: optional(kinds.signer, 'A signer to add, change or, with weight 0, remove.', null),
        home_domain: optional(kinds.homeDomain, 'The home domain; empty removes it.', null),
      },
      { home_domain: 'example.com' },
      (op) =>
        xdr.OperationBody.setOptions(
          new xdr.SetOptionsOp({
            inflationDest: op.inflation_dest,
            clearFlags: op.clear_flags,
            setFlags: op.set_flags,
            masterWeight: op.master_weight,
            lowThreshold: op.low_threshold,
            medThreshold: op.med_threshold,
            highThreshold: op.high_threshold,
            signer: op.signer,
            homeDomain: op.home_domain,
          }),
        ),
    ),
    change_trust: listed(
      'Makes, changes or removes a trust line.',
      {
        asset: required(kinds.trustLine, 'The asset, or the pool whose shares the line holds.'),
        limit: optional(kinds.amount(0), 'The most that the line can hold. 0 removes the line. Absent: the maximum.', maxInt64),
      },
      { asset: usd, limit: '1000000000' },
      (op) => xdr.OperationBody.changeTrust(new xdr.ChangeTrustOp({ line: op.asset, limit: op.limit })),
    ),
    allow_trust: listed(
      'Authorizes a trust line of an asset that the account issues. The protocol replaces it by `set_trust_line_flags`.',
      {
        trustor: required(kinds.account, 'The account of the line.'),
        asset_code: required(kinds.assetCode, 'The code of the asset.'),
        authorize: required(kinds.number(0, 2), '0 not authorized, 1 authorized, 2 authorized to keep its offers.'),
      },
      { trustor: account, asset_code: 'USD', authorize: 1 },
      (op) => xdr.OperationBody.allowTrust(new xdr.AllowTrustOp({ trustor: op.trustor, asset: op.asset_code, authorize: op.authorize })),
    ),
    set_trust_line_flags: listed(
      'Changes the flags of a trust line of an asset that the account issues.',
      {
        trustor: required(kinds.account, 'The account of the line.'),
        asset: required(kinds.asset, 'The asset; the account of the operation issues it.'),
        flags: required(kinds.trustFlags, 'The flags: true sets, false clears, absent keeps.'),
      },
      { trustor: account, asset: usd, flags: { authorized: true } },
      (op) => xdr.OperationBody.setTrustLineFlags(new xdr.SetTrustLineFlagsOp({ trustor: op.trustor, asset: op.asset, ...op.flags })),
    ),
    account_merge: listed(
      'Ends the account and pays its whole balance. Needs `allow_account_changes` with `account_merge`.',
      { destination: required(kinds.receiver, 'The receiver of the balance.') },
      { destination: account },
      (op) => xdr.OperationBody.accountMerge(op.destination),
    ),
    inflation: listed('Runs the inflation, which the protocol ended: the network answers `NOT_TIME`.', {}, {}, () =>
      xdr.OperationBody.inflation(),
    ),
    manage_data: listed(
      'Sets or removes a named value of the account.',
      {
        name: required(kinds.dataName, 'The name.'),
        value: optional(kinds.dataValue, 'The value. Absent: removes it.', null),
      },
      { name: 'config.memo_required', value: '31' },
      (op) => xdr.OperationBody.manageData(new xdr.ManageDataOp({ dataName: op.name, dataValue: op.value })),
    ),
    bump_sequence: listed(
      'Skips sequence numbers of the account. A number above 0 needs `allow_account_changes` with `bump_sequence`.',
      { bump_to: required(kinds.count, 'The new sequence number.') },
      { bump_to: '0' },
      (op) => xdr.OperationBody.bumpSequence(new xdr.BumpSequenceOp({ bumpTo: op.bump_to })),
    ),
    create_claimable_balance: listed(
      'Sets an amount aside for claimants.',
      {
        asset: required(kinds.asset, 'The asset.'),
        amount: required(kinds.amount(1), 'The amount.'),
        claimants: required(kinds.claimants, 'Who can claim it, and when.'),
      },
      { asset: native, amount: '10000000', claimants: [{ destination: account, predicate: { not: { before_relative_time: '3600' } } }] },
      (op) =>
        xdr.OperationBody.createClaimableBalance(
          new xdr.CreateClaimableBalanceOp({ asset: op.asset, amount: op.amount, claimants: [...op.claimants] }),
        ),
    ),
    claim_claimable_balance: listed('Claims a balance.', { balance_id: balanceId }, { balance_id: balance }, (op) =>
      xdr.OperationBody.claimClaimableBalance(new xdr.ClaimClaimableBalanceOp({ balanceId: op.balance_id })),
    ),
    begin_sponsoring_future_reserves: listed(
      'Pays the reserves of what another account makes next, until its `end_sponsoring_future_reserves` in the same transaction.',
      { sponsored_id: required(kinds.account, 'The sponsored account.') },
      { sponsored_id: account },
      (op) => xdr.OperationBody.beginSponsoringFutureReserves(new xdr.BeginSponsoringFutureReservesOp({ sponsoredId: op.sponsored_id })),
    ),
    end_sponsoring_future_reserves: listed('Ends that sponsorship; the sponsored account is the source of the operation.', {}, {}, () =>
      xdr.OperationBody.endSponsoringFutureReserves(),
    ),
    revoke_account_sponsorship: listed(
      'Ends or hands on the sponsorship of an account. Needs `allow_account_changes` with `revoke_sponsorship`, as the next six.',
      { account: required(kinds.account, 'The account.') },
      { account },
      (op) => entries(xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: op.account }))),
    ),
    revoke_trustline_sponsorship: listed(
      'Ends or hands on the sponsorship of a trust line.',
      {
        account: required(kinds.account, 'The account of the line.'),
        asset: required(kinds.trustLine, 'The asset, or the pool whose shares the line holds.'),
      },
      { account, asset: usd },
      (op) =>
        entries(xdr.LedgerKey.trustline(new xdr.LedgerKeyTrustLine({ accountId: op.account, asset: kinds.trustLineAsset(op.asset) }))),
    ),
    revoke_offer_sponsorship: listed(
      'Ends or hands on the sponsorship of an offer.',
      { seller: required(kinds.account, 'The account of the offer.'), offer_id: required(kinds.count, 'The offer.') },
      { seller: account, offer_id: '12345' },
      (op) => entries(xdr.LedgerKey.offer(new xdr.LedgerKeyOffer({ sellerId: op.seller, offerId: op.offer_id }))),
    ),
    revoke_data_sponsorship: listed(
      'Ends or hands on the sponsorship of a named value.',
      { account: required(kinds.account, 'The account of the value.'), name: required(kinds.dataName, 'The name.') },
      { account, name: 'config.memo_required' },
      (op) => entries(xdr.LedgerKey.data(new xdr.LedgerKeyData({ accountId: op.account, dataName: op.name }))),
    ),
    revoke_claimable_balance_sponsorship: listed(
      'Hands on the sponsorship of a claimable balance.',
      { balance_id: balanceId },
      { balance_id: balance },
      (op) => entries(xdr.LedgerKey.claimableBalance(new xdr.LedgerKeyClaimableBalance({ balanceId: op.balance_id }))),
    ),
    revoke_liquidity_pool_sponsorship: listed(
      'Names a pool. Pools have no sponsor: the network answers that it does not exist, or that it is malformed.',
      { liquidity_pool_id: poolShares },
      { liquidity_pool_id: hash },
      (op) => entries(xdr.LedgerKey.liquidityPool(new xdr.LedgerKeyLiquidityPool({ liquidityPoolId: op.liquidity_pool_id }))),
    ),
    revoke_signer_sponsorship: listed(
      'Ends or hands on the sponsorship of a signer.',
      { account: required(kinds.account, 'The account of the signer.'), signer: required(kinds.signerKey, 'The signer.') },
      { account, signer: { ed25519_public_key: issuer } },
      (op) => {
        const signer = new xdr.RevokeSponsorshipOpSigner({ accountId: op.account, signerKey: op.signer });
        return xdr.OperationBody.revokeSponsorship(xdr.RevokeSponsorshipOp.revokeSponsorshipSigner(signer));
      },
    ),
    clawback: listed(
      'Takes an asset that the account issues back from a holder.',
      {
        asset: required(kinds.asset, 'The asset; the account of the operation issues it.'),
        amount: required(kinds.amount(1), 'The amount.'),
        from: required(kinds.receiver, 'The holder.'),
      },
      { asset: usd, amount: '10000000', from: account },
      (op) => xdr.OperationBody.clawback(new xdr.ClawbackOp({ asset: op.asset, amount: op.amount, from: op.from })),
    ),
    clawback_claimable_balance: listed(
      'Takes a claimable balance of an asset that the account issues back.',
      { balance_id: balanceId },
      { balance_id: balance },
      (op) => xdr.OperationBody.clawbackClaimableBalance(new xdr.ClawbackClaimableBalanceOp({ balanceId: op.balance_id })),
    ),
    liquidity_pool_deposit: listed(
      'Deposits both assets of a pool, for shares.',
      {
        liquidity_pool_id: poolShares,
        max_amount_a: required(kinds.amount(1), 'The most of the first asset.'),
        max_amount_b: required(kinds.amount(1), 'The most of the second asset.'),
        min_price: required(kinds.price, 'The least price of the deposit: the first amount divided by the second.'),
        max_price: required(kinds.price, 'The highest price of the deposit.'),
      },
      { liquidity_pool_id: hash, max_amount_a: '10000000', max_amount_b: '10000000', min_price: '0.9', max_price: '1.1' },
      (op) =>
        xdr.OperationBody.liquidityPoolDeposit(
          new xdr.LiquidityPoolDepositOp({
            liquidityPoolId: op.liquidity_pool_id,
            maxAmountA: op.max_amount_a,
            maxAmountB: op.max_amount_b,
            minPrice: op.min_price,
            maxPrice: op.max_price,
          }),
        ),
    ),
    liquidity_pool_withdraw: listed(
      'Withdraws both assets of a pool, for shares.',
      {
        liquidity_pool_id: poolShares,
        amount: required(kinds.amount(1), 'The shares.'),
        min_amount_a: required(kinds.amount(0), 'The least of the first asset.'),
        min_amount_b: required(kinds.amount(0), 'The least of the second asset.'),
      },
      { liquidity_pool_id: hash, amount: '10000000', min_amount_a: '9000000', min_amount_b: '9000000' },
      (op) =>
        xdr.OperationBody.liquidityPoolWithdraw(
          new xdr.LiquidityPoolWithdrawOp({
            liquidityPoolId: op.liquidity_pool_id,
            amount: op.amount,
            minAmountA: op.min_amount_a,
            minAmountB: op.min_amount_b,
          }),
        ),
    ),
    extend_footprint_ttl: listed(
      'Extends the life of contract entries. A contract operation: the only one of its transaction, with a resource fee.',
      { keys, extend_to: required(kinds.number(1, 4_294_967_295), 'The ledgers from now on that they live at least.') },
      { keys: [ledgerKey], extend_to: 17280 },
      (op) => ({
        body: xdr.OperationBody.extendFootprintTtl(new xdr.ExtendFootprintTtlOp({ ext: xdr.ExtensionPoint.v0(), extendTo: op.extend_to })),
        footprint: new xdr.LedgerFootprint({ readOnly: [...op.keys], readWrite: [] }),
      }),
    ),
    restore_footprint: listed(
      'Restores archived contract entries. A contract operation: the only one of its transaction, with a resource fee.',
      { keys },
      { keys: [ledgerKey] },
      (op) => ({
        body: xdr.OperationBody.restoreFootprint(new xdr.RestoreFootprintOp({ ext: xdr.ExtensionPoint.v0() })),
        footprint: new xdr.LedgerFootprint({ readOnly: [], readWrite: [...op.keys] }),
      }),
    ),
  }),
);
