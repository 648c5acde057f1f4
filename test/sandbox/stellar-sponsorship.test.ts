import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Asset, Claimant, Keypair, Operation, type xdr } from '@stellar/stellar-sdk';
import { emptyState, type LedgerState, newAccount } from '../../src/sandbox/stellar/state.js';
import { header, runOperation } from '../support/stellar-rules.js';

const [sponsor, owner, issuer, made, other] = Array.from({ length: 5 }, () => Keypair.random().publicKey()) as [
  string,
  string,
  string,
  string,
  string,
];
const usd = new Asset('USD', issuer);
const lumens = 1_000_000_000n;
const begin = (sponsoredId: string) => Operation.beginSponsoringFutureReserves({ sponsoredId });
const end = Operation.endSponsoringFutureReserves({});
const claimants = [new Claimant(owner), new Claimant(other)];
const signer = { ed25519PublicKey: other, weight: 1 };

/** A ledger in which the owner has only the reserve of its account. */
function ledger(): LedgerState {
  const state = emptyState();
  for (const id of [sponsor, issuer, other]) state.accounts.set(id, { ...newAccount(id, lumens, header), sequence: 1n });
  state.accounts.set(owner, newAccount(owner, 2n * header.baseReserveStroops, header));
  return state;
}

function expectCodes(state: LedgerState, steps: readonly (readonly [source: string, operation: xdr.Operation, code: string])[]): void {
  for (const [source, operation, code] of steps) assert.equal(runOperation(state, source, operation), code);
}

/** Who pays reserves: what the sponsor pays for others, what others pay for the owner, and the owner's entries. */
function counts(state: LedgerState, of = owner): readonly unknown[] {
  const owned = state.accounts.get(of);
  return [state.accounts.get(sponsor)?.sponsoring, owned?.sponsored, owned?.subEntries];
}

/** What the owner makes and ends, and how the sponsorship is revoked. */
const entries: Readonly<Record<string, { make: xdr.Operation; end: xdr.Operation; revoke: xdr.Operation; low: string }>> = {
  'a trust line': {
    make: Operation.changeTrust({ asset: usd }),
    end: Operation.changeTrust({ asset: usd, limit: '0' }),
    revoke: Operation.revokeTrustlineSponsorship({ account: owner, asset: usd }),
    low: 'changeTrustLowReserve',
  },
  'a named value': {
    make: Operation.manageData({ name: 'key', value: 'value' }),
    end: Operation.manageData({ name: 'key', value: null }),
    revoke: Operation.revokeDataSponsorship({ account: owner, name: 'key' }),
    low: 'manageDataLowReserve',
  },
  'a signer': {
    make: Operation.setOptions({ signer }),
    end: Operation.setOptions({ signer: { ...signer, weight: 0 } }),
    revoke: Operation.revokeSignerSponsorship({ account: owner, signer: { ed25519PublicKey: other } }),
    low: 'setOptionsLowReserve',
  },
};

describe('sponsored reserves on the local Stellar ledger', () => {
  for (const [name, entry] of Object.entries(entries)) {
    it(`${name}: its sponsor pays the reserve until it ends`, () => {
      const state = ledger();
      assert.equal(runOperation(state, owner, entry.make), entry.low);
      const fresh = ledger();
      assert.equal(runOperation(fresh, sponsor, begin(owner)), 'beginSponsoringFutureReservesSuccess');
      assert.match(runOperation(fresh, owner, entry.make), /Success$/);
      assert.equal(runOperation(fresh, owner, end), 'endSponsoringFutureReservesSuccess');
      assert.deepEqual(counts(fresh), [1, 1, 1]);
      assert.match(runOperation(fresh, owner, entry.end), /Success$/);
      assert.deepEqual(counts(fresh), [0, 0, 0]);
    });

    it(`${name}: its sponsor can leave the reserve to an owner that can pay it`, () => {
      const state = ledger();
      runOperation(state, sponsor, begin(owner));
      runOperation(state, owner, entry.make);
      runOperation(state, owner, end);
      assert.equal(runOperation(state, other, entry.revoke), 'revokeSponsorshipNotSponsor');
      assert.equal(runOperation(state, sponsor, entry.revoke), 'revokeSponsorshipLowReserve');
      const account = state.accounts.get(owner) ?? assert.fail();
      state.accounts.set(owner, { ...account, balanceStroops: lumens });
      assert.equal(runOperation(state, sponsor, entry.revoke), 'revokeSponsorshipSuccess');
      assert.deepEqual(counts(state), [0, 0, 1]);
      assert.equal(runOperation(state, sponsor, entry.revoke), 'revokeSponsorshipNotSponsor');
    });
  }

  it('an account: starts without lumens, and gives the reserve back when it is merged', () => {
    const state = ledger();
    expectCodes(state, [
      [sponsor, Operation.createAccount({ destination: made, startingBalance: '0' }), 'createAccountLowReserve'],
      [sponsor, begin(made), 'beginSponsoringFutureReservesSuccess'],
    ]);
    expectCodes(state, [
      [sponsor, Operation.createAccount({ destination: made, startingBalance: '0' }), 'createAccountSuccess'],
      [made, end, 'endSponsoringFutureReservesSuccess'],
    ]);
    assert.deepEqual(counts(state, made), [2, 2, 0]);
    const later = state.accounts.get(made) ?? assert.fail();
    state.accounts.set(made, { ...later, sequence: 1n });
    expectCodes(state, [
      [sponsor, Operation.accountMerge({ destination: other }), 'accountMergeIsSponsor'],
      [made, Operation.accountMerge({ destination: sponsor }), 'accountMergeSuccess'],
    ]);
    assert.equal(state.accounts.get(sponsor)?.sponsoring, 0);
  });

  it('an offer and a claimable balance: their sponsor pays, and a claimable balance is only handed on', () => {
    const state = ledger();
    const account = state.accounts.get(owner) ?? assert.fail();
    state.accounts.set(owner, { ...account, balanceStroops: account.balanceStroops + 200n });
    const balance = Operation.createClaimableBalance({ asset: Asset.native(), amount: '0.0000005', claimants });
    expectCodes(state, [
      [sponsor, begin(owner), 'beginSponsoringFutureReservesSuccess'],
      [owner, Operation.changeTrust({ asset: usd }), 'changeTrustSuccess'],
      [
        owner,
        Operation.manageSellOffer({ selling: Asset.native(), buying: usd, amount: '0.0000100', price: '1' }),
        'manageSellOfferSuccess',
      ],
      [owner, balance, 'createClaimableBalanceSuccess'],
      [owner, end, 'endSponsoringFutureReservesSuccess'],
    ]);
    assert.deepEqual(counts(state), [4, 2, 2]);
    const [found = assert.fail()] = state.balances.values();
    const balanceId = found.id.toXdr('hex');
    expectCodes(state, [
      [owner, Operation.revokeOfferSponsorship({ seller: owner, offerId: '1' }), 'revokeSponsorshipNotSponsor'],
      [sponsor, Operation.revokeClaimableBalanceSponsorship({ balanceId }), 'revokeSponsorshipOnlyTransferable'],
      [other, begin(sponsor), 'beginSponsoringFutureReservesSuccess'],
      [sponsor, Operation.revokeClaimableBalanceSponsorship({ balanceId }), 'revokeSponsorshipSuccess'],
      [sponsor, Operation.revokeOfferSponsorship({ seller: owner, offerId: '1' }), 'revokeSponsorshipSuccess'],
      [sponsor, end, 'endSponsoringFutureReservesSuccess'],
      [owner, Operation.claimClaimableBalance({ balanceId }), 'claimClaimableBalanceSuccess'],
    ]);
    assert.deepEqual([...counts(state), state.accounts.get(other)?.sponsoring], [1, 2, 2, 1]);
  });

  it('refusals: a sponsorship that is in force, that goes round, that does not exist, or of nothing', () => {
    const state = ledger();
    expectCodes(state, [
      [sponsor, begin(sponsor), 'beginSponsoringFutureReservesMalformed'],
      [owner, end, 'endSponsoringFutureReservesNotSponsored'],
      [sponsor, begin(owner), 'beginSponsoringFutureReservesSuccess'],
      [other, begin(owner), 'beginSponsoringFutureReservesAlreadySponsored'],
      [owner, begin(other), 'beginSponsoringFutureReservesRecursive'],
      [other, begin(sponsor), 'beginSponsoringFutureReservesRecursive'],
      [owner, Operation.revokeDataSponsorship({ account: owner, name: 'none' }), 'revokeSponsorshipDoesNotExist'],
    ]);
  });
});
