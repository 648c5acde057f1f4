import { getBase58Decoder } from '@solana/kit';
import { compileInstructions } from '../../../src/chains/solana/instructions.js';
import { createSolanaChain as openSolanaChain } from '../../../src/chains/solana/solana-chain.js';
import { base64From, unsignedTransactionBytes } from '../../../src/chains/solana/wire.js';
import type { SolanaInstruction, SolanaRequest } from '../../../src/core/records/solana.js';
import { createSolanaChain, newest, type SolanaChain } from '../../../src/sandbox/solana/chain.js';
import { readTransactionText } from '../../../src/sandbox/solana/wire-transaction.js';
import type { Random } from '../../support/seeded-random.js';
import { solanaKey, solanaNetwork, solanaRelayer, solanaRequest, transferInstruction } from '../../support/solana.js';
import { startCallers, validUntil } from '../callers.js';
import { type RunContext, relayerCount } from '../context.js';
import type { SimRelayer } from '../service.js';
import { createCuts, type RequestFate } from '../transport.js';
import { trueTimeMs } from '../virtual-time.js';
import { startWires } from '../wires.js';
import type { World } from '../world.js';
import { createSolanaAuditor, type SolanaAuditor } from './auditor.js';
import { startChainEvents } from './chain-events.js';
import { createGateway, type Gateway } from './node.js';
import { startNodeFaults } from './node-faults.js';

/**
 * Below the real numbers, so that blockhashes expire and histories end within a run. With the longer lifetime a blockhash expires, as in
 * reality, only after the time for which an endpoint that denies it may be behind.
 */
const blockhashAges = [30, 80] as const;
const finalizedAfterBlocks = 6;
/** The cluster is older than the service by more blocks than any node lags and shifts its slots together. */
const earlierBlocks = 512;
const fullLamports = 10n ** 10n;
const lowLamports = 3_000_000n;
const systemProgram = '11111111111111111111111111111111';

/** What the service logs as errors after a reset. */
const resetMessages: readonly string[] = [
  'RPC endpoint serves another chain; not used',
  'the RPC nodes serve a different chain than before; the relayers of this network are disabled',
];

/** Makes the world of a Solana cluster: the real runtime behind simulated nodes. */
export async function makeSolanaWorld(run: RunContext): Promise<World> {
  const { random, time, faults, database, log } = run;
  const blockMs = [400, 1_000][random.between(0, 1)] ?? 400;
  const activeMs = random.between(120, 350) * blockMs;
  const blockhashAgeBlocks = blockhashAges[random.fork('blockhash age').between(0, 1)] ?? 30;
  const recentBlocks = 2 * blockhashAgeBlocks;
  const network = solanaNetwork({
    rpcUrls: Array.from({ length: random.between(1, 2) }, (_, index) => ({ url: `http://n${index}.sim`, weight: 100 - index })),
    averageBlockTimeMs: blockMs,
  });
  const relayers = Array.from({ length: relayerCount(run) }, (_, index): SimRelayer => {
    const { signer, address } = solanaKey(bytes(random));
    const relayer = { ...solanaRelayer(address), network, id: `r${index}`, signerId: `s${index}`, notificationId: 'hook' };
    return { relayer, signer: { ...signer, id: `s${index}` } };
  });
  const receiver = solanaKey(bytes(random)).address;
  const lamports = faults.has('low funds') ? lowLamports : fullLamports;
  const timing = { blockhashAgeBlocks, finalizedAfterBlocks, nowMs: () => trueTimeMs(time) };
  const accounts = [
    ...relayers.map(({ relayer }) => ({ address: relayer.address, lamports })),
    { address: receiver, lamports: fullLamports },
  ];
  const chain = createSolanaChain({ ...timing, accounts, genesisHash: getBase58Decoder().decode(bytes(random)) });
  chain.advance(earlierBlocks);
  /** The cluster that took the place of the true one after a reset; null: none. */
  let other: SolanaChain | null = null;
  const callers = startCallers(run, {
    relayers,
    blockMs,
    isOver: () => time.elapsedMs() >= activeMs,
    content: (amount, { relayer }, choices) => payment(run, { amount, payer: relayer.address, receiver, random: choices, blockhash }),
  });
  const auditor: SolanaAuditor = createSolanaAuditor({
    database,
    chain,
    orders: callers,
    relayers: relayers.map(({ relayer }) => ({ relayerId: relayer.id, account: relayer.address })),
    blockhashAgeBlocks: BigInt(blockhashAgeBlocks),
    elapsedMs: time.elapsedMs,
  });
  const late = random.fork('late packets');
  const routes = random.fork('routes');
  const gateways: readonly Gateway[] = network.rpcUrls.map((_, index) =>
    createGateway({
      name: `n${index}`,
      chain,
      other: () => other,
      nodeCount: 2,
      recentBlocks,
      pick: (count) => routes.between(0, count - 1),
      withheld: (transaction) => withhold(transaction),
    }),
  );
  const wires = startWires(
    run,
    gateways.map(({ name }) => name),
  );
  const nodeFaults = startNodeFaults(run, { gateways, chain, recentBlocks, blockMs });
  const events = startChainEvents(run, {
    chain,
    other: () => other,
    auditor,
    blockMs,
    mostTakenBack: finalizedAfterBlocks - 1,
    relayers,
    fullLamports,
  });

  const resets = random.fork('resets');
  const cuts = createCuts(time);
  time.after((activeMs * resets.between(20, 60)) / 100, resetOnceKnown);

  /** A service that has never seen the true cluster takes the other one for it. */
  function resetOnceKnown(): void {
    if (!run.has('reset')) return;
    if (database.query('select genesis_hash from chains').length === 0) time.after(blockMs, resetOnceKnown);
    else resetCluster();
  }

  /** The cluster begins again, with another genesis block. Only that distinguishes it: Solana's accounts have no numbers. */
  function resetCluster(): void {
    log.write('reset');
    other = createSolanaChain({
      ...timing,
      accounts: resets.chance(0.5) ? accounts : [],
      genesisHash: getBase58Decoder().decode(bytes(resets)),
    });
    breakConnections();
    auditor.reset();
  }

  function breakConnections(): void {
    for (const { name } of gateways) cuts.cut(`${name}.sim`);
  }

  function fate(host: string, body: string): RequestFate {
    if (cuts.isCut(host)) return 'cut';
    return nodeFaults.mustAnswer(host) ? 'answered' : wires.fate(host, body);
  }

  /** The newest blockhash, as others choose it. */
  function blockhash(): string {
    return chain.tip({ ...newest, commitment: 'confirmed' }).hash;
  }

  /** Some packets reach a leader much later, as long as their blockhash is valid. */
  function withhold(transaction: string): boolean {
    if (!run.has('late packets') || !late.chance(0.3)) return false;
    const wire = readTransactionText(transaction);
    const lastValidHeight = chain.lastValidHeight(wire.blockhash, newest);
    time.after(late.between(1, blockhashAgeBlocks + 5) * blockMs, () => {
      if (lastValidHeight === null) return;
      log.write(`late ${wire.signature.slice(0, 6)}`);
      chain.pool.add(wire, { maxRetries: 1, lastValidHeight });
    });
    return true;
  }

  return {
    activeMs,
    relayers,
    nodeCount: gateways.length,
    wires: { ...wires, fate },
    callers,
    maxCallsPerWindow: 4_000,
    // Longer than blockhashes live.
    maxDowntimeMs: 2 * blockhashAgeBlocks * blockMs,
    openChain(parts) {
      const limits = random.fork(`limits ${time.elapsedMs()}`);
      const drawLimit = (least: number, end: number): number => limits.between(least, end - 1);
      return openSolanaChain({ ...parts, network, rpcUrls: network.rpcUrls, drawLimit });
    },
    answer(host, body) {
      for (const signature of broadcasts(body)) auditor.received(signature);
      return gateways.find(({ name }) => host.startsWith(name))?.answer(body) ?? '';
    },
    broadcasts,
    auditor,
    height: () => Number(chain.tip(newest).height),
    heal() {
      wires.heal();
      nodeFaults.heal();
      events.heal();
      other = null;
      breakConnections();
      auditor.restored();
    },
    accounts: () => relayers.map(({ relayer }) => `${relayer.address} has ${chain.account(relayer.address, newest)?.lamports} lamports`),
    mayLog: (message) => faults.has('reset') && resetMessages.includes(message),
  };
}

/** The signatures of the transactions that a body sends. */
function broadcasts(body: string): readonly string[] {
  if (!body.includes('"sendTransaction"')) return [];
  const calls: readonly { readonly method: string; readonly params: readonly [string] }[] = [JSON.parse(body)].flat();
  return calls.flatMap(({ method, params: [raw] }) => (method === 'sendTransaction' ? readTransactionText(raw).signature : []));
}

interface Payment {
  readonly amount: bigint;
  readonly payer: string;
  readonly receiver: string;
  readonly random: Random;
  blockhash(): string;
}

function payment(run: RunContext, { amount, payer, receiver, random, blockhash }: Payment): SolanaRequest {
  const transfer = transferInstruction(payer, receiver, amount);
  const isReverting = run.has('reverting') && random.chance(0.1);
  const instructions = isReverting ? [transfer, nonsense] : [transfer];
  const isFixed = run.has('foreign blockhash') && random.chance(0.3);
  const validUntilMs = validUntil(run, random);
  if (!isFixed) return solanaRequest({ instructions, validUntilMs });
  const message = { ...compileInstructions(payer, instructions), blockhash: blockhash() };
  return solanaRequest({ transaction: base64From(unsignedTransactionBytes(message)), validUntilMs });
}

/** An instruction that fails. */
const nonsense: SolanaInstruction = { programId: systemProgram, accounts: [], data: Buffer.from([99, 0, 0, 0]).toString('base64') };

/** 32 bytes that are a key, or a hash. */
function bytes(random: Random): Uint8Array {
  return Uint8Array.from({ length: 32 }, () => random.between(1, 250));
}
