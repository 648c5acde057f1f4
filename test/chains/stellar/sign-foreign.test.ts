import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Account, Asset, Claimant, type Keypair, MuxedAccount, Operation, TransactionBuilder, type xdr } from '@stellar/stellar-sdk';
import { createStellarChain } from '../../../src/chains/stellar/stellar-chain.js';
import type { DomainError } from '../../../src/core/errors/errors.js';
import type { StellarPolicies } from '../../../src/core/records/relayer.js';
import { type StellarNode, startStellar } from '../../../src/sandbox/stellar/server.js';
import { stellarKey, stellarNetwork, stellarRelayer } from '../../support/stellar.js';
import { silentLog } from '../../support/stored-samples.js';

const own = stellarKey();
const user = stellarKey();
const network = stellarNetwork({ rpcUrls: [{ url: 'http://127.0.0.1:9', weight: 100 }] });

/** A payment by the relayer's account that this account numbers and pays the fee of. */
function envelope(payer: string, fee: string) {
  return new TransactionBuilder(new Account(payer, '6'), { fee, networkPassphrase: network.passphrase })
    .addOperation(Operation.payment({ destination: user.address, asset: Asset.native(), amount: '1', source: own.address }))
    .setTimeout(0)
    .build();
}

it('signing an envelope: a fee that the relayer pays is within its max_fee, and the fee of another is its own', (test) => {
  const chain = createStellarChain({ network, rpcUrls: network.rpcUrls, rpcTimeoutMs: 1_000, log: silentLog });
  test.after(() => chain.close());
  const relayer = stellarRelayer(own.address, { maxFeeStroops: 500n });
  const check = (transaction: string): string | null => {
    try {
      chain.signForeign?.check(transaction, relayer);
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };
  const inner = envelope(user.address, '100');
  inner.sign(user.keys);
  const bumped = (fee: string) => TransactionBuilder.buildFeeBumpTransaction(own.keys, fee, inner, network.passphrase).toXDR();
  assert.deepEqual(
    {
      'a plain envelope at the limit': check(envelope(own.address, '500').toXDR()),
      'a plain envelope above it': check(envelope(own.address, '501').toXDR()),
      "another's envelope": check(envelope(user.address, '501').toXDR()),
      'a fee bump at the limit': check(bumped('250')),
      'a fee bump above it': check(bumped('251')),
    },
    {
      'a plain envelope at the limit': null,
      'a plain envelope above it': "unsigned_xdr has a fee of 501 stroops; the relayer's policy max_fee allows at most 500",
      "another's envelope": null,
      'a fee bump at the limit': null,
      'a fee bump above it': "unsigned_xdr has a fee of 502 stroops; the relayer's policy max_fee allows at most 500",
    },
  );
});

describe('signing an envelope with another account', () => {
  const treasury = stellarKey();
  const stroops = 1_000_000_000n;

  /** Nodes of a ledger on which the relayer's key is a signer of the treasury. */
  async function start(test: TestContext, count = 1) {
    const accounts = Object.fromEntries([own, user, treasury].map(({ address }) => [address, stroops]));
    const node = await startStellar({ accounts });
    const nodes = [node, ...(await Promise.all(Array.from({ length: count - 1 }, () => startStellar({ ledger: node.ledger }))))];
    test.after(() => Promise.all(nodes.map((one) => one.stop())));
    const state = node.ledger.latest().state;
    const known = state.accounts.get(treasury.address);
    assert.ok(known !== undefined);
    state.accounts.set(treasury.address, { ...known, signers: [{ key: own.address, weight: 1 }], subEntries: 1 });
    const local = stellarNetwork({ passphrase: node.ledger.passphrase, rpcUrls: nodes.map(({ url }, at) => ({ url, weight: 100 - at })) });
    const chain = createStellarChain({ network: local, rpcUrls: local.rpcUrls, rpcTimeoutMs: 2_000, log: silentLog });
    test.after(() => chain.close());
    const sign = async (transaction: string, policies: Partial<StellarPolicies> = {}) =>
      chain.signForeign?.sign(transaction, stellarRelayer(own.address, policies), own.signer);
    return { node, nodes, sign };
  }

  /** An envelope of a payer with these operations, which these keys have signed. */
  function envelopeOf(
    { ledger }: StellarNode,
    payer: string,
    operations: readonly xdr.Operation[],
    signers: readonly Keypair[] = [],
  ): string {
    const sequence = ledger.latest().state.accounts.get(payer)?.sequence ?? 0n;
    const builder = new TransactionBuilder(new Account(payer, String(sequence)), { fee: '1000', networkPassphrase: ledger.passphrase });
    for (const operation of operations) builder.addOperation(operation);
    const built = builder.setTimeout(0).build();
    built.sign(...signers);
    return built.toXdr();
  }

  const pay = (source: string) => Operation.payment({ destination: user.address, asset: Asset.native(), amount: '1', source });
  const touch = Operation.bumpSequence({ bumpTo: '0', source: own.address });
  const muxed = new MuxedAccount(new Account(treasury.address, '0'), '7').accountId();
  const attacks: Readonly<Record<string, readonly [payer: string, operations: readonly xdr.Operation[], signers: readonly Keypair[]]>> = {
    'an operation of it': [own.address, [pay(treasury.address)], []],
    'an operation of it as a muxed account': [own.address, [touch, pay(muxed)], []],
    "an operation of it in another one's transaction": [user.address, [touch, pay(treasury.address)], [user.keys]],
    'a transaction of it': [treasury.address, [touch, pay(treasury.address)], []],
    'a claimable balance of it': [
      own.address,
      [
        Operation.createClaimableBalance({
          asset: Asset.native(),
          amount: '1',
          claimants: [new Claimant(user.address)],
          source: treasury.address,
        }),
      ],
      [],
    ],
    'a sponsorship by it': [
      user.address,
      [
        touch,
        Operation.beginSponsoringFutureReserves({ sponsoredId: user.address, source: treasury.address }),
        Operation.manageData({ name: 'x', value: 'y' }),
        Operation.endSponsoringFutureReserves({}),
      ],
      [user.keys],
    ],
    'an end of its ability to sign': [own.address, [Operation.setOptions({ masterWeight: 0, source: treasury.address })], []],
  };

  for (const [name, [payer, operations, signers]] of Object.entries(attacks)) {
    it(`is refused if the relayer's key is a signer of it, unless the policy names it: ${name}`, async (test) => {
      const { node, sign } = await start(test);
      const transaction = envelopeOf(node, payer, operations, signers);
      await assert.rejects(sign(transaction), (error: DomainError) => {
        const isNamed = error.message.startsWith(`unsigned_xdr acts for ${treasury.address}, of which the relayer's key is a signer`);
        return error.reason === 'RECEIVER_NOT_ALLOWED' && isNamed;
      });
      const named = { operationSourceAccounts: [treasury.address], allowAccountChanges: ['signers'] } as const;
      const signed = await sign(transaction, named);
      node.ledger.submit(signed?.transaction ?? '');
      assert.equal(node.ledger.close().transactions[0]?.isSuccess, true, 'the signature suffices');
    });
  }

  it('is refused if one node of two shows the signer', async (test) => {
    const { node, nodes, sign } = await start(test, 2);
    const transaction = envelopeOf(node, own.address, [pay(treasury.address)]);
    // The first one lags behind the ledger that made the relayer a signer.
    node.ledger.close();
    nodes[0]?.setBehind(1);
    await assert.rejects(sign(transaction), { reason: 'RECEIVER_NOT_ALLOWED' });
  });

  it('is signed if the other account has signers of its own, who sign before or after', async (test) => {
    const { node, sign } = await start(test);
    const operations = [
      Operation.beginSponsoringFutureReserves({ sponsoredId: user.address, source: own.address }),
      Operation.manageData({ name: 'x', value: 'y', source: user.address }),
      Operation.endSponsoringFutureReserves({ source: user.address }),
    ];
    const signed = await sign(envelopeOf(node, user.address, operations));
    const both = TransactionBuilder.fromXdr(signed?.transaction ?? '', node.ledger.passphrase);
    both.sign(user.keys);
    node.ledger.submit(both.toXdr());
    assert.equal(node.ledger.close().transactions[0]?.isSuccess, true);
  });

  it('needs a node for that, and none otherwise', async (test) => {
    const { node, nodes, sign } = await start(test);
    const [foreign, alone] = [pay(user.address), pay(own.address)].map((one) => envelopeOf(node, own.address, [one])) as [string, string];
    await nodes[0]?.stop();
    assert.ok(await sign(alone));
    await assert.rejects(sign(foreign), { reason: 'NODE_UNAVAILABLE' });
  });
});
