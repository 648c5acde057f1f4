import type { NetworkFields } from './network-schemas.js';
import type { Problem } from './problem.js';

/** A network as written, and where; undefined fields: it is wrong, and its problems are on the list. */
export interface WrittenNetwork {
  readonly path: string;
  readonly fields: NetworkFields | undefined;
}

/** How networks of a kind are called in sentences. */
const kindNames = { evm: 'EVM', stellar: 'Stellar', solana: 'Solana' } as const;

/**
 * The network with all that it inherits, where `sibling` gives the others of its kind by name; undefined when that cannot be told. A problem is
 * reported at the network that has it. Tags and features are united, all else that is said replaces what the parent says.
 */
export function inheritNetwork(
  network: NetworkFields,
  path: string,
  sibling: (name: string) => WrittenNetwork | undefined,
  problems: Problem[],
): NetworkFields | undefined {
  const line: NetworkFields[] = [network];
  for (let child = network; child.from; ) {
    const parent = sibling(child.from);
    if (child.from === network.network) problems.push({ path: `${path}.from`, problem: 'goes round in a circle' });
    else if (parent === undefined && child === network) {
      const sentence = `no ${kindNames[network.type]} network has the name ${JSON.stringify(child.from)}`;
      problems.push({ path: `${path}.from`, problem: sentence });
    }
    if (parent?.fields === undefined || line.includes(parent.fields)) return undefined;
    child = parent.fields;
    line.push(child);
  }
  return line.reduceRight((parent, child) => merged(parent, child));
}

function merged(parent: NetworkFields, child: NetworkFields): NetworkFields {
  const given = Object.fromEntries(Object.entries(child).filter(([, value]) => value !== undefined && value !== null));
  const both = parent.type === 'evm' && child.type === 'evm';
  return {
    ...parent,
    ...given,
    tags: union(parent.tags, child.tags),
    ...(both ? { features: union(parent.features, child.features) } : {}),
    // Both are of one kind, so that what either has is a field of that kind.
  } as NetworkFields;
}

function union(parent: readonly string[] | null | undefined, child: readonly string[] | null | undefined): string[] {
  return [...new Set([...(parent ?? []), ...(child ?? [])])];
}
