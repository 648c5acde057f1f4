import { createStellarChain } from '../../../src/chains/stellar/stellar-chain.js';
import type { StellarOperation, StellarRequest } from '../../../src/core/transaction/stellar.js';
import { createLedger } from '../../local-chains/stellar/ledger.js';
import { walletOf } from '../../local-chains/stellar/wallet.js';
import type { Random } from '../../support/seeded-random.js';
import { payment, type StellarKey, stellarKey, stellarNetwork, stellarRelayer, stellarRequest } from '../../support/stellar.js';
import { sponsoredCall } from '../../support/stellar-calls.js';
import { startCallers, validUntil } from '../callers.js';
import type { RunContext } from '../context.js';
import type { SimRelayer } from '../service.js';
import { trueTimeMs } from '../virtual-time.js';
import { startWires } from '../wires.js';
import type { World } from '../world.js';
import { createStellarAuditor, type StellarAuditor } from './auditor.js';
import { startLedgerEvents } from './ledger-events.js';
import { createGateway, type Gateway } from './node.js';
import { startNodeFaults } from './node-faults.js';
import { paymentOperation } from './operations.js';

const fullStroops = 100_000_000_000n;
const lowStroops = 10_010_000n;

/** Makes the world of a Stellar network: the rules of stellar-core behind simulated nodes. */
export async function makeStellarWorld(run: RunContext): Promise<World> {
  const { random, time, faults, database } = run;
  const blockMs = [1_000, 5_000][random.between(0, 1)] ?? 5_000;
  const activeMs = random.between(60, 160) * blockMs;
  const keys = Array.from({ length: random.chance(0.3) ? 2 : 1 }, () => stellarKey(bytes(random)));
  const others = Array.from({ length: 2 }, () => stellarKey(bytes(random)));
  const stranger = stellarKey(bytes(random));
  const nobody = stellarKey(bytes(random)).address;
  const ownStroops = faults.has('low funds') ? lowStroops : fullStroops;
  const ledger = createLedger({
    accounts: Object.fromEntries([
      ...keys.map(({ address }) => [address, ownStroops]),
      ...[...others, stranger].map(({ address }) => [address, fullStroops]),
    ]),
    expectedCloseSeconds: blockMs / 1_000,
    nowMs: () => trueTimeMs(time),
  });
  const network = stellarNetwork({
    passphrase: ledger.passphrase,
    rpcUrls: Array.from({ length: random.between(1, 3) }, (_, index) => ({ url: `http://n${index}.sim`, weight: 100 - index })),
    averageBlockTimeMs: blockMs,
  });
  const relayers = keys.map(({ signer, address }, index): SimRelayer => {
    const relayer = { ...stellarRelayer(address), network, id: `r${index}`, signerId: `s${index}`, notificationId: 'hook' };
    return { relayer, signer: { ...signer, id: `s${index}` } };
  });
  const callers = startCallers(run, {
    relayers,
    blockMs,
    paceBlocks: 0.6,
    isOver: () => time.elapsedMs() >= activeMs,
    content: (amount, _relayer, choices) => requestOf(amount, choices),
  });
  const auditor: StellarAuditor = createStellarAuditor({
    database,
    ledger,
    orders: callers,
    relayers: relayers.map(({ relayer }) => ({ relayerId: relayer.id, account: relayer.address })),
  });
  const routes = random.fork('routes');
  const gateways: readonly Gateway[] = network.rpcUrls.map((_, index) =>
    createGateway({
      name: `n${index}`,
      ledger,
      pick: (count) => routes.between(0, count - 1),
      refusedBid: (envelope) => auditor.refusedBid(ledger.read(envelope).hash),
    }),
  );
  const wires = startWires(
    run,
    gateways.map(({ name }) => name),
  );
  const events = startLedgerEvents(run, { ledger, auditor, blockMs, keys, others, stranger, fullStroops });
  const nodeFaults = startNodeFaults(run, { gateways, ledger, keys, stranger, blockMs, hold: events.hold });

  function requestOf(amount: bigint, choices: Random): StellarRequest {
    const validUntilMs = validUntil(run, choices);
    const maxFeeStroops = run.has('max fee') && choices.chance(0.3) ? BigInt(choices.between(100, 20_000)) : undefined;
    if (run.has('foreign envelope') && choices.chance(0.3)) return foreignEnvelope(amount, choices, maxFeeStroops);
    const isReverting = run.has('reverting') && choices.chance(0.1);
    if (run.has('contract call') && choices.chance(0.3)) {
      // Of the fees that callers choose, few cover the resources of a call.
      const callFeeStroops = maxFeeStroops === undefined ? undefined : 3n * maxFeeStroops;
      return stellarRequest({ operations: [contractCall(amount, isReverting)], validUntilMs, maxFeeStroops: callFeeStroops });
    }
    // A payment to an account that does not exist fails in its ledger.
    const destination = isReverting ? nobody : stranger.address;
    return stellarRequest({ operations: [payment(destination, amount)], validUntilMs, maxFeeStroops });
  }

  /** The envelopes of other accounts that the relayers were asked to pay for. A caller that lost the answer asks again. */
  const envelopes: Partial<StellarRequest>[] = [];

  /** A call whose simulation fails if it reverts. */
  function contractCall(amount: bigint, isReverting: boolean): StellarOperation {
    const args = isReverting ? [] : [{ kind: 'u32', value: Number(amount) } as const];
    const functionName = isReverting ? 'fail' : 'increment';
    return { kind: 'invoke_contract', contractAddress: ledger.testContract, functionName, args, auth: undefined };
  }

  /** A payment or a call that another account signed, and whose fee the relayer pays. */
  function foreignEnvelope(amount: bigint, choices: Random, maxFeeStroops: bigint | undefined): StellarRequest {
    // A replacement would leave the earlier envelope to the repeated request, and both may be paid.
    const repeats = run.has('repeat') && !faults.has('replace');
    const earlier = repeats && choices.chance(0.3) ? envelopes.at(-choices.between(1, 3)) : undefined;
    if (earlier !== undefined) return stellarRequest({ ...earlier, maxFeeStroops });
    const source: StellarKey | undefined = others[choices.between(0, others.length - 1)];
    if (source === undefined) throw new Error('there are other accounts');
    const wallet = walletOf(ledger, source.keys);
    const isAhead = choices.chance(0.2);
    const options = {
      sequence: wallet.sequence() + (isAhead ? 2n : 1n),
      maxTimeSeconds: Math.floor(trueTimeMs(time) / 1_000) + choices.between(20, 300),
    };
    const isCall = run.has('contract call') && choices.chance(0.4);
    const request = isCall
      ? sponsoredCall(ledger, wallet, Number(amount), options)
      : { transactionXdr: wallet.build([paymentOperation(stranger.address, amount)], options).toXDR(), feeBump: true };
    envelopes.push(request);
    return stellarRequest({ ...request, maxFeeStroops });
  }

  /** The hashes of the transactions that a body sends. */
  function broadcasts(body: string): readonly string[] {
    if (!body.includes('"sendTransaction"')) return [];
    const calls: readonly { readonly method: string; readonly params: { readonly transaction: string } }[] = [JSON.parse(body)].flat();
    return calls.flatMap(({ method, params }) => (method === 'sendTransaction' ? ledger.read(params.transaction).hash : []));
  }

  return {
    activeMs,
    relayers,
    nodeCount: gateways.length,
    wires: { ...wires, fate: (host, body) => (nodeFaults.mustAnswer(host) ? 'answered' : wires.fate(host, body)) },
    callers,
    maxCallsPerWindow: 2_000,
    maxDowntimeMs: 30_000,
    openChain: (parts) => createStellarChain({ ...parts, network, rpcUrls: network.rpcUrls }),
    answer(host, body) {
      for (const hash of broadcasts(body)) auditor.received(hash);
      return gateways.find(({ name }) => host.startsWith(name))?.answer(body) ?? '';
    },
    broadcasts,
    auditor,
    height: () => ledger.latest().sequence,
    heal() {
      wires.heal();
      nodeFaults.heal();
      events.heal();
    },
    accounts: () =>
      keys.map(({ address }) => {
        const account = ledger.latest().state.accounts.get(address);
        return `${address} has used sequence number ${account?.sequence} and has ${account?.balanceStroops} stroops`;
      }),
    mayLog: (message) => faults.has('merge') && message === 'the relayer is disabled',
  };
}

/** A seed of a key. */
function bytes(random: Random): Uint8Array {
  return Uint8Array.from({ length: 32 }, () => random.between(1, 250));
}
