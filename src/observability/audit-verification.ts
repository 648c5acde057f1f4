import { createReadStream } from 'node:fs';
import {
  type Anchor,
  anchorFrom,
  type ChainLink,
  chainMessages,
  isSignedBy,
  lineHash,
  linkOf,
  maxLinkLength,
  noLine,
} from './audit-chain.js';

interface Place {
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

/** Something wrong with a file of the audit log. */
export interface AuditProblem extends Place {
  readonly problem: string;
}

/** What is known of a chain. */
export interface VerifiedChain {
  readonly chain: string;
  /** Its lines in the files. */
  readonly lines: number;
  /** The number of its last line that is signed, or covered by a signature. */
  readonly signedTo: number;
  /** `ended` by its process; `continued` by another chain, which names its last line; `open` otherwise: its end may be missing. */
  readonly end: 'ended' | 'continued' | 'open';
  /** Audit lines that could not be written by its process. */
  readonly lost: number;
}

/** The result of a verification. */
export interface AuditVerification {
  /** By file and line; the first of each chain, since all after it follow from it. */
  readonly problems: readonly AuditProblem[];
  readonly chains: readonly VerifiedChain[];
}

/** Lines of a chain that follow one another in one file. */
interface Segment extends Place {
  readonly first: { readonly seq: number; readonly prev: string };
  lastSeq: number;
  lastHash: string;
}

interface Chain {
  readonly segments: Segment[];
  lines: number;
  signedTo: number;
  /** The hashes of the lines after the last signed one, by their numbers. */
  readonly unsigned: Map<number, string>;
  isEnded: boolean;
  lost: number;
  isBroken: boolean;
}

const auditStart = Buffer.from('{"level":"audit"');
const logStart = Buffer.from('{"level":"');
const signedMark = Buffer.from(',"signature":"');
const headMark = Buffer.from(`"msg":"${chainMessages.head}"`);
const newLine = 10;

/** Longer lines are no audit lines: memory must not grow with a file that has no line breaks. */
const maxLineBytes = 4 * 1024 * 1024;

/**
 * Verifies files of the audit log, of one or several instances, in any order: audit files, or logs that contain audit lines. Lines
 * `audit log signed` of a log that was kept elsewhere show whether the end of an audit file is missing. `publicKeys`: the keys
 * that may have signed. Throws if a file cannot be read.
 */
export async function verifyAudit(files: readonly string[], publicKeys: readonly string[]): Promise<AuditVerification> {
  const problems: AuditProblem[] = [];
  const chains = new Map<string, Chain>();
  const anchors: (Anchor & Place & { readonly isOfChain: boolean })[] = [];

  function broken(chain: Chain, place: Place, problem: string): void {
    if (!chain.isBroken) problems.push({ ...place, problem });
    chain.isBroken = true;
  }

  function addSigned(chain: Chain, text: string, link: ChainLink, place: Place): void {
    if (!isSignedBy(text, publicKeys)) {
      broken(chain, place, 'its signature is wrong, or of another key');
      return;
    }
    const { msg, after, lost } = JSON.parse(text) as { msg?: unknown; after?: unknown; lost?: unknown };
    chain.signedTo = Math.max(chain.signedTo, link.seq);
    chain.unsigned.clear();
    if (msg === chainMessages.ends) chain.isEnded = true;
    if (typeof lost === 'number') chain.lost = Math.max(chain.lost, lost);
    const anchor = anchorFrom(after);
    if (anchor !== null) anchors.push({ ...anchor, ...place, isOfChain: true });
  }

  function addLine(bytes: Buffer, link: ChainLink, place: Place): void {
    const chain = chains.get(link.chain) ?? newChain();
    chains.set(link.chain, chain);
    chain.lines += 1;
    const last = chain.segments.at(-1);
    const hash = lineHash(bytes);
    if (last?.file !== place.file) chain.segments.push({ ...place, first: link, lastSeq: link.seq, lastHash: hash });
    else if (last.lastSeq + 1 !== link.seq || last.lastHash !== link.prev) broken(chain, place, gapText(last.lastSeq, link.seq));
    else {
      last.lastSeq = link.seq;
      last.lastHash = hash;
    }
    chain.unsigned.set(link.seq, hash);
    if (bytes.includes(signedMark)) addSigned(chain, bytes.toString(), link, place);
  }

  function addHead(bytes: Buffer, place: Place): void {
    const anchor = anchorFrom(/"last":"([^"]*)"/.exec(bytes.toString())?.[1]);
    if (anchor !== null) anchors.push({ ...anchor, ...place, isOfChain: false });
  }

  async function readFile(file: string): Promise<void> {
    let line = 0;
    let hasChain = false;
    /** A part of a line, which a process that was killed or a full disk may have left. */
    let part: (Place & { readonly bytes: Buffer }) | null = null;
    const notAudit = ({ file, line }: Place) => problems.push({ file, line, problem: 'it is not a line of the audit log' });
    const take = (bytes: Buffer): void => {
      line += 1;
      const isAudit = startsWith(bytes, auditStart);
      const link = isAudit ? linkOf(bytes.toString('latin1', Math.max(0, bytes.length - maxLinkLength))) : null;
      if (link !== null) {
        if (part !== null && link.seq !== 1 && !startsWith(bytes, part.bytes)) notAudit(part);
        part = null;
        hasChain = true;
        addLine(bytes, link, { file, line });
      } else if (!isAudit && startsWith(bytes, logStart)) {
        if (bytes.includes(headMark)) addHead(bytes, { file, line });
      } else if (hasChain) {
        if (part !== null) notAudit(part);
        part = { file, line, bytes: Buffer.from(bytes) };
      }
    };
    for await (const lines of linesOf(file)) lines.forEach(take);
  }

  for (const file of files) await readFile(file);
  for (const chain of chains.values()) joinSegments(chain, (place, problem) => broken(chain, place, problem));
  const continued = new Set<string>();
  for (const { chain: id, seq, hash, isOfChain, file, line } of anchors) {
    const chain = chains.get(id);
    const last = chain?.segments.at(-1);
    if (chain === undefined || last === undefined) {
      // A chain may name one in a file that was rotated away long ago.
      if (!isOfChain) problems.push({ file, line, problem: `the lines of the chain ${id} up to ${seq} are missing` });
    } else if (last.lastSeq < seq) broken(chain, last, `its chain has the lines to ${last.lastSeq}, and ${seq} in ${file}:${line}`);
    else if (seq > chain.signedTo && chain.unsigned.get(seq) !== hash)
      broken(chain, last, `the line ${seq} of its chain is not that of ${file}:${line}`);
    else if (isOfChain && last.lastSeq === seq) continued.add(id);
  }
  if (chains.size === 0 && problems.length === 0)
    problems.push({ file: files[0] ?? '', line: 1, problem: 'no line of the file is in a chain' });
  return {
    problems: problems.sort((a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line),
    chains: [...chains].map(([chain, { lines, signedTo, isEnded, lost }]) => ({
      chain,
      lines,
      signedTo,
      end: isEnded ? 'ended' : continued.has(chain) ? 'continued' : 'open',
      lost,
    })),
  };
}

function newChain(): Chain {
  return { segments: [], lines: 0, signedTo: 0, unsigned: new Map(), isEnded: false, lost: 0, isBroken: false };
}

function startsWith(bytes: Buffer, start: Buffer): boolean {
  return bytes.subarray(0, start.length).equals(start);
}

function gapText(lastSeq: number, seq: number): string {
  if (seq === lastSeq + 1) return `the line before it in its chain, ${lastSeq}, was changed`;
  return seq > lastSeq
    ? `the lines ${lastSeq + 1} to ${seq - 1} of its chain are missing`
    : `the line ${lastSeq} of its chain is before it`;
}

/** Compares where the files of a chain meet. */
function joinSegments({ segments, signedTo }: Chain, broken: (place: Place, problem: string) => void): void {
  segments.sort((a, b) => a.first.seq - b.first.seq);
  let before: Pick<Segment, 'lastSeq' | 'lastHash'> = { lastSeq: 0, lastHash: noLine };
  for (const segment of segments) {
    const { file, line, first } = segment;
    if (before.lastSeq + 1 !== first.seq || before.lastHash !== first.prev) broken({ file, line }, gapText(before.lastSeq, first.seq));
    before = segment;
  }
  const [first] = segments;
  if (first !== undefined && signedTo === 0) broken({ file: first.file, line: first.line }, 'its chain has no signature');
}

/**
 * Reads the lines of a file without their line breaks; what follows the last one, too. Many at a time, since waiting for each line would
 * cost more than all that is done with it.
 */
async function* linesOf(file: string): AsyncIterable<readonly Buffer[]> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = bytes.indexOf(newLine); end !== -1; end = bytes.indexOf(newLine, start)) {
      lines.push(bytes.subarray(start, end));
      start = end + 1;
    }
    yield lines;
    rest = bytes.subarray(start);
    if (rest.length > maxLineBytes) throw new Error(`${file} has a line of more than ${maxLineBytes} bytes`);
  }
  if (rest.length > 0) yield [rest];
}
