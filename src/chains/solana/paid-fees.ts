import type { Log } from '../../core/work/log.js';
import type { First } from '../rpc/endpoint-selector.js';
import type { Rpc } from '../rpc/rpc.js';
import type { SolanaAttempt } from './absence.js';
import { impliesFee } from './compute-budget.js';
import { questions } from './questions.js';
import { transactionFromBytes } from './wire.js';

/** An attempt in a finalized block. */
export interface Landed {
  readonly attempt: SolanaAttempt;
  readonly slot: bigint;
}

/** Reads the fees of transactions in finalized blocks. */
export interface PaidFees {
  /**
   * Returns fees by signature. A fee follows from the message and the rules of its block. If one transaction of a block shows that the
   * rules are as known, they give the fees of the block's other ones, so that a busy account costs few calls. A fee that no node shows is
   * left out. Never throws because of a node.
   */
  of(landed: readonly Landed[]): Promise<ReadonlyMap<string, bigint>>;
}

/** Creates a reader of fees. */
export function createPaidFees(rpc: Rpc, log: Log, networkName: string): PaidFees {
  async function read(some: readonly Landed[], first: First): Promise<readonly (bigint | null)[]> {
    const answers = await rpc.batch(
      some.map(({ attempt }) => questions.transaction(attempt.hash)),
      { first, shared: true },
    );
    return answers.map((answer, at) => {
      const found = 'result' in answer ? answer.result : null;
      return found?.slot === some[at]?.slot ? (found?.feeLamports ?? null) : null;
    });
  }

  /** Reads fees one by one. One that differs from what the message implies must be shown by another endpoint, too. */
  async function readEach(some: readonly Landed[], fees: Map<string, bigint>): Promise<void> {
    const shown = await read(some, 'head');
    const odd = some.filter(({ attempt }, at) => shown[at] !== null && shown[at] !== attempt.fields.feeLamports);
    const again = odd.length === 0 ? [] : await read(odd, 'another');
    for (const [at, one] of some.entries()) {
      const { hash, fields } = one.attempt;
      const fee = shown[at] ?? null;
      const second = odd.includes(one) ? (again[odd.indexOf(one)] ?? null) : fee;
      if (fee === null) continue;
      if (fee === second) fees.set(hash, fee);
      else {
        const facts = { network: networkName, signature: hash, fee: fee.toString(), implied: fields.feeLamports.toString() };
        log.warn(facts, 'an RPC node shows a fee that no other one confirms; the record shows the fee that the message implies');
      }
    }
  }

  return {
    async of(landed) {
      const fees = new Map<string, bigint>();
      const samples = new Map<bigint, Landed>();
      const implied: Landed[] = [];
      const alone: Landed[] = [];
      for (const one of landed) {
        if (!impliesFee(transactionFromBytes(Buffer.from(one.attempt.raw, 'base64')).message)) alone.push(one);
        else if (samples.has(one.slot)) implied.push(one);
        else samples.set(one.slot, one);
      }
      await readEach([...samples.values(), ...alone], fees);
      const unlike: Landed[] = [];
      for (const one of implied) {
        const { attempt } = samples.get(one.slot) ?? one;
        const { hash, fields } = one.attempt;
        if (fees.get(attempt.hash) === attempt.fields.feeLamports) fees.set(hash, fields.feeLamports);
        else unlike.push(one);
      }
      if (unlike.length > 0) await readEach(unlike, fees);
      return fees;
    },
  };
}
