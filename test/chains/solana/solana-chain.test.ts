import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { address, getAddressEncoder, type Instruction } from '@solana/kit';
import { base64From } from '../../../src/chains/solana/base64.js';
import { computeBudgetOf } from '../../../src/chains/solana/compute-budget.js';
import { lookupTableProgram } from '../../../src/chains/solana/programs.js';
import { createSolanaChain } from '../../../src/chains/solana/solana-chain.js';
import { type Message, messageBytes, transactionBytes, transactionFromBytes } from '../../../src/chains/solana/wire.js';
import type { Fate, Refusal } from '../../../src/core/ports/chain.js';
import { onNetwork } from '../../../src/core/relayer/on-network.js';
import type { SolanaPolicies } from '../../../src/core/relayer/relayer.js';
import type { SolanaDraft, SolanaRequest } from '../../../src/core/transaction/solana.js';
import type { Attempt } from '../../../src/core/transaction/transaction.js';
import { buildTransaction, signerOf } from '../../local-chains/solana/build-transaction.js';
import { newest } from '../../local-chains/solana/chain.js';
import { transferOf, unitLimitOf, unitPriceOf } from '../../local-chains/solana/instructions.js';
import { startSolana } from '../../local-chains/solana/start-solana.js';
import { solanaKey, solanaRelayer, solanaRequest, transferInstruction } from '../../support/solana.js';
import { silentLog } from '../../support/stored-samples.js';

const funds = 10n ** 10n;
const other = await signerOf(7);
const to = (await signerOf(8)).address;

async function rigOf(test: TestContext, { lamports = funds }: { lamports?: bigint } = {}) {
  const key = solanaKey();
  const payer = address(key.address);
  const accounts = [
    { address: payer, lamports },
    { address: other.address, lamports: funds },
    { address: to, lamports: funds },
  ];
  const solana = await startSolana({ accounts });
  const warnings: string[] = [];
  const relayer = solanaRelayer(payer, {}, { rpcUrls: [{ url: solana.url, weight: 100 }], averageBlockTimeMs: 1 });
  const network = relayer.network;
  if (network.type !== 'solana') throw new Error('it is on Solana');
  const log = { ...silentLog, warn: (_fields: object, message: string) => void warnings.push(message) };
  const chain = createSolanaChain({ network, rpcUrls: network.rpcUrls, rpcTimeoutMs: 2_000, log });
  const { standalone } = chain;
  if (standalone === null) throw new Error('its transactions stand alone');
  test.after(async () => {
    await chain.close();
    await solana.stop();
  });

  async function draft(request: Partial<SolanaRequest>, policies: Partial<SolanaPolicies> = {}): Promise<SolanaDraft | Refusal> {
    const judged = solanaRelayer(payer, policies);
    const { content } = chain.contentOf(solanaRequest(request), { relayer: judged, nowMs: Date.now(), earlier: null });
    const made = await chain.draft({ relayer: judged, content, outbids: [], validUntilMs: null });
    return 'refused' in made ? made : onNetwork('solana', made);
  }

  async function drafted(request: Partial<SolanaRequest>, policies?: Partial<SolanaPolicies>): Promise<SolanaDraft> {
    const made = await draft(request, policies);
    assert.ok(
      !('refused' in made),
      JSON.stringify(made, (_, part) => (typeof part === 'bigint' ? part.toString() : part)),
    );
    return made;
  }

  async function refused(request: Partial<SolanaRequest>, policies?: Partial<SolanaPolicies>): Promise<Refusal> {
    const made = await draft(request, policies);
    assert.ok('refused' in made, 'it was made');
    return made;
  }

  async function signed(made: SolanaDraft): Promise<Attempt> {
    const version = await chain.sign(made, null, key.signer);
    const lane = {
      chain: 'solana:test',
      account: payer,
      transactionId: 't',
      version: 1,
      purpose: 'content',
      nonce: null,
      createdAtMs: 0,
    } as const;
    return { ...lane, ...version };
  }

  async function sent(request: Partial<SolanaRequest>): Promise<Attempt> {
    const attempt = await signed(await drafted(request));
    assert.deepEqual(await chain.broadcastAll([attempt.raw]), [{ kind: 'accepted' }]);
    return attempt;
  }

  async function fateOf(attempt: Attempt): Promise<Fate> {
    const fate = (await standalone?.fates([attempt]))?.get(attempt.hash);
    assert.ok(fate !== undefined);
    return fate;
  }

  /** Makes blocks, and lets the chain see them. */
  async function advance(blocks = 1): Promise<void> {
    solana.chain.advance(blocks);
    await chain.head();
  }

  async function built(
    instructions: readonly Instruction[],
    version: 'legacy' | 0 = 'legacy',
    signers: readonly (typeof other)[] = [],
  ): Promise<string> {
    const { hash: blockhash } = solana.chain.tip(newest);
    return base64From(await buildTransaction({ payer, instructions, blockhash, version, signers }));
  }

  return { key, payer, solana, chain, relayer, warnings, draft, drafted, refused, signed, sent, fateOf, advance, built };
}

function messageOf({ message, signatures }: SolanaDraft): Message {
  const missing = signatures.map(() => new Uint8Array(64));
  return transactionFromBytes(transactionBytes(missing, Buffer.from(message, 'base64'))).message;
}

describe('a Solana cluster', () => {
  it('tells its genesis, its newest confirmed block and balances', async (test) => {
    const { chain, solana, payer, advance } = await rigOf(test);
    assert.equal(await chain.genesisHash(), solana.chain.genesisHash);
    await advance(3);
    const confirmed = solana.chain.tip({ ...newest, commitment: 'confirmed' });
    const first = await chain.head();
    assert.deepEqual([first.number, first.hash], [confirmed.slot, confirmed.slot.toString()]);
    assert.deepEqual(await chain.head(), first);
    assert.equal(await chain.balanceOf(payer), funds);
    assert.equal(await chain.balanceOf(solanaKey().address), 0n);
  });
});

describe('a version', () => {
  it('of instructions is bound to the newest blockhash, with what was missing of its budget', async (test) => {
    const { payer, solana, drafted, signed, fateOf, chain, advance } = await rigOf(test);
    solana.chain.pool.lowestBidMicroLamports = 1_000_000n;
    await advance(160);
    const made = await drafted({ instructions: [transferInstruction(payer, to, 5n)] });
    const message = messageOf(made);
    const { unitLimit, unitPriceMicroLamports } = computeBudgetOf(message);
    assert.ok(unitLimit !== null && unitLimit >= 1_000 && unitLimit < 10_000);
    assert.equal(unitPriceMicroLamports, 1_000_000n);
    assert.equal(made.feeLamports, 5_000n + BigInt(unitLimit));
    assert.equal(made.costLamports, made.feeLamports + 5n);
    const { hash, height, slot } = solana.chain.tip({ ...newest, commitment: 'confirmed' });
    assert.deepEqual([made.recentBlockhash, made.lastValidBlockHeight, made.sinceSlot], [hash, height + 150n, slot]);
    const attempt = await signed(made);
    await chain.broadcastAll([attempt.raw]);
    await advance();
    assert.equal((await fateOf(attempt)).kind, 'landed');
    assert.equal(solana.chain.account(payer, newest)?.lamports, funds - made.costLamports);
  });

  it('of a transaction that the relayer signs alone gets the newest blockhash and what was missing; the rest stays', async (test) => {
    const { payer, drafted, built, advance, solana } = await rigOf(test);
    const plain = [transferOf(payer, to, 5n)];
    for (const version of ['legacy', 0] as const) {
      const transaction = await built(plain, version);
      await advance(200);
      const message = messageOf(await drafted({ transaction }));
      assert.equal(message.version, version);
      assert.equal(message.blockhash, solana.chain.tip({ ...newest, commitment: 'confirmed' }).hash);
      assert.ok(computeBudgetOf(message).unitLimit !== null);
      const priced = messageOf(await drafted({ transaction: await built([...plain, unitPriceOf(77n)], version) }));
      assert.deepEqual(computeBudgetOf(priced), { unitLimit: null, unitPriceMicroLamports: 77n });
      const limited = messageOf(await drafted({ transaction: await built([...plain, unitLimitOf(7_777)], version) }));
      assert.equal(computeBudgetOf(limited).unitLimit, 7_777);
    }
  });

  it('of a transaction that others signed stays as they signed it', async (test) => {
    const { drafted, built, signed, chain, advance, fateOf, solana } = await rigOf(test);
    const transaction = await built([transferOf(other.address, to, 5n)], 0, [other]);
    const { height } = solana.chain.tip(newest);
    const made = await drafted({ transaction });
    assert.equal(made.message, base64From(Buffer.from(transaction, 'base64').subarray(1 + 2 * 64)));
    assert.equal(made.lastValidBlockHeight, height + 150n);
    assert.deepEqual([made.feeLamports, made.costLamports], [10_000n, 10_000n]);
    const attempt = await signed(made);
    await chain.broadcastAll([attempt.raw]);
    await advance();
    assert.equal((await fateOf(attempt)).kind, 'landed');
  });

  it('bids no more than policy allows, and not at all where nobody does', async (test) => {
    const { payer, solana, drafted, advance } = await rigOf(test);
    const request = { instructions: [transferInstruction(payer, to, 5n)] };
    assert.equal(computeBudgetOf(messageOf(await drafted(request))).unitPriceMicroLamports, null);
    solana.chain.pool.lowestBidMicroLamports = 10n ** 12n;
    await advance(160);
    const capped = await drafted(request, { maxAllowedFeeLamports: 6_000n });
    assert.ok(capped.feeLamports > 5_900n && capped.feeLamports <= 6_000n, String(capped.feeLamports));
    const uncapped = await drafted(request);
    assert.ok(uncapped.feeLamports > 9_000_000n && uncapped.feeLamports <= 10_005_000n, String(uncapped.feeLamports));
  });

  it('is never the same as another, where the relayer signs alone', async (test) => {
    const { payer, drafted, refused, signed, built, advance } = await rigOf(test);
    const request = { instructions: [transferInstruction(payer, to, 5n)] };
    const versions = await Promise.all(Array.from({ length: 8 }, async () => signed(await drafted(request))));
    assert.equal(new Set(versions.map(({ hash }) => hash)).size, 8);
    // Nothing of this one may be varied.
    const transaction = await built([transferOf(payer, to, 5n), unitPriceOf(1n)]);
    const first = await signed(await drafted({ transaction }));
    assert.deepEqual(await refused({ transaction }), {
      refused: 'reverts',
      sentence:
        'another transaction says exactly the same with the newest blockhash, and the network would take them for one: it waits for the next',
      lasting: false,
    });
    await advance();
    assert.notEqual((await signed(await drafted({ transaction }))).hash, first.hash);
  });
});

describe('a version is refused', () => {
  it('when it would fail, with what the program said', async (test) => {
    const { payer, refused } = await rigOf(test);
    const transfer = transferInstruction(payer, to, 5n);
    const garbage = { ...transfer, data: Buffer.from([99, 0, 0, 0]).toString('base64') };
    assert.deepEqual(await refused({ instructions: [transfer, garbage] }), {
      refused: 'reverts',
      sentence: 'the transaction would fail: instruction 1 failed with InvalidInstructionData',
      lasting: true,
    });
    const newAccount = { ...transferInstruction(payer, solanaKey().address, 1n) };
    const poor = await refused({ instructions: [newAccount] });
    assert.equal(poor.refused, 'reverts');
    assert.match(poor.sentence, /^the transaction would fail: InsufficientFundsForRent/);
  });

  it('while the account cannot pay it and keep what must remain', async (test) => {
    const { payer, refused, drafted } = await rigOf(test, { lamports: 1_000_000n });
    const of = (lamports: bigint) => ({ instructions: [transferInstruction(payer, to, lamports)] });
    assert.deepEqual(await refused(of(995_001n)), {
      refused: 'insufficient_funds',
      sentence: 'insufficient funds: the account has 1000000 lamports, the transaction may cost 1000001 lamports',
      lasting: false,
    });
    assert.deepEqual(await refused(of(10_000n), { minBalanceLamports: 985_001n }), {
      refused: 'insufficient_funds',
      sentence:
        'insufficient funds: the account has 1000000 lamports, the transaction may cost 15000 lamports, and 985001 lamports must remain',
      lasting: false,
    });
    assert.equal((await drafted(of(10_000n), { minBalanceLamports: 985_000n })).costLamports, 15_000n);
  });

  it('when its fee is above what policy allows', async (test) => {
    const { payer, refused } = await rigOf(test);
    const request = { instructions: [transferInstruction(payer, to, 5n)] };
    await assert.rejects(refused(request, { maxAllowedFeeLamports: 4_999n }), /costs a fee of 5000 lamports: at most 4999/);
  });

  it('when others signed it with a blockhash that is not valid: lastingly after a while, since ours may lag', async (test) => {
    const { built, refused, advance } = await rigOf(test);
    const transaction = await built([transferOf(other.address, to, 5n)], 0, [other]);
    await advance(200);
    const sentence = 'its blockhash has expired or is not known to the network, and others signed it, so that it cannot get another';
    assert.deepEqual(await refused({ transaction }), { refused: 'reverts', sentence, lasting: false });
    test.mock.timers.enable({ apis: ['Date'], now: Date.now() + 10_000 });
    assert.deepEqual(await refused({ transaction }), { refused: 'reverts', sentence, lasting: true });
  });
});

describe('accounts behind tables', () => {
  const table = address(solanaKey().address);
  const behind = [to, address(solanaKey().address)];

  async function rigWithTable(test: TestContext) {
    const rig = await rigOf(test);
    const header = Buffer.alloc(56);
    header.writeUInt32LE(1, 0);
    header.writeBigUInt64LE(2n ** 64n - 1n, 4);
    const keys = behind.map((key) => Buffer.from(getAddressEncoder().encode(key)));
    rig.solana.chain.putAccount(table, {
      lamports: 10n ** 9n,
      owner: lookupTableProgram,
      data: new Uint8Array(Buffer.concat([header, ...keys])),
      executable: false,
    });
    const data = new Uint8Array(Buffer.from(transferInstruction(rig.payer, to, 5n).data, 'base64'));
    const lookup = (index: number, at = table): string => {
      const message: Message = {
        version: 0,
        signers: 1,
        readonlySigners: 0,
        readonlyOthers: 1,
        accounts: [rig.payer, address('11111111111111111111111111111111')],
        blockhash: rig.solana.chain.tip(newest).hash,
        instructions: [{ program: 1, accounts: [0, 2], data }],
        tables: [{ table: at, writable: [index], readonly: [] }],
      };
      return base64From(transactionBytes([new Uint8Array(64)], messageBytes(message)));
    };
    return { ...rig, lookup };
  }

  it('are used, and are not looked up where no policy judges accounts', async (test) => {
    const { lookup, sent, advance, fateOf, solana } = await rigWithTable(test);
    const attempt = await sent({ transaction: lookup(0) });
    await advance();
    const fate = await fateOf(attempt);
    assert.ok(fate.kind === 'landed' && fate.receipt.succeeded);
    assert.equal(solana.node.calls.get('getMultipleAccounts'), undefined);
  });

  it('are judged by the policies when a version is made', async (test) => {
    const { lookup, drafted, refused, payer } = await rigWithTable(test);
    const system = '11111111111111111111111111111111';
    assert.ok(await drafted({ transaction: lookup(0) }, { allowedAccounts: [system, to] }));
    assert.ok(await drafted({ transaction: lookup(0) }, { disallowedAccounts: [behind[1] ?? '', payer] }));
    const cases: readonly (readonly [string, Partial<SolanaPolicies>, string])[] = [
      [lookup(0), { disallowedAccounts: [to] }, `the transaction uses the account ${to}, which is in the relayer's disallowed_accounts`],
      [
        lookup(1),
        { allowedAccounts: [system, to] },
        `the transaction uses the account ${behind[1]}, which the relayer's allowed_accounts does not have`,
      ],
      [lookup(2), { allowedAccounts: [system, to] }, `the transaction looks up account 2 of the table ${table}, which has no such account`],
      [lookup(0, to), { allowedAccounts: [system, to] }, `the transaction looks accounts up in ${to}, which is no table`],
    ];
    for (const [transaction, policies, sentence] of cases) {
      assert.deepEqual(await refused({ transaction }, policies), { refused: 'reverts', sentence, lasting: true });
    }
  });
});

describe('the fate of a version', () => {
  it('is open, then landed, then final; a block that is taken back opens it again', async (test) => {
    const { payer, sent, advance, fateOf, solana, chain } = await rigOf(test);
    const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    assert.deepEqual(await fateOf(attempt), { kind: 'open' });
    await advance();
    const { slot } = solana.chain.tip(newest);
    const receipt = { hash: attempt.hash, blockNumber: slot, blockHash: slot.toString(), succeeded: true, facts: null };
    assert.deepEqual(await fateOf(attempt), { kind: 'landed', isFinal: false, receipt });
    solana.chain.takeBack(1);
    assert.deepEqual(await fateOf(attempt), { kind: 'open' });
    await chain.broadcastAll([attempt.raw]);
    await advance(40);
    const fate = await fateOf(attempt);
    assert.ok(fate.kind === 'landed' && fate.isFinal && fate.receipt.succeeded);
  });

  it('tells of a failure, and why', async (test) => {
    const { payer, signed, drafted, advance, fateOf, chain, relayer, solana } = await rigOf(test);
    const attempt = await signed(await drafted({ instructions: [transferInstruction(payer, to, funds - 5_000_000n)] }));
    const meanwhile = await signed(await drafted({ instructions: [transferInstruction(payer, to, 10_000_000n)] }));
    await chain.broadcastAll([meanwhile.raw]);
    await advance();
    await chain.broadcastAll([attempt.raw]);
    await advance(2);
    const fate = await fateOf(attempt);
    assert.ok(fate.kind === 'landed' && !fate.receipt.succeeded);
    const words = "failed on chain: instruction 0 failed with the program's error 1 (0x1)";
    assert.match(
      await chain.whyFailed(fate.receipt, relayer),
      new RegExp(`^${words.replace(/[()]/g, '\\$&')}: Transfer: insufficient lamports`),
    );
    solana.node.condition.keepsHistory = false;
    assert.equal(await chain.whyFailed(fate.receipt, relayer), words);
    await solana.node.stop();
    assert.equal(await chain.whyFailed(fate.receipt, relayer), 'failed on chain');
  });

  it('is dead once the finalized chain has passed its last block, and not before', async (test) => {
    const { payer, sent, advance, fateOf, solana } = await rigOf(test);
    const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    solana.chain.pool.take(0n);
    const { lastValidBlockHeight } = onNetwork('solana', attempt.fields);
    const finalizedHeight = () => solana.chain.tip({ ...newest, commitment: 'finalized' }).height;
    await advance(Number(lastValidBlockHeight - finalizedHeight()));
    assert.equal(finalizedHeight(), lastValidBlockHeight);
    assert.deepEqual(await fateOf(attempt), { kind: 'open' });
    await advance();
    assert.deepEqual(await fateOf(attempt), { kind: 'dead', sentence: 'its blockhash expired before a block took it' });
  });

  it('stays open where nodes cannot tell: history dropped, none kept, or not come so far', async (test) => {
    const { payer, sent, advance, fateOf, solana, warnings } = await rigOf(test);
    const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    await advance();
    const { slot } = solana.chain.tip(newest);
    await advance(600);
    const { condition } = solana.node;
    condition.historyFromSlot = slot + 1n;
    assert.deepEqual(await fateOf(attempt), { kind: 'open' }, 'a block holds it that the node has dropped');
    condition.keepsHistory = false;
    assert.deepEqual(await fateOf(attempt), { kind: 'open' });
    assert.deepEqual(await fateOf(attempt), { kind: 'open' });
    assert.equal(warnings.filter((message) => message.includes('seem gone')).length, 1);
    condition.keepsHistory = true;
    condition.historyFromSlot = 0n;
    condition.historyGap = { from: slot, to: slot };
    assert.deepEqual(await fateOf(attempt), { kind: 'open' }, 'the node was down when its block came');
    condition.historyGap = null;
    assert.equal((await fateOf(attempt)).kind, 'landed');
  });

  it('is lost after a day without a node that could tell', async (test) => {
    const { payer, sent, advance, fateOf, solana } = await rigOf(test);
    const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    await advance(600);
    solana.node.condition.historyFromSlot = solana.chain.tip(newest).slot;
    const fields = onNetwork('solana', attempt.fields);
    const finalizedHeight = solana.chain.tip({ ...newest, commitment: 'finalized' }).height;
    const ended = (lastValidBlockHeight: bigint): Attempt => ({ ...attempt, fields: { ...fields, lastValidBlockHeight } });
    assert.deepEqual(await fateOf(ended(finalizedHeight - 216_000n)), { kind: 'open' });
    assert.deepEqual(await fateOf(ended(finalizedHeight - 216_001n)), { kind: 'lost' });
  });

  it('is asked of at most 256 at a time', async (test) => {
    const { payer, drafted, signed, chain, solana, advance } = await rigOf(test);
    const attempts: Attempt[] = [];
    for (let made = 0; made < 3; made += 1)
      attempts.push(await signed(await drafted({ instructions: [transferInstruction(payer, to, 5n)] })));
    const [first] = attempts;
    assert.ok(first !== undefined);
    const many = Array.from({ length: 257 }, () => first);
    await advance();
    const fates = await chain.standalone?.fates([...attempts, ...many]);
    assert.equal(fates?.size, 3);
    assert.equal(solana.node.calls.get('getSignatureStatuses'), 2);
  });
});
