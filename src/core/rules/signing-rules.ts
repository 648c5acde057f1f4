import { DomainError, type FieldProblem } from '../errors/errors.js';
import type { Directory } from '../ports/directory.js';
import type { NetworkType } from '../records/network.js';
import type { Relayer } from '../records/relayer.js';
import type { SigningPolicy, TypedDataDomain } from '../records/signing-policy.js';

type Keccak256 = (bytes: Uint8Array) => Uint8Array;

/** What a caller wants to be signed. `domainSeparator`: 64 hex digits. */
export type WantedSignature =
  | { readonly kind: 'message' | 'transaction' }
  | { readonly kind: 'typed data'; readonly domainSeparator: string };

/** The maximum number of domains of a policy. */
const maxDomains = 100;

const nothing: SigningPolicy = { messages: false, transactions: false, typedData: false };

/** Returns what is wrong with a signing policy. `field` leads to it. */
export function signingProblems(field: string, { typedData }: SigningPolicy, networkType: NetworkType): readonly FieldProblem[] {
  if (networkType !== 'evm' && typedData !== false)
    return [{ field: `${field}.typed_data`, description: 'must be deny or left out: only evm relayers sign typed data' }];
  if (typedData === null) return [{ field: `${field}.typed_data`, description: 'must be allow, deny or domains' }];
  if (typeof typedData === 'boolean') return [];
  if (typedData.length > maxDomains)
    return [{ field: `${field}.typed_data.domains`, description: `must have at most ${maxDomains} items` }];
  return typedData.flatMap(({ separator, name, version, chainId, verifyingContract }, index) => {
    const hasFields = [name, version, chainId, verifyingContract].some((one) => one !== null);
    if ((separator !== null) !== hasFields) return [];
    return [{ field: `${field}.typed_data.domains[${index}]`, description: 'must be the separator, or the fields that the domain has' }];
  });
}

/** The dependencies of `requireSigning`. */
export interface RequireSigningDeps {
  readonly directory: Pick<Directory, 'relayers'>;
  readonly keccak256: Keccak256;
}

/**
 * Throws `forbidden` POLICY_DENIED unless the relayer signs this, and so does each relayer of its account on another network for which the
 * signature could count, too. One that has rules and no signing policy signs nothing, since a signature walks past its rules.
 */
export function requireSigning({ directory, keccak256 }: RequireSigningDeps, relayer: Relayer, wanted: WantedSignature): void {
  for (const { id, policies } of relayersFor(directory, relayer, wanted)) {
    const { signing: policy, rules } = policies;
    const signing = policy ?? (rules === null ? null : nothing);
    if (signing === null || isAllowed(keccak256, signing, wanted)) continue;
    const why =
      policy === null ? 'has rules about what its account sends and no policy signing' : 'does not allow it in its policy signing';
    const sentence = `the account signs no such ${wanted.kind} that the service does not send: relayer ${id} ${why}`;
    throw new DomainError('forbidden', 'POLICY_DENIED', sentence, { metadata: { relayer_id: id } });
  }
}

/** Data may name any chain, and a Solana message names none. Other transactions name their chain, so no other relayer could send them. */
function relayersFor(directory: Pick<Directory, 'relayers'>, relayer: Relayer, { kind }: WantedSignature): readonly Relayer[] {
  if (kind === 'transaction' && relayer.networkType !== 'solana') return [relayer];
  return directory.relayers().filter(({ address }) => address === relayer.address);
}

function isAllowed(keccak256: Keccak256, { messages, transactions, typedData }: SigningPolicy, wanted: WantedSignature): boolean {
  if (wanted.kind !== 'typed data') return wanted.kind === 'message' ? messages : transactions;
  if (typedData === null || typeof typedData === 'boolean') return typedData === true;
  return typedData.some((domain) => separatorOf(keccak256, domain) === wanted.domainSeparator.toLowerCase());
}

/** The separator of a domain by EIP-712, which has the fields in this order. */
function separatorOf(keccak256: Keccak256, { separator, name, version, chainId, verifyingContract }: TypedDataDomain): string {
  if (separator !== null) return separator;
  const hash = (text: string): string => Buffer.from(keccak256(Buffer.from(text))).toString('hex');
  const word = (hex: string): string => hex.padStart(64, '0');
  const fields = [
    ['string name', name === null ? null : hash(name)],
    ['string version', version === null ? null : hash(version)],
    ['uint256 chainId', chainId === null ? null : word(chainId.toString(16))],
    ['address verifyingContract', verifyingContract === null ? null : word(verifyingContract.slice(2))],
  ].filter(([, encoded]) => encoded !== null);
  const type = hash(`EIP712Domain(${fields.map(([declared]) => declared).join(',')})`);
  const encoded = Buffer.from([type, ...fields.map(([, value]) => value)].join(''), 'hex');
  return Buffer.from(keccak256(encoded)).toString('hex');
}
