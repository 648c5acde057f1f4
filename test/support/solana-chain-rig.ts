import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Address, address, type Instruction, type KeyPairSigner } from '@solana/kit';
import { betweenProofsMs } from '../../src/chains/solana/lone-proofs.js';
import { createSolanaChain } from '../../src/chains/solana/solana-chain.js';
import { base64From } from '../../src/chains/solana/wire.js';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import type { Refusal } from '../../src/core/ports/chain/drafts.js';
import type { AttemptOutcome } from '../../src/core/ports/chain/outcomes.js';
import { onNetwork } from '../../src/core/records/on-network.js';
import type { Relayer, SolanaPolicies } from '../../src/core/records/relayer.js';
import type { SolanaDraft, SolanaRequest } from '../../src/core/records/solana.js';
import type { Attempt } from '../../src/core/records/transaction.js';
import { systemClock } from '../../src/core/work/clock.js';
import { buildTransaction, signerOf } from '../../src/sandbox/solana/build-transaction.js';
import { newest } from '../../src/sandbox/solana/chain.js';
import { type LocalSolana, startSolana } from '../../src/sandbox/solana/start-solana.js';
import { solanaKey, solanaRelayer, solanaRequest } from './solana.js';
import { silentLog } from './stored-samples.js';

/** Lamports of every account that the rig knows. */
export const funds = 10n ** 10n;
/** A second signer beside the relayer. */
export const other = await signerOf(7);
/** A receiver of payments. */
export const receiver = (await signerOf(8)).address;

/** A Solana chain on a local cluster whose blocks are made by the test, without engine and store. */
export interface SolanaChainRig {
  readonly payer: Address;
  readonly solana: LocalSolana;
  readonly chain: Chain;
  readonly relayer: Relayer;
  /** The logged warnings. */
  readonly warnings: readonly string[];
  /** Returns a draft for the request; fails if the chain refuses it. */
  drafted(request: Partial<SolanaRequest>, policies?: Partial<SolanaPolicies>): Promise<SolanaDraft>;
  /** Returns the refusal; fails if there is a draft. */
  refused(request: Partial<SolanaRequest>, policies?: Partial<SolanaPolicies>): Promise<Refusal>;
  signed(draft: SolanaDraft): Promise<Attempt>;
  /** Drafted, signed and at a node. */
  sent(request: Partial<SolanaRequest>): Promise<Attempt>;
  outcomeOf(attempt: Attempt): Promise<AttemptOutcome>;
  /** Makes blocks, and lets the chain see them. */
  advance(blocks?: number): Promise<void>;
  /** Moves the chain's clock on. */
  pass(ms: number): void;
  /** A transaction with the newest blockhash that the relayer pays, base64. */
  built(instructions: readonly Instruction[], version?: 'legacy' | 0, signers?: readonly KeyPairSigner[]): Promise<string>;
}

/** Starts it; all is stopped at the end of the test. */
export async function startSolanaChain(test: TestContext, { lamports = funds }: { lamports?: bigint } = {}): Promise<SolanaChainRig> {
  const key = solanaKey();
  const payer = address(key.address);
  const accounts = [
    { address: payer, lamports },
    { address: other.address, lamports: funds },
    { address: receiver, lamports: funds },
  ];
  const solana = await startSolana({ accounts });
  const warnings: string[] = [];
  const relayer = solanaRelayer(payer, {}, { rpcUrls: [{ url: solana.url, weight: 100 }], averageBlockTimeMs: 1 });
  const network = relayer.network;
  if (network.type !== 'solana') throw new Error('it is on Solana');
  const log = { ...silentLog, warn: (_fields: object, message: string) => void warnings.push(message) };
  const { clock, pass } = passingClock();
  const chain = createSolanaChain({ network, rpcUrls: network.rpcUrls, rpcTimeoutMs: 30_000, log, clock });
  const { unsequenced } = chain;
  if (unsequenced === null) throw new Error('its transactions stand alone');
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

  async function outcomeOf(attempt: Attempt): Promise<AttemptOutcome> {
    const outcome = (await outcomesIn(chain, [attempt], pass)).get(attempt.hash);
    assert.ok(outcome !== undefined);
    return outcome;
  }

  /** Makes blocks, and lets the chain see them. */
  async function advance(blocks = 1): Promise<void> {
    solana.chain.advance(blocks);
    await chain.head();
  }

  async function built(
    instructions: readonly Instruction[],
    version: 'legacy' | 0 = 'legacy',
    signers: readonly KeyPairSigner[] = [],
  ): Promise<string> {
    const { hash: blockhash } = solana.chain.tip(newest);
    return base64From(await buildTransaction({ payer, instructions, blockhash, version, signers }));
  }

  return { payer, solana, chain, relayer, warnings, drafted, refused, signed, sent, outcomeOf, advance, pass, built };
}

/** The clock of this machine, which a test moves on. */
export function passingClock() {
  let passedMs = 0;
  return {
    clock: { nowMs: () => systemClock.nowMs() + passedMs, elapsedMs: () => systemClock.elapsedMs() + passedMs },
    pass(ms: number): void {
      passedMs += ms;
    },
  };
}

/** Reads outcomes. If the only node has proved a death once, the time until it must prove that again passes, and it is asked again. */
export async function outcomesIn(
  { unsequenced, head }: Pick<Chain, 'unsequenced' | 'head'>,
  attempts: readonly Attempt[],
  pass: (ms: number) => void,
): Promise<ReadonlyMap<string, AttemptOutcome>> {
  const read = async () => (await unsequenced?.outcomes(attempts)) ?? new Map<string, AttemptOutcome>();
  const first = await read();
  if (![...first.values()].some((outcome) => outcome.kind === 'open' && outcome.isProvedOnce === true)) return first;
  pass(betweenProofsMs);
  await head();
  return read();
}
