import { createEvmChain } from '../../../src/chains/evm/evm-chain.js';
import type { Relayer } from '../../../src/core/records/relayer.js';
import { createLocalSigner } from '../../../src/signers/local/local-signer.js';
import { evmNetwork, evmRelayer } from '../../support/evm.js';
import type { Random } from '../../support/seeded-random.js';
import { startCallers } from '../callers.js';
import { type RunContext, relayerCount } from '../context.js';
import type { SimRelayer } from '../service.js';
import { makeRules } from '../spending-rules.js';
import { trueTimeMs } from '../virtual-time.js';
import type { World } from '../world.js';
import { type Auditor, createAuditor } from './auditor.js';
import { type ChainEvents, startChainEvents } from './chain-events.js';
import { createContents } from './contents.js';
import type { EvmContext } from './context.js';
import { type AccountState, createLedger } from './ledger.js';
import { createNode, type SimNode } from './node.js';
import { startNodeFaults } from './node-faults.js';
import { createPool, defaultRules } from './pool.js';
import { decodeTransaction, foreignTransfer } from './transaction.js';
import { kinds } from './words.js';

const chainId = 31_337n;
/**
 * The most that a lane asks at each head: if a node counts its pool into the newest block and has no older state, the receipts of the attempts in 16 slots,
 * and what a search for the user of a nonce reads.
 */
const callsPerHead = 30;

/** Makes the world of an EVM network. */
export async function makeEvmWorld(run: RunContext): Promise<World> {
  const { random, time, faults, database } = run;
  const blockMs = [400, 1_000, 2_000, 12_000][random.between(0, 3)] ?? 2_000;
  const confirmations = random.between(1, 8);
  const activeMs = random.between(40, 110) * Math.max(blockMs, 1_500);
  const unbound = makeRelayers(random, relayerCount(run));
  const fundsWei = faults.has('low funds') ? 3n * 10n ** 15n : 10n ** 21n;
  const accounts = new Map<string, AccountState>(
    unbound.map(({ relayer }) => [relayer.address.toLowerCase(), { nonce: 0, balanceWei: fundsWei }]),
  );
  const ledger = createLedger(random.fork('ledger'), accounts, Math.floor(trueTimeMs(time) / 1000) - 1);
  const stranger = await strangersTransaction();
  let chain = null as ChainEvents | null;
  let auditor = null as Auditor | null;
  const nodes: SimNode[] = Array.from({ length: random.between(1, 3) }, (_, index) =>
    createNode({
      name: `n${index}`,
      kind: kinds[random.between(0, kinds.length - 1)] ?? 'geth',
      chainId,
      ledger,
      gossip: (transaction, from) => chain?.gossip(transaction, from),
      stranger: () => stranger,
      refusedBid: ({ hash }) => auditor?.refusedBid(hash),
      showedNonce: (account, next, block) => auditor?.showedNonce(account, next, block),
    }),
  );
  const network = evmNetwork({
    rpcUrls: nodes.map(({ name }, index) => ({ url: `http://${name}.sim`, weight: 100 - index })),
    requiredConfirmations: confirmations,
    averageBlockTimeMs: blockMs,
  });
  const relayers = unbound.map((one) => ({ ...one, relayer: { ...one.relayer, network } }));
  const context: EvmContext = {
    ...run,
    ledger,
    nodes,
    builder: createPool({ ...defaultRules, isStrict: false, hasNoGaps: false, leastTipWei: 0n }),
    relayers,
    blockMs,
    confirmations,
    chainId,
    auditor() {
      if (auditor === null) throw new Error('the world is not complete');
      return auditor;
    },
  };
  const contents = createContents(run);
  const rules = makeRules(run);
  const callers = startCallers(run, {
    relayers,
    rules,
    blockMs,
    isOver: () => time.elapsedMs() >= activeMs,
    content: (amount, _relayer, choices) => contents.payment(amount, choices),
  });
  auditor = createAuditor({
    database,
    ledger,
    orders: { ...callers, highestPriceWei: contents.highestPriceWei },
    accounts: relayers.map(({ relayer }) => ({ relayerId: relayer.id, account: relayer.address })),
    rules: { ...rules, keyOf: callers.keyOf },
    confirmations,
    faults,
    elapsedMs: time.elapsedMs,
  });
  const events = startChainEvents(context);
  chain = events;
  const wires = startNodeFaults(context, events);

  return {
    activeMs,
    relayers,
    rules,
    nodeCount: nodes.length,
    wires,
    callers,
    maxCallsPerWindow: Math.max(1_000, relayers.length * callsPerHead * (10_000 / blockMs)),
    maxDowntimeMs: 5_000,
    openChain: (parts) => createEvmChain({ ...parts, network, rpcUrls: network.rpcUrls }),
    answer(host, body) {
      for (const hash of broadcasts(body)) context.auditor().received(hash);
      return nodes.find(({ name }) => host.startsWith(name))?.answer(body) ?? '';
    },
    broadcasts,
    auditor,
    height: () => ledger.head().number,
    heal() {
      wires.heal();
      events.heal();
    },
    accounts: () => [...ledger.head().accounts].map(([account, { nonce }]) => `${account} is at nonce ${nonce}`),
    // Invented blocks are another branch.
    mayLog: (message) => faults.has('invented blocks') && message.startsWith('RPC endpoint is on another branch'),
  };
}

/** The hashes of the transactions that a body sends. */
function broadcasts(body: string): readonly string[] {
  if (!body.includes('"eth_sendRawTransaction"')) return [];
  const calls: readonly { readonly method: string; readonly params: readonly [string] }[] = [JSON.parse(body)].flat();
  return calls.flatMap(({ method, params: [raw] }) => (method === 'eth_sendRawTransaction' ? decodeTransaction(raw).hash : []));
}

function makeRelayers(random: Random, length: number): readonly SimRelayer[] {
  return Array.from({ length }, (_, index) => {
    const privateKey = Buffer.from(Array.from({ length: 32 }, () => random.between(1, 250)));
    const signer = createLocalSigner({ id: `s${index}`, privateKey });
    const relayer: Relayer = {
      ...evmRelayer(signer.address, {
        maxInFlight: random.chance(0.5) ? 16 : random.between(1, 8),
        gasPriceCapWei: random.chance(0.3) ? BigInt(random.between(20, 200)) * 10n ** 9n : null,
        eip1559Pricing: random.chance(0.85),
      }),
      id: `r${index}`,
      signerId: signer.id,
      notificationId: 'hook',
    };
    return { relayer, signer };
  });
}

const strangersKey = Buffer.alloc(32, 7);

function strangersTransaction() {
  const signer = createLocalSigner({ id: 'stranger', privateKey: strangersKey });
  const bid = { maxFeePerGasWei: 10n ** 9n, maxPriorityFeePerGasWei: 10n ** 9n };
  return foreignTransfer({ chainId, signer, nonce: 0n, to: `0x${'55'.repeat(20)}`, ...bid });
}
