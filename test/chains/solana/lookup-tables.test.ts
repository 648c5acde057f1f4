import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type Address, address, getAddressEncoder } from '@solana/kit';
import { lookupTableProgram } from '../../../src/chains/solana/address.js';
import { base64From, type Message, messageBytes, transactionBytes } from '../../../src/chains/solana/wire.js';
import type { SolanaPolicies } from '../../../src/core/records/relayer.js';
import { newest } from '../../../src/sandbox/solana/chain.js';
import type { AccountState } from '../../../src/sandbox/solana/runtime.js';
import { solanaKey, transferInstruction } from '../../support/solana.js';
import { startSolanaChain, receiver as to } from '../../support/solana-chain-rig.js';

describe('accounts in lookup tables', () => {
  const table = address(solanaKey().address);
  const missing = address(solanaKey().address);
  const behind = [to, address(solanaKey().address)];

  function tableState(addresses: readonly Address[]): AccountState {
    const header = Buffer.alloc(56);
    header.writeUInt32LE(1, 0);
    header.writeBigUInt64LE(2n ** 64n - 1n, 4);
    const keys = addresses.map((key) => Buffer.from(getAddressEncoder().encode(key)));
    return { lamports: 10n ** 9n, owner: lookupTableProgram, data: new Uint8Array(Buffer.concat([header, ...keys])), executable: false };
  }

  async function rigWithTable(test: TestContext) {
    const rig = await startSolanaChain(test);
    rig.solana.chain.putAccount(table, tableState(behind));
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

  it('accounts in lookup tables: are not read if no policy restricts accounts', async (test) => {
    const { lookup, sent, advance, outcomeOf, solana } = await rigWithTable(test);
    const attempt = await sent({ transaction: lookup(0) });
    await advance();
    const outcome = await outcomeOf(attempt);
    assert.ok(outcome.kind === 'landed' && outcome.receipt.succeeded);
    assert.equal(solana.node.calls.get('getMultipleAccounts'), undefined);
  });

  it('accounts in lookup tables: are checked against the policies by the draft', async (test) => {
    const { lookup, drafted, refused, payer, pass } = await rigWithTable(test);
    const system = '11111111111111111111111111111111';
    assert.ok(await drafted({ transaction: lookup(0) }, { allowedAccounts: [system, to] }));
    assert.ok(await drafted({ transaction: lookup(0) }, { disallowedAccounts: [behind[1] ?? '', payer] }));
    const cases: readonly (readonly [string, Partial<SolanaPolicies>, string])[] = [
      [lookup(0), { disallowedAccounts: [to] }, `the transaction uses the account ${to}, which is in the relayer's disallowed_accounts`],
      [
        lookup(1),
        { allowedAccounts: [system, to] },
        `the transaction uses the account ${behind[1]}, which is not in the relayer's allowed_accounts`,
      ],
      [
        lookup(2),
        { allowedAccounts: [system, to] },
        `the transaction uses index 2 of the address lookup table ${table}, which has no such entry`,
      ],
      [lookup(0, to), { allowedAccounts: [system, to] }, `the transaction uses ${to}, which is not an address lookup table`],
    ];
    for (const [transaction, policies, sentence] of cases) {
      const kind = sentence.includes('allowed_accounts') ? 'not_allowed' : 'reverts';
      if (kind === 'reverts') {
        const early = `${sentence}; will fail if this does not change within 20 seconds`;
        assert.deepEqual(await refused({ transaction }, policies), { refused: kind, sentence: early, lasting: false });
        pass(20_000);
      }
      assert.deepEqual(await refused({ transaction }, policies), { refused: kind, sentence, lasting: true });
    }
  });

  it('accounts in lookup tables: a table that appears a moment later is used, and one that never does ends the transaction', async (test) => {
    const { lookup, refused, drafted, solana, pass, advance } = await rigWithTable(test);
    for (const [at, transaction] of [
      [table, lookup(2)],
      [missing, lookup(0, missing)],
    ] as const) {
      const early = await refused({ transaction });
      assert.deepEqual([early.refused, early.lasting], ['reverts', false], early.sentence);
      assert.match(early.sentence, /will fail if this does not change within 20 seconds$/);
      pass(15_000);
      assert.equal((await refused({ transaction })).lasting, false);
      const before = solana.chain.account(at, newest);
      solana.chain.putAccount(at, tableState([...behind, to]));
      assert.ok(await drafted({ transaction }));
      // What nodes knew once gets the whole time again.
      solana.chain.putAccount(at, before ?? { lamports: 0n, owner: lookupTableProgram, data: new Uint8Array(), executable: false });
      await advance();
      assert.equal((await refused({ transaction })).lasting, false);
      pass(20_000);
      const late = await refused({ transaction });
      assert.deepEqual([late.refused, late.lasting], ['reverts', true], late.sentence);
      // A later transaction with the same content waits for itself, also if the earlier one was given up before.
      assert.equal((await refused({ transaction })).lasting, false);
      pass(61_000);
      assert.equal((await refused({ transaction })).lasting, false);
    }
  });
});
