import type { StellarLedger } from '../../../src/sandbox/stellar/ledger.js';
import type { Random } from '../../support/seeded-random.js';
import type { StellarKey } from '../../support/stellar.js';
import { walletOf } from '../../support/stellar-wallet.js';
import { type RunContext, recurring } from '../context.js';
import { type Fault, stellarFaults } from '../faults.js';
import { type Gateway, type NodeCondition, wellConditioned } from './node.js';
import { paymentOperation } from './operations.js';

/** The parts of the nodes' faults. */
export interface NodeFaultOptions {
  readonly gateways: readonly Gateway[];
  readonly ledger: StellarLedger;
  /** The relayers' keys. */
  readonly keys: readonly StellarKey[];
  readonly stranger: StellarKey;
  readonly blockMs: number;
  /** Ledgers leave out everything for this long. */
  hold(ms: number): void;
}

type Misdeed = (options: NodeFaultOptions, random: Random) => Partial<NodeCondition>;

const misdeeds: Readonly<Partial<Record<Fault, Misdeed>>> = {
  lag: (_, random) => ({ ledgersBehind: random.between(1, random.chance(0.5) ? 3 : 40) }),
  'fresh node': ({ ledger }, random) => ({ oldestLedger: ledger.latest().sequence - random.between(0, 10) }),
  'drops sent': () => ({ sending: 'dropped' }),
  'busy queue': () => ({ sending: 'try again later' }),
  restores: () => ({ restoring: 'before it' }),
  'full queue': (_, random) => ({ fullBelowStroops: BigInt(random.between(100, 20_000)) }),
  'shifted ledgers': (_, random) => ({ ledgerShift: random.between(1, random.chance(0.5) ? 3 : 60) * (random.chance(0.5) ? 1 : -1) }),
  'wrong receipts': (_, random) => ({ shows: random.chance(0.4) ? 'other outcome' : random.chance(0.5) ? 'ledger before' : 'nothing' }),
  'forged envelope': ({ ledger, keys: [key], stranger }) => {
    if (key === undefined) return {};
    const wallet = walletOf(ledger, key.keys);
    const sequence = wallet.sequence() + 1n;
    // The stranger's signature under the relayer's name.
    const unsigned = wallet.build([paymentOperation(stranger.address, 1n)], { sequence, signers: [stranger.keys] });
    const envelope = unsigned.toEnvelope().toXdr('base64');
    return { forges: { account: key.address, sequence, ledger: ledger.latest().sequence, envelope } };
  },
};

/** What the first URL alone does, while the others answer. */
const lies: ReadonlySet<Fault> = new Set(['forged envelope', 'shifted ledgers', 'wrong receipts']);

/** The faults of nodes, while they last. */
export interface NodeFaults {
  /** A lie that nobody contradicts is the truth: the other URLs answer meanwhile. */
  mustAnswer(host: string): boolean;
  heal(): void;
}

/** Lets nodes misbehave from time to time, and URLs meet different nodes. */
export function startNodeFaults(run: RunContext, options: NodeFaultOptions): NodeFaults {
  const { gateways, blockMs } = options;
  const { time, log } = run;
  const random = run.random.fork('nodes');
  const any = <T>(all: readonly T[]): T | undefined => all[random.between(0, all.length - 1)];
  const [liar] = gateways;
  let lyingUntilMs = 0;

  for (const fault of stellarFaults) {
    const misdeedOf = misdeeds[fault];
    if (misdeedOf === undefined) continue;
    recurring(run, 30 * blockMs, () => {
      const isLie = lies.has(fault);
      const gateway = isLie ? liar : any(gateways);
      if (gateway === undefined || !run.has(fault) || (isLie && gateways.length === 1)) return;
      log.write(`${gateway.name}: ${fault}`);
      const changes = misdeedOf(options, random);
      const forMs = random.between(2, 40) * blockMs;
      // A URL that lies does so whichever node answers.
      const conditions = isLie ? gateway.conditions : gateway.conditions.slice(random.between(0, 1));
      if (isLie) {
        lyingUntilMs = Math.max(lyingUntilMs, time.elapsedMs() + forMs + 10_000);
        if (random.chance(0.6)) options.hold(forMs);
      }
      for (const condition of conditions) Object.assign(condition, changes);
      time.after(forMs, () => {
        for (const condition of conditions)
          for (const key of Object.keys(changes)) Object.assign(condition, { [key]: wellConditioned[key as keyof NodeCondition] });
      });
    });
  }
  recurring(run, 25 * blockMs, () => {
    const gateway = any(gateways);
    if (gateway !== undefined && run.has('split gateway')) gateway.splits = random.chance(0.7);
  });

  return {
    mustAnswer: (host) => time.elapsedMs() < lyingUntilMs && host !== `${liar?.name}.sim`,
    heal() {
      for (const gateway of gateways) {
        gateway.splits = false;
        for (const condition of gateway.conditions) Object.assign(condition, wellConditioned);
      }
    },
  };
}
