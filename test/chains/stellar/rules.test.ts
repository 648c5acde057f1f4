import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  Account,
  Address,
  Asset,
  Claimant,
  Contract,
  Keypair,
  MuxedAccount,
  nativeToScVal,
  Operation,
  TransactionBuilder,
  xdr,
} from '@stellar/stellar-sdk';
import fc from 'fast-check';
import { contentFromRequest } from '../../../src/chains/stellar/content.js';
import { whyForbidden } from '../../../src/chains/stellar/policy.js';
import { costsOf, judge } from '../../../src/chains/stellar/rules.js';
import { onNetwork } from '../../../src/core/records/on-network.js';
import type { PartRule } from '../../../src/core/records/spending-rule.js';
import type { StellarContent } from '../../../src/core/records/stellar.js';
import { partRuleProblems, ruleShapes } from '../../../src/core/rules/part-rule-problems.js';
import { syntaxes, textProblem } from '../../../src/core/text/text-syntax.js';
import { anyKey, anyRules, boundless, type DescribedPart, expectedOf, nothing, shownOf, unread } from '../../support/part-rules.js';
import { runs } from '../../support/runs.js';
import { stellarNetwork, stellarRelayer } from '../../support/stellar.js';

const { passphrase } = stellarNetwork();
const accountOf = (seed: number) => Keypair.fromRawEd25519Seed(Buffer.alloc(32, seed)).publicKey();
const [own, other, alice, bob, issuer] = [accountOf(1), accountOf(2), accountOf(3), accountOf(4), accountOf(5)];
const muxedAlice = new MuxedAccount(new Account(alice, '0'), '7').accountId();
const dollar = new Asset('USD', issuer);
const nativeContract = Asset.native().contractId(passphrase);
const dollarContract = dollar.contractId(passphrase);
const token = new Asset('TOKEN', issuer).contractId('another network');
const units = (amount: bigint) => `0.${String(amount).padStart(7, '0')}`;

/** An operation and what the page says about it. */
interface Row extends DescribedPart {
  readonly operation: xdr.Operation;
}

const invoke = (contract: string, name: string, args: xdr.ScVal[], auth: xdr.SorobanAuthorizationEntry[] = []) => {
  const { body } = xdr.Operation.fromXdr(new Contract(contract).call(name, ...args).toXdr());
  if (body.type !== 'invokeHostFunction') assert.fail();
  const { hostFunction } = body.invokeHostFunctionOp;
  const given = xdr.OperationBody.invokeHostFunction(new xdr.InvokeHostFunctionOp({ hostFunction, auth }));
  return new xdr.Operation({ sourceAccount: null, body: given });
};
const addressOf = (text: string) => Address.fromString(text).toScVal();
const transferArgs = (to: string, amount: bigint) => [addressOf(own), addressOf(to), nativeToScVal(amount, { type: 'i128' })];

/** An authorization of a call by the source account. */
function authorized(contract: string, name: string, args: xdr.ScVal[], inner: xdr.SorobanAuthorizedInvocation[] = []) {
  const contractFn = new xdr.InvokeContractArgs({
    contractAddress: Address.fromString(contract).toScAddress(),
    functionName: name,
    args,
  });
  return new xdr.SorobanAuthorizedInvocation({
    function: xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(contractFn),
    subInvocations: inner,
  });
}
const bySource = (rootInvocation: xdr.SorobanAuthorizedInvocation) =>
  new xdr.SorobanAuthorizationEntry({
    credentials: xdr.SorobanCredentials.sorobanCredentialsSourceAccount(),
    rootInvocation,
  });

/** Every way in which a body could pay, with what rules see of it. */
function rowsOf(to: string, receiver: string, amount: bigint, source?: string): Readonly<Record<string, Row>> {
  const of = source === undefined ? {} : { source };
  const native = [{ asset: 'native', amount, known: true }];
  const dollars = [{ asset: `USD:${issuer}`, amount, known: true }];
  const to1 = { ...nothing, receivers: [receiver] };
  const paid = (asset: string, units = amount) => ({
    ...{ mayPay: null, paid: [{ asset, amount: units, known: false }] },
    native: asset === 'native' ? { amount: units, isAll: true } : { amount: 0n, isAll: false },
  });
  const dark = { mayPay: null, paid: null };
  const shown = { native: { amount, isAll: false } };
  const path = { destination: to, path: [], ...of };
  const call = { ...nothing, kind: 'invoke_contract' };
  const args = transferArgs(to, amount);
  const drain = authorized(dollarContract, 'transfer', transferArgs(bob, 1_000n));
  const reserves = 10_000_000n;
  const claimants = [new Claimant(receiver), new Claimant(bob)];
  return {
    payment: {
      ...{ ...to1, kind: 'payment', paid: native },
      operation: Operation.payment({ destination: to, asset: Asset.native(), amount: units(amount), ...of }),
    },
    'payment of an asset': {
      ...{ ...to1, kind: 'payment', paid: dollars },
      operation: Operation.payment({ destination: to, asset: dollar, amount: units(amount), ...of }),
    },
    'account creation': {
      ...{ ...to1, kind: 'create_account', paid: native },
      operation: Operation.createAccount({ destination: receiver, startingBalance: units(amount), ...of }),
    },
    'path payment of at most': {
      ...{ ...to1, kind: 'path_payment_strict_receive', mayPay: null, paid: native, bought: `USD:${issuer}` },
      operation: Operation.pathPaymentStrictReceive({
        ...path,
        sendAsset: Asset.native(),
        sendMax: units(amount),
        destAsset: dollar,
        destAmount: units(1n),
      }),
    },
    'path payment of exactly': {
      ...{ ...to1, kind: 'path_payment_strict_send', mayPay: null, paid: dollars, bought: 'native' },
      operation: Operation.pathPaymentStrictSend({
        ...path,
        sendAsset: dollar,
        sendAmount: units(amount),
        destAsset: Asset.native(),
        destMin: units(1n),
      }),
    },
    'path payment of an asset for less of it': {
      ...{ ...to1, kind: 'path_payment_strict_send', mayPay: null, paid: native, bought: 'native' },
      operation: Operation.pathPaymentStrictSend({
        ...path,
        ...{ sendAsset: Asset.native(), sendAmount: units(amount), destAsset: Asset.native(), destMin: units(1n) },
      }),
    },
    'claimable balance': {
      ...{ ...nothing, kind: 'create_claimable_balance', receivers: [receiver, bob] },
      paid: [{ asset: 'native', amount: amount + reserves, known: true }],
      operation: Operation.createClaimableBalance({ asset: Asset.native(), amount: units(amount), claimants, ...of }),
    },
    'claimable balance of an asset': {
      ...{ ...nothing, kind: 'create_claimable_balance', receivers: [receiver, bob] },
      paid: [...dollars, { asset: 'native', amount: reserves, known: true }],
      operation: Operation.createClaimableBalance({ asset: dollar, amount: units(amount), claimants, ...of }),
    },
    'account merge': {
      ...{ ...to1, kind: 'account_merge', ...dark },
      operation: Operation.accountMerge({ destination: to, ...of }),
    },
    offer: {
      ...{ ...nothing, kind: 'manage_sell_offer', ...dark, ...shown },
      operation: Operation.manageSellOffer({ selling: Asset.native(), buying: dollar, amount: units(amount), price: 1, ...of }),
    },
    'buy offer': {
      ...{ ...nothing, kind: 'manage_buy_offer', ...dark },
      operation: Operation.manageBuyOffer({ selling: dollar, buying: Asset.native(), buyAmount: units(amount), price: 1, ...of }),
    },
    'pool deposit': {
      ...{ ...nothing, kind: 'liquidity_pool_deposit', ...dark, ...shown },
      operation: Operation.liquidityPoolDeposit({
        ...{ liquidityPoolId: 'ab'.repeat(32), maxAmountA: units(amount), maxAmountB: units(amount), minPrice: '1', maxPrice: '2' },
        ...of,
      }),
    },
    options: { ...{ ...nothing, kind: 'set_options' }, operation: Operation.setOptions({ homeDomain: 'a.example', ...of }) },
    clawback: {
      ...{ ...nothing, kind: 'clawback' },
      operation: Operation.clawback({ asset: new Asset('OWN', own), from: to, amount: units(amount), ...of }),
    },
    'token transfer': {
      ...{ ...call, call: 'transfer', receivers: [token, receiver], ...paid(token) },
      operation: invoke(token, 'transfer', args),
    },
    'transfer by the contract of an asset': {
      ...{ ...call, call: 'transfer', receivers: [dollarContract, receiver], ...paid(`USD:${issuer}`) },
      operation: invoke(dollarContract, 'transfer', args),
    },
    'transfer by the contract of the native asset': {
      ...{ ...call, call: 'transfer', receivers: [nativeContract, receiver], ...paid('native') },
      operation: invoke(nativeContract, 'transfer', args, [bySource(authorized(nativeContract, 'transfer', args))]),
    },
    'transfer that may pay another token': {
      ...{ ...call, call: 'transfer', receivers: [token, receiver], ...dark },
      operation: invoke(token, 'transfer', args, [bySource(authorized(token, 'transfer', args, [drain]))]),
    },
    'transfer with another authorization': {
      ...{ ...call, call: 'transfer', receivers: [token, receiver], ...dark },
      operation: invoke(token, 'transfer', args, [bySource(drain)]),
    },
    'transfer of a wide amount': {
      ...{ ...call, call: 'transfer', receivers: [token, receiver], ...paid(token, (5n << 64n) + amount) },
      operation: invoke(token, 'transfer', transferArgs(to, (5n << 64n) + amount)),
    },
    'transfer of less than nothing': {
      ...{ ...call, call: 'transfer', receivers: [token, receiver], ...dark },
      operation: invoke(token, 'transfer', transferArgs(to, -1n - amount)),
    },
    'transfer with an amount of another type': {
      ...{ ...call, call: 'transfer', receivers: [token, receiver], ...dark },
      operation: invoke(token, 'transfer', [addressOf(own), addressOf(to), nativeToScVal(amount, { type: 'u128' })]),
    },
    'transfer with one argument more': {
      ...{ ...call, call: 'transfer', receivers: [token], ...dark },
      operation: invoke(token, 'transfer', [...args, nativeToScVal(1n, { type: 'i128' })]),
    },
    'transfer with an allowance': {
      ...{ ...call, call: 'transfer_from', receivers: [token], ...dark },
      operation: invoke(token, 'transfer_from', [addressOf(own), ...args]),
    },
    approval: { ...{ ...call, call: 'approve', receivers: [token], ...dark }, operation: invoke(token, 'approve', args) },
    'creation of a contract': {
      ...{ ...nothing, kind: 'create_contract', ...dark },
      operation: Operation.createCustomContract({ address: Address.fromString(own), wasmHash: Buffer.alloc(32, 1), ...of }),
    },
    'reserves of others': {
      ...{ ...nothing, kind: 'begin_sponsoring_future_reserves', ...dark },
      operation: Operation.beginSponsoringFutureReserves({ sponsoredId: receiver, ...of }),
    },
  };
}

const content = (operations: readonly xdr.Operation[]): StellarContent => ({
  network: 'stellar',
  kind: 'operations',
  sourceAccount: own,
  operations: operations.map((operation) => operation.toXdr('base64')),
  memo: xdr.Memo.memoNone().toXdr('base64'),
  auth: 'given',
  sorobanData: null,
  minTimeS: 0n,
  maxTimeS: null,
  validityMs: null,
  maxFeeStroops: null,
});

/** An envelope that another account has numbered and signed. */
function feeBump(): StellarContent {
  const inner = new TransactionBuilder(new Account(alice, '1'), { fee: '100', networkPassphrase: passphrase })
    .addOperation(Operation.payment({ destination: bob, asset: Asset.native(), amount: '1' }))
    .setTimeout(0)
    .build();
  inner.sign(Keypair.fromRawEd25519Seed(Buffer.alloc(32, 3)));
  const request = {
    ...({ network: 'stellar', networkName: 'local', operations: [], transactionXdr: inner.toXDR(), feeBump: true } as const),
    ...{ sourceAccount: undefined, memo: undefined, validUntilMs: undefined, maxFeeStroops: undefined },
  };
  const { network, policies } = stellarRelayer(own);
  if (network.type !== 'stellar') assert.fail();
  return contentFromRequest(request, { network, account: own, policies: onNetwork('stellar', policies), nowMs: 0, earlier: null }).content;
}

const any: PartRule = {
  ...{ id: 'any', effect: 'allow', kinds: null, calls: null, to: null, assets: null, maxAmount: null, maxCost: null, apiKeyIds: null },
  limits: [],
  approvals: null,
  approvalMs: null,
};
const problemsOf = (rules: readonly PartRule[]) => partRuleProblems('rules', rules, ruleShapes.stellar);
const judged = (rules: readonly PartRule[], sent: StellarContent, key: string | null) =>
  judge(sent, stellarRelayer(own, { rules }), key === null ? { apiKeyId: null } : { apiKeyId: key });

/** One text for what is the same: here, an asset and its contract. */
const sameAs = (text: string): string => {
  if (text === muxedAlice) return alice;
  return { [nativeContract]: 'native', [dollarContract]: `USD:${issuer}` }[text] ?? text;
};
const names = { sameAs, isCall: (named: string, call: string) => named === call };
/** A fee bump that takes a slot bids ten times as much for two operations; one of an envelope pays for one operation more. */
const [leastFee, leastFeeOfBump] = [2_000n, 200n];

const rows = [alice, bob, muxedAlice].flatMap((to) =>
  [1n, 2n, 150n].flatMap((amount) =>
    [undefined, other].flatMap((source) => Object.values(rowsOf(to, to === muxedAlice ? alice : to, amount, source))),
  ),
);
const part = fc.constantFrom(...rows);
/** The relayer pays the fee alone. */
const bumpPart: DescribedPart = { ...unread, native: { amount: 0n, isAll: true } };

const rules = anyRules({
  kinds: [
    ...['payment', 'create_account', 'path_payment_strict_receive', 'path_payment_strict_send', 'create_claimable_balance'],
    ...['invoke_contract', 'set_options', 'manage_sell_offer'],
  ],
  calls: ['transfer', 'approve', 'transfer_from'],
  to: [alice, bob, muxedAlice, token, nativeContract, dollarContract],
  assets: ['native', `USD:${issuer}`, token, nativeContract],
  costs: [200n, 2_000n, 2_001n, 2_300n, 20_002_150n],
});

describe('rules on a Stellar network', () => {
  it('judge random rules and operations as an evaluator does that shares no code with them', () => {
    const seen = new Map<string, number>();
    const bumped = feeBump();
    fc.assert(
      fc.property(rules, fc.array(part, { maxLength: 2 }), anyKey, (all, parts, key) => {
        const usable = all.filter((one) => problemsOf([one]).length === 0);
        fc.pre(usable.length > 0);
        const sent = parts.length === 0 ? bumped : content(parts.map(({ operation }) => operation));
        const found = shownOf(judged(usable, sent, key), key);
        const [kind = ''] = found.split(' ');
        seen.set(kind, (seen.get(kind) ?? 0) + 1);
        if (found.includes(': ') && !found.endsWith(': ')) seen.set('counted', (seen.get('counted') ?? 0) + 1);
        const wording = { ...names, leastFee: parts.length === 0 ? leastFeeOfBump : leastFee };
        assert.equal(found, expectedOf(usable, parts.length === 0 ? [bumpPart] : parts, key, wording));
        const judgement = judged(usable, sent, key);
        const stored = judgement?.verdict === 'allow' ? judgement.maxCost : undefined;
        const accepted = { ...sent, ...(stored === undefined ? {} : { maxCost: stored }) };
        const approvals = kind === 'approve' ? Number(found.split(' ')[1]) : 0;
        // Whose keys it was is not known any more: its maximum stays.
        if (stored !== undefined) assert.deepEqual(costsOf(accepted, stellarRelayer(own, { rules: usable }), approvals).bound, stored);
        // What was accepted is not denied later, when its key is not known.
        if (kind === 'allow' || kind === 'approve') {
          const relayer = stellarRelayer(own, { rules: usable, allowAccountChanges, operationSourceAccounts });
          assert.equal(whyForbidden(sent, relayer, kind === 'approve' ? Number(found.split(' ')[1]) : 0), null);
        }
      }),
      { numRuns: runs(8_000) },
    );
    for (const kind of ['allow', 'deny', 'approve', 'counted']) assert.ok((seen.get(kind) ?? 0) > 50, `${kind}: ${seen.get(kind)}`);
  });

  it('with approve in place of deny, and any maximum and limits, no rule allows more without approval', () => {
    let denied = 0;
    fc.assert(
      fc.property(rules, fc.nat({ max: 4 }), part, anyKey, (all, at, { operation }, key) => {
        const place = at % all.length;
        const asking = all.map((one, index) => (index === place ? { ...one, effect: 'approve' as const } : one));
        fc.pre(problemsOf(asking).length === 0);
        const denying = asking.map((one, index) =>
          index === place ? { ...boundless(one), effect: 'deny' as const, approvals: null, approvalMs: null } : one,
        );
        const before = judged(denying, content([operation]), key);
        if (before?.verdict !== 'deny' || before.ruleId !== asking[place]?.id) return;
        denied += 1;
        const judgement = judged(asking, content([operation]), key);
        assert.ok(judgement?.verdict === 'deny' || judgement?.approval != null);
      }),
      { numRuns: runs(8_000) },
    );
    assert.ok(denied > 100, String(denied));
  });

  it('a payment that the limits of a rule that asks for approvals do not count goes to no rule that allows', () => {
    const dollars: PartRule = {
      ...{ ...any, id: 'dollars', effect: 'approve', assets: [`USD:${issuer}`] },
      limits: [{ asset: `USD:${issuer}`, amount: 5n, windowMs: 60_000, per: 'relayer' }],
    };
    const all = rowsOf(alice, alice, 5n, undefined);
    const shown = (asking: PartRule, name: keyof typeof all) => {
      const judgement = judged([asking, { ...any, id: 'rest' }], content([(all[name] ?? assert.fail()).operation]), null);
      return judgement?.verdict === 'deny' ? judgement.description : judgement?.approval?.ruleId;
    };
    const what = 'claimable balance of an asset';
    assert.equal(shown(dollars, 'payment of an asset'), 'dollars');
    assert.match(String(shown(dollars, what)), /^is denied by the rule dollars, which is for a part of its asset/);
    assert.equal(shown({ ...dollars, assets: null }, what), 'is denied by the rule dollars, which has no limit for all that it pays');
    const small = { ...dollars, maxAmount: 4n };
    assert.equal(shown(small, 'payment of an asset'), 'is denied by the rule dollars, which lets at most 4 be approved');
  });

  it('each body that could walk past a limit is counted against it, or refused by its rule', () => {
    const payouts: PartRule = {
      ...any,
      id: 'payouts',
      limits: ['native', `USD:${issuer}`, token].map((asset) => ({ asset, amount: 5n, windowMs: 60_000, per: 'relayer' })),
    };
    const verdicts = (source?: string) =>
      Object.fromEntries(
        Object.entries(rowsOf(muxedAlice, alice, 9n, source)).map(([name, { operation }]) => {
          const judgement = judged([payouts], content([operation]), null);
          return [name, judgement?.verdict === 'allow' ? judgement.spends.map(({ limit, amount }) => [limit.asset, amount]) : 'refused'];
        }),
      );
    const expected = {
      payment: [['native', 9n]],
      'payment of an asset': [[`USD:${issuer}`, 9n]],
      'account creation': [['native', 9n]],
      'path payment of at most': [['native', 9n]],
      'path payment of exactly': [[`USD:${issuer}`, 9n]],
      'path payment of an asset for less of it': [['native', 9n]],
      'claimable balance': [['native', 10_000_009n]],
      'claimable balance of an asset': [
        ['native', 10_000_000n],
        [`USD:${issuer}`, 9n],
      ],
      'account merge': 'refused',
      offer: 'refused',
      'buy offer': 'refused',
      'pool deposit': 'refused',
      options: 'refused',
      clawback: 'refused',
      'token transfer': [[token, 9n]],
      'transfer by the contract of an asset': [[`USD:${issuer}`, 9n]],
      'transfer by the contract of the native asset': [['native', 9n]],
      'transfer that may pay another token': 'refused',
      'transfer with another authorization': 'refused',
      'transfer of a wide amount': [[token, (5n << 64n) + 9n]],
      'transfer of less than nothing': 'refused',
      'transfer with an amount of another type': 'refused',
      'transfer with one argument more': 'refused',
      'transfer with an allowance': 'refused',
      approval: 'refused',
      'creation of a contract': 'refused',
      'reserves of others': 'refused',
    };
    assert.deepEqual(verdicts(), expected);
    assert.deepEqual(verdicts(other), expected, 'the relayer signs for the accounts of its operations, too');
    assert.equal(judged([payouts], feeBump(), null)?.verdict, 'deny');
    assert.equal(judged([any], feeBump(), null)?.verdict, 'allow');
  });

  it('a rule that names types is for what cannot be counted, and the amounts of a transaction count together', () => {
    const { options, payment } = rowsOf(alice, alice, 9n);
    if (options === undefined || payment === undefined) assert.fail();
    assert.equal(judged([{ ...any, kinds: ['set_options'] }], content([options.operation]), null)?.verdict, 'allow');
    const limited: PartRule = { ...any, limits: [{ asset: 'native', amount: 5n, windowMs: 60_000, per: 'relayer' }] };
    const twice = judged([limited], content([payment.operation, payment.operation]), null);
    assert.deepEqual(twice?.verdict === 'allow' && twice.spends.map(({ amount }) => amount), [18n]);
    const mixed = judged([limited], content([payment.operation, options.operation]), null);
    assert.deepEqual(
      mixed?.verdict === 'deny' && `${mixed.field} ${mixed.description}`,
      'operations[1] is allowed by no rule of the relayer; the closest, any, is not for its asset',
    );
  });

  it('an unlisted contract is never taken at its word, and a transaction that only restores entries is the service’s own', () => {
    const { 'token transfer': transfer } = rowsOf(alice, alice, 1n);
    const small: PartRule = { ...any, maxAmount: 5n };
    assert.equal(judged([small], content([transfer?.operation ?? assert.fail()]), null)?.verdict, 'deny');
    const restore = new xdr.Operation({
      sourceAccount: null,
      body: xdr.OperationBody.restoreFootprint(new xdr.RestoreFootprintOp({ ext: xdr.ExtensionPoint.v0() })),
    });
    assert.equal(judged([small], content([restore]), null)?.verdict, 'deny', 'callers need a rule for it');
    assert.equal(whyForbidden(content([restore]), stellarRelayer(own, { rules: [small] }), 0), null);
  });

  it('nothing that a rule cannot read walks past one that denies, and money goes only to the receivers of one that allows', () => {
    const verdict = (rules: readonly PartRule[], name: string) =>
      judged(rules, content([rowsOf(alice, alice, 9n)[name]?.operation ?? assert.fail()]), null);
    const denied = (rule: Partial<PartRule>, name: string) => verdict([{ ...any, id: 'never', effect: 'deny', ...rule }, any], name);
    const toOthers = { to: [accountOf(9)] };
    for (const name of [
      'path payment of exactly',
      'offer',
      'transfer with an allowance',
      'transfer with another authorization',
      'account merge',
    ])
      assert.equal(denied(toOthers, name)?.verdict, 'deny', name);
    for (const name of ['payment', 'claimable balance', 'options']) assert.equal(denied(toOthers, name)?.verdict, 'allow', name);
    const ofDollars = { assets: [`USD:${issuer}`] };
    for (const name of ['transfer that may pay another token', 'token transfer', 'path payment of at most', 'offer'])
      assert.equal(denied(ofDollars, name)?.verdict, 'deny', name);
    for (const name of ['payment', 'clawback']) assert.equal(denied(ofDollars, name)?.verdict, 'allow', name);
    const bump = judged([{ ...any, id: 'never', effect: 'deny', kinds: ['account_merge'] }, any], feeBump(), null);
    assert.deepEqual(bump?.verdict === 'deny' && bump.description, 'is denied by the rule never, which cannot read its type');

    const small = 'path payment of an asset for less of it';
    assert.equal(verdict([{ ...any, to: [alice] }], small)?.verdict, 'deny', 'offers get the rest');
    assert.equal(verdict([{ ...any, to: [alice], kinds: ['path_payment_strict_send'] }], small)?.verdict, 'allow', 'the rule names it');
    const native = { to: [alice], kinds: ['path_payment_strict_receive'], assets: ['native'] };
    assert.equal(verdict([{ ...any, ...native }], 'path payment of at most')?.verdict, 'deny', 'the receiver gets another asset');
    assert.equal(verdict([{ ...any, maxAmount: 9n, assets: ['native'] }], 'claimable balance')?.verdict, 'deny', 'it locks reserves');
  });

  it('every operation of the protocol has a type that rules can name', () => {
    const types = Object.keys(xdr.OperationType)
      .filter((name) => name !== 'schema')
      .map((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
    const unnamed = types.filter((type) => textProblem(syntaxes.stellar_operation, type) !== undefined);
    assert.deepEqual(unnamed, ['invoke_host_function'], 'which has a type for each function of the host');
    assert.ok(types.length >= 20, types.join());
  });
});

const allowAccountChanges = ['account_merge'] as const;
const operationSourceAccounts = [other];
