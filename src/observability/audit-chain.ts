import { createPrivateKey, createPublicKey, hash, hkdfSync, type KeyObject, randomBytes, sign, verify } from 'node:crypto';
import { isoTimeText } from './flat-line.js';

/*
 * The chain that makes changes to the audit log visible. Each line ends with its link: the chain's id, its own number and the SHA-256 of
 * the line before. So a line that is changed, dropped, moved or added breaks the chain there. Signed lines begin the chain, hold it each
 * minute, and end it: an attacker who can write the file can make a new chain of hashes, but not sign it. The minute is one of the times
 * in the lines, which a verification can see, not only one of the writer's timer.
 *
 * A process has one chain. Its first line names the last line that it found in the file, so chains of restarts hang together.
 */

/** The position of a line: the chain's id, the line's number from 1, and the SHA-256 of the line before it (zeros for the first). */
export interface ChainLink {
  readonly chain: string;
  readonly seq: number;
  readonly prev: string;
}

/** The hash before the first line of a chain. */
export const noLine = '0'.repeat(64);
const linkSyntax = /,"link":"([0-9a-f]{16})\.(\d{1,15})\.([0-9a-f]{64})"}$/;
const signatureSyntax = /^(.*),"signature":"([0-9a-f]{128})"$/s;
/** The longest text of a link. */
export const maxLinkLength = 110;
/** The mark before a signature, and the length of a signed line from it to the end, without the digits of the line's number. */
export const signatureMark = ',"signature":"';
const signedEndLength = `${signatureMark}${'0'.repeat(128)}","link":"${'0'.repeat(16)}..${noLine}"}`.length;

/** The messages of signed lines. */
export const chainMessages = { begins: 'audit log begins', head: 'audit log signed', ends: 'audit log ends' };

/** The longest time for which lines are without a signature. */
export const signedAfterMs = 60_000;

/** Returns true if a line with this time can follow, without a signature between, a first unsigned line with that time. */
export function canBeUnsigned(firstMs: number, ms: number): boolean {
  return ms >= firstMs && ms - firstMs <= signedAfterMs;
}

/** Returns where the line stands in its chain; null for a line without a chain. The line has no line break. */
export function linkOf(line: string): ChainLink | null {
  const [, chain, seq, prev] = linkSyntax.exec(line.slice(-maxLinkLength)) ?? [];
  return chain === undefined || prev === undefined ? null : { chain, seq: Number(seq), prev };
}

/** Returns where a line of this length, if it is signed, has `signatureMark`. */
export function signatureStart(lineLength: number, { seq }: ChainLink): number {
  return lineLength - signedEndLength - String(seq).length;
}

/** Returns the hash of a line, without its line break. */
export function lineHash(line: string | Buffer): string {
  return hash('sha256', line, 'hex');
}

/** Returns the text of a link, and of an anchor, which has the hash of the line itself instead of the one before it. */
export function anchorText(chain: string, seq: number, hashText: string): string {
  return `${chain}.${seq}.${hashText}`;
}

/** A line as another place names it: its chain, its number and its own hash. */
export interface Anchor {
  readonly chain: string;
  readonly seq: number;
  readonly hash: string;
}

/** Reads what `anchorText` wrote; null for other texts. */
export function anchorFrom(text: unknown): Anchor | null {
  const [, chain, seq, lastHash] = (typeof text === 'string' && /^([0-9a-f]{16})\.(\d{1,15})\.([0-9a-f]{64})$/.exec(text)) || [];
  return chain === undefined || lastHash === undefined ? null : { chain, seq: Number(seq), hash: lastHash };
}

/** The key that signs chains: Ed25519, derived from the key that encrypts stored secrets, so all instances have the same. */
export interface ChainKey {
  readonly privateKey: KeyObject;
  /** 64 hex digits. */
  readonly publicKey: string;
}

/** Everything before the seed in the PKCS #8 form of an Ed25519 key (RFC 8410), and before the public key in its SPKI form. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex');

/** Derives the key from `STORAGE_ENCRYPTION_KEY`. */
export function chainKeyFrom(storageEncryptionKey: string): ChainKey {
  const seed = Buffer.from(hkdfSync('sha256', Buffer.from(storageEncryptionKey, 'base64'), '', 'relayer audit log', 32));
  const privateKey = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return { privateKey, publicKey: spki.subarray(spkiPrefix.length).toString('hex') };
}

/** Returns true if one of the public keys signed the line. */
export function isSignedBy(line: string, publicKeys: readonly string[]): boolean {
  const link = linkOf(line);
  const [, text, signature] = signatureSyntax.exec(line.replace(linkSyntax, '')) ?? [];
  if (link === null || text === undefined || signature === undefined) return false;
  const signed = Buffer.from(signedText(text, link));
  return publicKeys.some((publicKey) => {
    const key = createPublicKey({ key: Buffer.concat([spkiPrefix, Buffer.from(publicKey, 'hex')]), format: 'der', type: 'spki' });
    return verify(null, signed, key, Buffer.from(signature, 'hex'));
  });
}

function signedText(text: string, { chain, seq, prev }: ChainLink): string {
  return `${anchorText(chain, seq, prev)} ${text}`;
}

/** The chain of a process. */
export interface AuditChain {
  /** Adds a line to the chain: takes JSON without its closing brace, and returns the line without a line break. */
  link(text: string): string;
  /** Adds a signed line about the chain. */
  linkSigned(msg: string, facts?: Readonly<Record<string, unknown>>): string;
  /** Where its last line stands. */
  position(): Pick<ChainLink, 'chain' | 'seq'>;
  /** The chain's last line, as `anchorText` writes it. */
  anchor(): string;
}

/** Begins a chain. */
export function createAuditChain(key: ChainKey): AuditChain {
  const chain = randomBytes(8).toString('hex');
  let seq = 0;
  let prev = noLine;

  function link(text: string): string {
    seq += 1;
    const line = `${text},"link":"${anchorText(chain, seq, prev)}"}`;
    prev = lineHash(line);
    return line;
  }

  return {
    link,
    linkSigned(msg, facts = {}) {
      const fields = { level: 'audit', time: isoTimeText(Date.now()), ...facts, msg };
      const text = JSON.stringify(fields).slice(0, -1);
      const signature = sign(null, Buffer.from(signedText(text, { chain, seq: seq + 1, prev })), key.privateKey).toString('hex');
      return link(`${text},"signature":"${signature}"`);
    },
    position: () => ({ chain, seq }),
    anchor: () => anchorText(chain, seq, prev),
  };
}
