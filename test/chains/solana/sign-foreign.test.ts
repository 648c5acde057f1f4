import assert from 'node:assert/strict';
import { after, describe, it, type TestContext } from 'node:test';
import { AccountRole, address } from '@solana/kit';
import { createRpc } from '../../../src/chains/rpc/rpc.js';
import { solanaDialect } from '../../../src/chains/solana/dialect.js';
import { hasSigned, signatureText } from '../../../src/chains/solana/sign.js';
import { signForeignTransaction } from '../../../src/chains/solana/sign-foreign.js';
import { transactionFromBytes } from '../../../src/chains/solana/wire.js';
import type { DomainError } from '../../../src/core/errors/errors.js';
import type { SolanaPolicies } from '../../../src/core/records/relayer.js';
import { buildTransaction, signerOf } from '../../../src/sandbox/solana/build-transaction.js';
import { transferOf } from '../../../src/sandbox/solana/instructions.js';
import { rememberingLog } from '../../support/evm.js';
import { answering, startFakeNode } from '../../support/fake-node.js';
import { solanaKey, solanaNetwork, solanaRelayer } from '../../support/solana.js';
import { strictRefusals, strictSolanaPolicies } from '../../support/solana-refusals.js';
import { builtTransaction, rawTransaction, someBlockhash, withSignature } from '../../support/solana-samples.js';

const key = solanaKey();
const relayer = key.address;
const other = await signerOf(7);
const to = (await signerOf(8)).address;

/** Without a node that answers. */
const sign = (transaction: string, policies: Partial<SolanaPolicies> = {}) =>
  signForeignTransaction(unreachable, transaction, solanaRelayer(relayer, policies), key.signer);

const network = solanaNetwork();
const rpcOf = (urls: readonly string[]) =>
  createRpc(
    { network, rpcUrls: urls.map((url, index) => ({ url, weight: 100 - index })), rpcTimeoutMs: 60_000, log: rememberingLog() },
    solanaDialect,
  );
const unreachable = rpcOf(['http://127.0.0.1:9']);
after(() => unreachable.close());

/** Checks that it is the same transaction with the relayer's signature at that index. */
function requireSigned(before: string, after: { transaction: string; signature: string }, place: number): void {
  const wire = transactionFromBytes(Buffer.from(after.transaction, 'base64'));
  const own = wire.signatures[place];
  assert.ok(own !== undefined && hasSigned(address(relayer), own, wire.messageBytes));
  assert.equal(after.signature, signatureText(own));
  assert.equal(withSignature(before, place, own), after.transaction);
}

describe("signing a caller's transaction", () => {
  it("signing a caller's transaction: adds the relayer's signature and changes nothing else, whether others have signed or not", async () => {
    const shared = [transferOf(other.address, to, 5n)];
    for (const transaction of [
      await builtTransaction(relayer, [transferOf(address(relayer), to, 5n)]),
      await builtTransaction(relayer, shared, { version: 0 }),
      await builtTransaction(relayer, shared, { signers: [other] }),
    ]) {
      requireSigned(transaction, await sign(transaction), 0);
    }
  });

  it("signing a caller's transaction: works if another account pays", async () => {
    const instructions = [transferOf(address(relayer), to, 5n)];
    const bytes = await buildTransaction({ payer: other.address, instructions, blockhash: someBlockhash, signers: [other] });
    const transaction = Buffer.from(bytes).toString('base64');
    requireSigned(transaction, await sign(transaction, { maxAllowedFeeLamports: 1n }), 1);
  });

  it("signing a caller's transaction: is refused if the relayer is not a signer, and for lookup tables under account policies", async () => {
    const bytes = await buildTransaction({ payer: other.address, instructions: [], blockhash: someBlockhash, signers: [] });
    await assert.rejects(sign(Buffer.from(bytes).toString('base64')), {
      message: `transaction does not need the relayer's signature: ${relayer} is not one of its signers`,
    });
    const tables = [{ table: to, writable: [0], readonly: [] }];
    const looked = rawTransaction(relayer, to, { version: 0, tables });
    assert.ok(await sign(looked));
    await assert.rejects(sign(looked, { disallowedAccounts: [other.address] }), {
      message: "transaction uses address lookup tables, so the relayer's account policies cannot be checked here; send it instead",
    });
    await assert.rejects(sign('AAAA'), { reason: 'FIELD_INVALID' });
  });

  it("signing a caller's transaction: is refused by the same policies as sending", async () => {
    for (const { request, sentence } of await strictRefusals(relayer)) {
      if (request.transaction === undefined) continue;
      await assert.rejects(sign(request.transaction, strictSolanaPolicies), { message: sentence });
    }
  });
});

describe("a program that gets the relayer's signature", () => {
  const program = solanaKey().address;
  const genesis = solanaKey().address;
  const systemProgram = '11111111111111111111111111111111';
  const passing = { err: null, logs: [], unitsConsumed: 1, accounts: null, innerInstructions: null };
  const calling = (programId: string, type: string, info: object) => ({
    ...passing,
    innerInstructions: [{ index: 0, instructions: [{ program: 'p', programId, parsed: { type, info }, stackHeight: 2 }] }],
  });
  const assigning = calling(systemProgram, 'assign', { account: relayer, owner: program });
  const call = (accounts: readonly string[]) => ({
    programAddress: address(program),
    accounts: accounts.map((one) => ({
      address: address(one),
      role: one === relayer ? AccountRole.WRITABLE_SIGNER : AccountRole.WRITABLE,
    })),
    data: new Uint8Array([1]),
  });

  /** Signs with nodes that answer simulations so; returns what they were asked, too. */
  async function signAt(test: TestContext, transaction: string, answers: readonly object[], policies: Partial<SolanaPolicies> = {}) {
    const asked: unknown[] = [];
    const nodes = await Promise.all(
      answers.map((value) =>
        startFakeNode(test, (request) =>
          answering(request, ({ method, params }) => {
            if (method === 'getGenesisHash') return genesis;
            asked.push(params);
            return { context: { slot: 7 }, value };
          }),
        ),
      ),
    );
    const rpc = rpcOf(nodes.map(({ url }) => url));
    test.after(() => rpc.close());
    const signed = signForeignTransaction(rpc, transaction, solanaRelayer(relayer, policies), key.signer);
    return { asked, signed };
  }

  it('is simulated with any blockhash, and the transaction is signed if it takes nothing from the account', async (test) => {
    const transaction = await builtTransaction(relayer, [call([relayer, to])]);
    const { asked, signed } = await signAt(test, transaction, [passing]);
    requireSigned(transaction, await signed, 0);
    assert.match(JSON.stringify(asked), /"replaceRecentBlockhash":true/);
  });

  for (const [name, { answers, reason, sentence }] of Object.entries({
    'gives the account away': {
      answers: [assigning],
      reason: 'RECEIVER_NOT_ALLOWED',
      sentence: /calls a program that takes away what .* \(assign\)/,
    },
    'gives tokens away': {
      answers: [calling('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', 'setAuthority', { account: to, authority: relayer })],
      reason: 'RECEIVER_NOT_ALLOWED',
      sentence: /\(token_authority\)/,
    },
    'leaves the account to a program': {
      answers: [{ ...passing, accounts: [{ lamports: 1, owner: program, data: ['', 'base64'] }] }],
      reason: 'RECEIVER_NOT_ALLOWED',
      sentence: /\(assign\)/,
    },
    'gives the account away at one node of two': { answers: [assigning, passing], reason: 'RECEIVER_NOT_ALLOWED', sentence: /\(assign\)/ },
    fails: {
      answers: [{ ...passing, err: { InstructionError: [0, { Custom: 1 }] } }],
      reason: 'FIELD_INVALID',
      sentence: /^transaction gives the relayer's signature to the program \w+, so it is simulated: the transaction would fail/,
    },
  })) {
    it(`gets none if it ${name}`, async (test) => {
      const { signed } = await signAt(test, await builtTransaction(relayer, [call([to, relayer])]), answers);
      await assert.rejects(signed, (error: DomainError) => error.reason === reason && sentence.test(error.message));
    });
  }

  it('gets none if no node answers, and is allowed what the policies name', async (test) => {
    const transaction = await builtTransaction(relayer, [call([relayer])]);
    await assert.rejects(sign(transaction), { reason: 'NODE_UNAVAILABLE' });
    const { signed } = await signAt(test, transaction, [assigning], { allowAccountChanges: ['assign'] });
    requireSigned(transaction, await signed, 0);
  });

  it('is looked at if it is Token-2022, whose transfers call the hook of a mint', async (test) => {
    const token2022 = address('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb');
    // TransferChecked, with the relayer among the accounts of the hook.
    const transfer = { ...call([to, relayer]), programAddress: token2022, data: new Uint8Array([12, 1, 0, 0, 0, 0, 0, 0, 0, 0]) };
    const { signed } = await signAt(test, await builtTransaction(relayer, [transfer]), [assigning]);
    await assert.rejects(signed, { reason: 'RECEIVER_NOT_ALLOWED' });
  });

  it('is not looked at if the relayer only pays', async () => {
    const transaction = await builtTransaction(relayer, [call([to])]);
    requireSigned(transaction, await sign(transaction), 0);
  });
});
