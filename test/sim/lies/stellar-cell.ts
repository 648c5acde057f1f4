import { createStellarChain } from '../../../src/chains/stellar/stellar-chain.js';
import { createLedger } from '../../../src/sandbox/stellar/ledger.js';
import { payment, stellarKey, stellarNetwork, stellarRelayer, stellarRequest } from '../../support/stellar.js';
import { walletOf } from '../../support/stellar-wallet.js';
import { createStellarAuditor } from '../stellar/auditor.js';
import { createGateway } from '../stellar/node.js';
import { paymentOperation } from '../stellar/operations.js';
import { trueTimeMs } from '../virtual-time.js';
import { held } from './cell-story.js';
import { type CellWorld, type CellWorldParts, noForger } from './cell-world.js';
import type { Call, Reply } from './liar.js';

const blockMs = 2_000;
/** Longer than a cell: without a limit, payments would get one of two minutes. */
const endlessMs = 3_600_000;
const fullStroops = 100_000_000_000n;

/** Creates the world of a cell on a Stellar network: the rules of stellar-core behind simulated nodes. */
export async function createStellarCell({ story, time, clock, log, database, orders, guarded }: CellWorldParts): Promise<CellWorld> {
  const { subject } = story.cell;
  const key = stellarKey(Buffer.alloc(32, 9));
  const stranger = stellarKey(Buffer.alloc(32, 7));
  const ledger = createLedger({
    accounts: { [key.address]: fullStroops, [stranger.address]: fullStroops },
    expectedCloseSeconds: blockMs / 1_000,
    nowMs: () => trueTimeMs(time),
  });
  const network = stellarNetwork({
    passphrase: ledger.passphrase,
    rpcUrls: story.roles.map((_, index) => ({ url: `http://n${index}.sim`, weight: 100 - index })),
    averageBlockTimeMs: blockMs,
  });
  const relayer = { ...stellarRelayer(key.address), network, notificationId: 'hook' };
  const auditor = createStellarAuditor({
    database,
    ledger,
    orders,
    relayers: [{ relayerId: relayer.id, account: key.address }],
    isMarketContested: subject.question === 'recentBids' && story.roles.filter((role) => role === 'honest').length < 2,
    elapsedMs: time.elapsedMs,
  });
  const nodes = story.roles.map((_, index) =>
    createGateway({
      name: `n${index}`,
      ledger,
      other: () => null,
      pick: () => 0,
      refusedBid: (envelope) => auditor.refusedBid(ledger.read(envelope).hash),
    }),
  );

  function close(): void {
    const nowMs = time.elapsedMs();
    ledger.setLeavesOutAll(nowMs >= held.fromMs && nowMs < held.toMs);
    ledger.setSurge(nowMs >= held.fromMs && nowMs < held.surgeUntilMs ? 300n : 100n);
    const closed = ledger.close();
    log.write(`ledger ${closed.sequence} [${closed.transactions.map(({ frame }) => frame.sequence).join(' ')}]`);
    auditor.closed(closed);
    time.after(blockMs, () => guarded(close));
  }

  return {
    one: { relayer, signer: key.signer },
    auditor,
    begin: close,
    openChain: (parts) => createStellarChain({ ...parts, network, rpcUrls: network.rpcUrls }),
    answer: (index, body) => nodes[index]?.answer(body) ?? '',
    renumbered: (call, shift, own) => shiftedBy(nodes, Number(shift), call, own),
    createForger: () => noForger,
    broadcasts(body) {
      const calls = [JSON.parse(body)].flat() as { readonly method: string; readonly params: { readonly transaction: string } }[];
      return calls.flatMap(({ method, params }) => (method === 'sendTransaction' ? ledger.read(params.transaction).hash : []));
    },
    content({ amount, request, validUntilMs }) {
      const limits = { validUntilMs: validUntilMs ?? clock.nowMs() + endlessMs };
      if (subject.world !== 'contract' || request === 1)
        return stellarRequest({ operations: [payment(stranger.address, amount)], ...limits });
      const args = [{ kind: 'u32', value: Number(amount) } as const];
      const contractAddress = ledger.testContract;
      return stellarRequest({
        operations: [{ kind: 'invoke_contract', contractAddress, functionName: 'increment', args, auth: undefined }],
        ...limits,
      });
    },
    async useKey() {
      const transaction = walletOf(ledger, key.keys).build([paymentOperation(stranger.address, 77_777n)], { feeStroops: 20_000n });
      const { frame, submission } = ledger.submit(transaction.toEnvelope().toXdr('base64'));
      log.write(`foreign use of ${frame.sequence}: ${submission.status}`);
      auditor.usedElsewhere(frame.hash);
    },
    isSecondSlotUsed: () => false,
  };
}

/** All nodes see the same, so that any of them can answer. */
function shiftedBy(nodes: readonly ReturnType<typeof createGateway>[], shift: number, call: Call, own: (call: Call) => Reply): Reply {
  const conditions = nodes.flatMap((node) => node.conditions);
  for (const condition of conditions) condition.ledgerShift = shift;
  try {
    return own(call);
  } finally {
    for (const condition of conditions) condition.ledgerShift = 0;
  }
}
