import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { address } from '@solana/kit';
import { SolanaAccountChangeSchema } from '../../../gen/relayer/v1/solana_pb.js';
import { changeByParsed, forbiddenChange, programs } from '../../../src/chains/solana/account-changes.js';
import { compileInstructions } from '../../../src/chains/solana/instructions.js';
import { base64From, type Message, messageBytes, transactionBytes } from '../../../src/chains/solana/wire.js';
import { enumTextsOf } from '../../../src/codec/enum-codec.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import { onNetwork } from '../../../src/core/records/on-network.js';
import type { SolanaAccountChange } from '../../../src/core/records/relayer.js';
import type { SolanaInstruction } from '../../../src/core/records/solana.js';
import { solanaKey, solanaRelayer, solanaRequest } from '../../support/solana.js';
import { startSolanaChain } from '../../support/solana-chain-rig.js';
import { someBlockhash } from '../../support/solana-samples.js';

const key = solanaKey();
const relayer = key.address;
const others = Array.from({ length: 8 }, () => solanaKey().address);
const [other = '', to = ''] = others;

const systemProgram = '11111111111111111111111111111111';
const [tokenProgram = '', token2022 = ''] =
  programs.find(({ rows }) => rows.some(({ change }) => change === 'token_close'))?.addresses ?? [];

/** An instruction of the table with the relayer's account in one place. */
interface Sample {
  readonly name: string;
  readonly change: SolanaAccountChange;
  readonly instruction: SolanaInstruction;
}

function dataOf(tag: number | readonly [number, number] | string, tagBytes: 1 | 4): Buffer {
  if (typeof tag === 'string') return Buffer.concat([Buffer.from(tag, 'hex'), Buffer.alloc(32)]);
  const data = Buffer.alloc(80);
  if (typeof tag !== 'number') data.set(tag);
  else if (tagBytes === 1) data.writeUInt8(tag);
  else data.writeUInt32LE(tag);
  return data;
}

function instructionOf(programId: string, data: Uint8Array, place: number, count = place + 1, account = relayer): SolanaInstruction {
  const accounts = Array.from({ length: count }, (_, at) => ({
    pubkey: at === place ? account : (others[at % others.length] ?? ''),
    isSigner: at === place && account === relayer,
    isWritable: at !== place,
  }));
  return { programId, accounts, data: base64From(data) };
}

const samples: readonly Sample[] = programs.flatMap(({ addresses, tagBytes, known, rows }) =>
  addresses.flatMap((programId): readonly Sample[] => [
    ...rows.flatMap(({ change, tags, loser, rest }) =>
      tags.flatMap((tag) =>
        // With `rest` the relayer can be one of the signers of a multisig account.
        [loser, ...(rest === true ? [loser + 1, loser + 3] : [])].map((place) => ({
          name: `${change} by ${String(tag)} of ${programId}, in place ${place}`,
          change,
          instruction: instructionOf(programId, dataOf(tag, tagBytes), place, Math.max(place + 1, 5)),
        })),
      ),
    ),
    {
      name: `unknown of ${programId}`,
      change: 'unknown',
      instruction: instructionOf(programId, dataOf(known + 1, tagBytes), 0),
    },
    {
      name: `unknown of ${programId}, its tag alone`,
      change: 'unknown',
      // Only the programs of tokens have tags of one byte.
      instruction: instructionOf(programId, dataOf(known + 1, tagBytes).subarray(0, programId.startsWith('Token') ? 1 : 4), 0),
    },
  ]),
);

function transactionOf(message: Message): string {
  const missing = Array.from({ length: message.signers }, () => new Uint8Array(64));
  return base64From(transactionBytes(missing, messageBytes({ ...message, blockhash: someBlockhash })));
}

const legacy = (instruction: SolanaInstruction): Message => compileInstructions(relayer, [instruction]);

/** All accounts but the signers and the program come from a lookup table, so that no key of them is in the message. */
function lookedUp(message: Message): Message {
  const programAt = message.instructions[0]?.program ?? 0;
  const loaded = message.accounts.map((_, at) => at).filter((at) => at >= message.signers && at !== programAt);
  const own = [...Array.from({ length: message.signers }, (_, at) => at), programAt];
  const order = [...own, ...loaded];
  const tables = loaded.length === 0 ? [] : [{ table: address(to), writable: loaded.map((_, at) => at), readonly: [] }];
  return {
    ...message,
    version: 0,
    accounts: own.map((at) => message.accounts[at] ?? address(to)),
    readonlyOthers: 1,
    tables,
    instructions: message.instructions.map((one) => ({
      ...one,
      program: order.indexOf(one.program),
      accounts: one.accounts.map((at) => order.indexOf(at)),
    })),
  };
}

/** Another account pays, and the relayer is its second signer. */
function paidByOther(message: Message): Message {
  const payer = solanaKey().address;
  return {
    ...message,
    signers: 2,
    accounts: [address(payer), ...message.accounts],
    instructions: message.instructions.map((one) => ({
      ...one,
      program: one.program + 1,
      accounts: one.accounts.map((at) => at + 1),
    })),
  };
}

/** The numbers of instructions, by the sources that the table names: what they are for, and which account loses. */
const stated: readonly (readonly [program: string, tagBytes: number, known: number, ...rows: string[]])[] = [
  [systemProgram, 4, 13, 'assign 1,10 of 0', 'assign 0,3 of 1', 'assign 13 of 0', 'allocate 8,9 of 0', 'nonce_authority 7 of 1'],
  [
    tokenProgram,
    1,
    46,
    'token_authority 6 of 1 and the rest',
    'token_authority d7e4a6e45464567b,a1695801edddd8cb of 1 and the rest',
    'token_delegate 4 of 2 and the rest',
    'token_delegate 13 of 3 and the rest',
    'token_close 9 of 2 and the rest, to 1',
    'token_encryption 27,2 of 3 and the rest',
  ],
  [
    'Stake11111111111111111111111111111111111111',
    4,
    17,
    'stake_authority 1 of 2 and the rest',
    'stake_authority 10 of 2',
    'stake_authority 10,11 of 4',
    'stake_authority 8 of 1 and the rest',
    'stake_authority 11 of 1',
    'stake_authority 6,12 of 1',
  ],
  ['Vote111111111111111111111111111111111111111', 4, 15, 'vote_authority 1,7,10,11 of 2'],
  ['BPFLoaderUpgradeab1e11111111111111111111111', 4, 9, 'program_authority 4,7 of 1', 'program_authority 5 of 2'],
  ['LoaderV411111111111111111111111111111111111', 4, 6, 'program_authority 5,6 of 1'],
];

describe('account changes', () => {
  it('account changes: each row has the numbers of its program, and the place of the account that loses', () => {
    const rows = programs.map(({ addresses, tagBytes, known, rows: own }) => [
      addresses[0],
      tagBytes,
      known,
      ...own.map(({ change, tags, loser, rest, receiver }) => {
        const to = receiver === undefined ? '' : `, to ${receiver}`;
        return `${change} ${tags.join()} of ${loser}${rest === true ? ' and the rest' : ''}${to}`;
      }),
    ]);
    assert.deepEqual(rows, stated);
  });

  it('account changes: the table and the definitions have the same names', () => {
    const names = [...enumTextsOf(SolanaAccountChangeSchema).values()];
    assert.deepEqual([...new Set(samples.map(({ change }) => change))].sort(), names.sort());
    for (const name of names)
      assert.match(forbiddenChange(name as SolanaAccountChange, solanaRelayer(relayer)) ?? '', new RegExp(`\\(${name}\\)`));
  });

  it('account changes: each is refused in every way of sending and signing, unless a policy names it', async (test) => {
    const { chain } = await startSolanaChain(test);
    const nowMs = Date.now();
    for (const { name, change, instruction } of samples) {
      const strict = solanaRelayer(relayer);
      const lenient = solanaRelayer(relayer, { allowAccountChanges: [change] });
      const otherwise = solanaRelayer(relayer, {
        allowAccountChanges: [...enumTextsOf(SolanaAccountChangeSchema).values()].filter((one) => one !== change) as SolanaAccountChange[],
      });
      const sent = { transaction: transactionOf(legacy(instruction)) };
      const earlier = onNetwork('solana', chain.contentOf(solanaRequest(sent), { relayer: lenient, nowMs, earlier: null }).content);
      const ways = {
        instructions: (judged: typeof strict) =>
          chain.contentOf(solanaRequest({ instructions: [instruction] }), { relayer: judged, nowMs, earlier: null }),
        'a transaction': (judged: typeof strict) => chain.contentOf(solanaRequest(sent), { relayer: judged, nowMs, earlier: null }),
        'a replacement': (judged: typeof strict) => chain.contentOf(solanaRequest(sent), { relayer: judged, nowMs, earlier }),
        'accounts from a table': (judged: typeof strict) =>
          chain.contentOf(solanaRequest({ transaction: transactionOf(lookedUp(legacy(instruction))) }), {
            relayer: judged,
            nowMs,
            earlier: null,
          }),
        'signing alone': (judged: typeof strict) => chain.signForeign?.check(sent.transaction, judged),
        'signing what another account pays': (judged: typeof strict) =>
          chain.signForeign?.check(transactionOf(paidByOther(legacy(instruction))), judged),
      };
      for (const [way, run] of Object.entries(ways)) {
        const expected = (error: unknown): boolean => error instanceof DomainError && error.reason === 'RECEIVER_NOT_ALLOWED';
        assert.throws(() => run(strict), expected, `${name}: ${way}`);
        assert.throws(() => run(otherwise), expected, `${name}: ${way}, another name`);
        assert.doesNotThrow(() => run(lenient), `${name}: ${way}, allowed`);
      }
      // Stored before the policies changed: a restart, and a replacement that was queued.
      const draft = await chain.draft({ relayer: strict, content: earlier, outbids: [], validUntilMs: null });
      assert.ok('refused' in draft && draft.refused === 'not_allowed' && draft.lasting, `${name}: drafted`);
    }
  });

  it('account changes: the account that gains, or is only a base, loses nothing', async (test) => {
    const { chain } = await startSolanaChain(test);
    const allowed = (instruction: SolanaInstruction): void => {
      const request = solanaRequest({ instructions: [instruction] });
      chain.contentOf(request, { relayer: solanaRelayer(relayer), nowMs: Date.now(), earlier: null });
    };
    for (const [programId, data, place] of [
      [systemProgram, dataOf(0, 4), 0],
      [systemProgram, dataOf(10, 4), 1],
      [systemProgram, dataOf(9, 4), 1],
      [systemProgram, dataOf(7, 4), 0],
      [systemProgram, dataOf(1, 4), 1],
      [systemProgram, dataOf(2, 4), 0],
      [tokenProgram, dataOf(4, 1), 1],
      [tokenProgram, dataOf(9, 1), 1],
      [tokenProgram, dataOf(12, 1), 3],
      [token2022, dataOf([27, 1], 1), 1],
      ['Stake11111111111111111111111111111111111111', dataOf(10, 4), 3],
    ] as const)
      allowed(instructionOf(programId, data, place, 5));
    // No part of the account of another.
    for (const { instruction } of samples)
      if (instruction.accounts.every(({ pubkey }) => pubkey !== relayer)) assert.fail('a sample without the relayer');
    allowed(instructionOf(systemProgram, dataOf(1, 4), 0, 1, other));
  });

  it('account changes: a batch of the token program is read, and one that cannot be read is unknown', async (test) => {
    const { chain } = await startSolanaChain(test);
    const refusalOf = (data: Buffer, count: number, place: number): string => {
      try {
        chain.contentOf(solanaRequest({ instructions: [instructionOf(tokenProgram, data, place, count)] }), {
          relayer: solanaRelayer(relayer),
          nowMs: Date.now(),
          earlier: null,
        });
        return 'none';
      } catch (error) {
        return /\((\w+)\)/.exec(error instanceof Error ? error.message : '')?.[1] ?? String(error);
      }
    };
    // A transfer of three accounts, then an approval of three.
    const transfer = [3, 9, 3, ...Buffer.alloc(8)];
    const approve = [3, 9, 4, ...Buffer.alloc(8)];
    assert.equal(refusalOf(Buffer.from([255, ...transfer, ...approve]), 6, 5), 'token_delegate');
    assert.equal(refusalOf(Buffer.from([255, ...transfer, ...approve]), 6, 2), 'none');
    assert.equal(refusalOf(Buffer.from([255, ...transfer, 3, 9, 4]), 6, 5), 'unknown');
    assert.equal(refusalOf(Buffer.from([255, 6, 1, 255]), 6, 5), 'unknown');
  });

  it('account changes: an account that is closed to the relayer itself takes nothing away', async (test) => {
    const { chain } = await startSolanaChain(test);
    const close = Buffer.from([9]);
    const batch = Buffer.from([255, 3, 1, 9]);
    const closeTo = (destination: string, data: Buffer, owner = relayer): SolanaInstruction => ({
      programId: tokenProgram,
      accounts: [other, destination, owner].map((pubkey) => ({ pubkey, isSigner: pubkey === relayer, isWritable: true })),
      data: base64From(data),
    });
    const send = (instruction: SolanaInstruction): unknown =>
      chain.contentOf(solanaRequest({ instructions: [instruction] }), {
        relayer: solanaRelayer(relayer),
        nowMs: Date.now(),
        earlier: null,
      });
    for (const data of [close, batch]) {
      assert.doesNotThrow(() => send(closeTo(relayer, data)));
      assert.throws(() => send(closeTo(to, data)), /token_close/);
    }
    const parsed = (info: Record<string, unknown>) => changeByParsed({ program: tokenProgram, type: 'closeAccount', info }, relayer);
    assert.equal(parsed({ account: other, destination: relayer, owner: relayer }), null);
    assert.equal(parsed({ account: other, destination: relayer, multisigOwner: to, signers: [relayer] }), null);
    assert.equal(parsed({ account: other, destination: to, owner: relayer }), 'token_close');
  });

  it('account changes: calls that a node has parsed lose the same', () => {
    const parsed = (program: string, type: string, info: Record<string, unknown>) => changeByParsed({ program, type, info }, relayer);
    assert.equal(parsed(systemProgram, 'assign', { account: relayer, owner: to }), 'assign');
    assert.equal(parsed(systemProgram, 'createAccount', { source: relayer, newAccount: to, owner: to }), null);
    assert.equal(parsed(systemProgram, 'createAccount', { source: to, newAccount: relayer, owner: to }), 'assign');
    assert.equal(parsed(tokenProgram, 'approve', { source: to, delegate: relayer, owner: other }), null);
    assert.equal(parsed(tokenProgram, 'approve', { source: to, delegate: to, owner: relayer }), 'token_delegate');
    assert.equal(
      parsed(token2022, 'setAuthority', { multisigAuthority: to, signers: [other, relayer], newAuthority: to }),
      'token_authority',
    );
    assert.equal(parsed(tokenProgram, 'transfer', { authority: relayer }), null);
    assert.equal(parsed(to, 'assign', { account: relayer }), null);
  });
});
