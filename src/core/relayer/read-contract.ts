import { DomainError, invalidField } from '../errors/errors.js';
import { readEachInTurn } from '../errors/read-all.js';
import type { Chain } from '../ports/chain/chain.js';
import type { ContractRead, ContractReading, PreparedRead } from '../ports/chain/requests.js';
import type { Directory } from '../ports/directory.js';
import type { Relayer } from '../records/relayer.js';
import { checkText, syntaxes } from '../text/text-syntax.js';
import { createParallelLimit } from '../work/parallel-limit.js';

/** A read as requested. */
export interface WantedRead extends ContractRead {
  /** `latest` or a number in decimal; undefined: `latest`. */
  readonly block: string | undefined;
}

const maxReads = 100;
/** Encoding takes about 5 µs for each character. */
const maxArgsLength = 65_536;
/** Fewer than the forwarded calls that a network takes at a time. */
const parallelReads = 8;

/** Checks reads, and encodes their calls. `isSingle`: there is one, whose fields are those of the request. Throws DomainError (400). */
async function prepareReads(
  chain: Chain,
  networkType: string,
  reads: readonly WantedRead[],
  isSingle: boolean,
): Promise<readonly PreparedRead[]> {
  const { contractCalls } = chain;
  if (contractCalls === undefined) {
    const sentence = `ReadContract is not supported on relayers of network type ${networkType}`;
    throw new DomainError('invalid', 'NOT_SUPPORTED_ON_NETWORK', sentence, { metadata: { network_type: networkType } });
  }
  if (reads.length > maxReads) throw invalidField('reads', `must have at most ${maxReads} items; it has ${reads.length}`);
  const argsLength = reads.reduce((sum, { call }) => sum + (call?.args.length ?? 0), 0);
  if (!isSingle && argsLength > maxArgsLength)
    throw invalidField('reads', `must have at most ${maxArgsLength} characters of args together; they have ${argsLength}`);
  return readEachInTurn(reads, (read, index) => {
    const path = isSingle ? '' : `reads[${index}].`;
    if (read.block !== undefined) checkText(`${path}block`, read.block, syntaxes.block_number);
    return contractCalls.prepare(read, path);
  });
}

/** Calls functions of contracts without a transaction. Throws DomainError: 400, and 503 if no node is reachable. */
export async function readContract(
  directory: Pick<Directory, 'chainOf'>,
  relayer: Relayer,
  reads: readonly WantedRead[],
  isSingle: boolean,
): Promise<readonly ContractReading[]> {
  const chain = directory.chainOf(relayer);
  const prepared = await prepareReads(chain, relayer.networkType, reads, isSingle);
  const { run } = createParallelLimit(parallelReads);
  return Promise.all(
    prepared.map(({ to, data, decode }, index) =>
      run(async () => {
        const block = reads[index]?.block ?? 'latest';
        const call = { from: relayer.address, to, data };
        const at = block === 'latest' ? block : `0x${BigInt(block).toString(16)}`;
        return decode(await chain.forward('eth_call', JSON.stringify([call, at])));
      }),
    ),
  );
}
