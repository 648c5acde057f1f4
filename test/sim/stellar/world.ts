import { createStellarChain } from '../../../src/chains/stellar/stellar-chain.js';
import type { StellarOperation, StellarRequest } from '../../../src/core/records/stellar.js';
import { createLedger, type StellarLedger } from '../../../src/sandbox/stellar/ledger.js';
import type { Random } from '../../support/seeded-random.js';
import { payment, type StellarKey, stellarKey, stellarNetwork, stellarRelayer, stellarRequest } from '../../support/stellar.js';
import { sponsoredCall } from '../../support/stellar-calls.js';
import { walletOf } from '../../support/stellar-wallet.js';
import { startCallers, validUntil } from '../callers.js';
import { type RunContext, relayerCount } from '../context.js';
import type { SimRelayer } from '../service.js';
import { createCuts, type RequestFate } from '../transport.js';
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
  const keys = Array.from({ length: relayerCount(run) }, () => stellarKey(bytes(random)));
  const others = Array.from({ length: 2 }, () => stellarKey(bytes(random)));
  const stranger = stellarKey(bytes(random));
  const nobody = stellarKey(bytes(random)).address;
  const ownStroops = faults.has('low funds') ? lowStroops : fullStroops;
  const accounts = Object.fromEntries([
    ...keys.map(({ address }) => [address, ownStroops]),
    ...[...others, stranger].map(({ address }) => [address, fullStroops]),
  ]);
  const timing = { expectedCloseSeconds: blockMs / 1_000, nowMs: () => trueTimeMs(time) };
  // A network that begins again has lower ledgers.
  const ledger = createLedger({ accounts, ...timing, firstLedger: faults.has('reset') ? 1_000 : 1 });
  /** The network that took the place of the true one after a reset; null: none. */
  let other: StellarLedger | null = null;
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
    elapsedMs: time.elapsedMs,
  });
  const routes = random.fork('routes');
  const gateways: readonly Gateway[] = network.rpcUrls.map((_, index) =>
    createGateway({
      name: `n${index}`,
      ledger,
      other: () => other,
      pick: (count) => routes.between(0, count - 1),
      refusedBid: (envelope) => auditor.refusedBid(ledger.read(envelope).hash),
    }),
  );
  const wires = startWires(
    run,
    gateways.map(({ name }) => name),
  );
  const events = startLedgerEvents(run, { ledger, other: () => other, auditor, blockMs, keys, others, stranger, fullStroops });
  const resets = random.fork('resets');
  const cuts = createCuts(time);
  time.after((activeMs * resets.between(20, 80)) / 100, () => {
    if (run.has('reset')) resetOnceSigned();
  });
  const nodeFaults = startNodeFaults(run, { gateways, ledger, keys, stranger, blockMs, hold: events.hold });

  /** Only a number that a relayer has signed shows that its network is another one. */
  function resetOnceSigned(): void {
    const signers = database.query('select distinct relayer_id from transactions where nonce is not null').length;
    if (signers === relayers.length) resetNetwork();
    else if (run.has('reset')) time.after(blockMs, resetOnceSigned);
  }

  /** The test network begins again, with other accounts or another passphrase, or the accounts are gone. */
  function resetNetwork(): void {
    run.log.write('reset');
    const passphrase = resets.chance(0.3) ? 'Another Network' : ledger.passphrase;
    other = createLedger({ ...timing, passphrase, accounts: resets.chance(0.5) ? accounts : {} });
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
      : { transactionXdr: wallet.build([paymentOperation(stranger.address, amount)], options).toXdr(), feeBump: true };
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
    wires: { ...wires, fate },
    callers,
    maxCallsPerWindow: 2_000,
    maxDowntimeMs: 30_000,
    openChain(parts) {
      auditor.started();
      return createStellarChain({ ...parts, network, rpcUrls: network.rpcUrls });
    },
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
      other = null;
      breakConnections();
      auditor.restored();
    },
    accounts: () =>
      keys.map(({ address }) => {
        const account = ledger.latest().state.accounts.get(address);
        return `${address} has used sequence number ${account?.sequence} and has ${account?.balanceStroops} stroops`;
      }),
    mayLog(message) {
      if (message === 'the relayer is disabled') return faults.has('merge') || faults.has('reset');
      return faults.has('reset') && message === 'RPC endpoint serves another chain; not used';
    },
  };
}

/** A seed of a key. */
function bytes(random: Random): Uint8Array {
  return Uint8Array.from({ length: 32 }, () => random.between(1, 250));
}
