import { createReadStream } from 'node:fs';
import {
  type Anchor,
  anchorFrom,
  type ChainLink,
  canBeUnsigned,
  chainMessages,
  isSignedBy,
  lineHash,
  linkOf,
  maxLinkLength,
  noLine,
  signatureMark,
  signatureStart,
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
  /** The first line after the last signed one; null: there is none. */
  unsignedFrom: Start | null;
}

/** Where a line begins. */
interface Start extends Place {
  /** In bytes. */
  readonly offset: number;
}

interface Chain {
  readonly segments: Segment[];
  lines: number;
  signedTo: number;
  /** The number of the line that ended it; 0: none did. */
  endedAt: number;
  lost: number;
  isBroken: boolean;
}

const auditStart = Buffer.from('{"level":"audit"');
const logStart = Buffer.from('{"level":"');
const signedMark = Buffer.from(signatureMark);
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

  function broken(chain: Chain, { file, line }: Place, problem: string): void {
    if (!chain.isBroken) problems.push({ file, line, problem });
    chain.isBroken = true;
  }

  function addSigned(chain: Chain, text: string, link: ChainLink, place: Place): boolean {
    if (!isSignedBy(text, publicKeys)) {
      broken(chain, place, 'its signature is wrong, or of another key');
      return false;
    }
    const { msg, after, lost } = JSON.parse(text) as { msg?: unknown; after?: unknown; lost?: unknown };
    chain.signedTo = Math.max(chain.signedTo, link.seq);
    if (msg === chainMessages.ends) chain.endedAt = link.seq;
    if (typeof lost === 'number') chain.lost = Math.max(chain.lost, lost);
    const anchor = anchorFrom(after);
    if (anchor !== null) anchors.push({ ...anchor, ...place, isOfChain: true });
    return true;
  }

  function addChain(id: string): Chain {
    const chain = { segments: [], lines: 0, signedTo: 0, endedAt: 0, lost: 0, isBroken: false };
    chains.set(id, chain);
    return chain;
  }

  function addLine(bytes: Buffer, link: ChainLink, place: Start): void {
    const { seq } = link;
    const chain = chains.get(link.chain) ?? addChain(link.chain);
    chain.lines += 1;
    const hash = lineHash(bytes);
    let segment = chain.segments.at(-1);
    if (segment?.file !== place.file) {
      segment = { ...place, first: link, lastSeq: seq, lastHash: hash, unsignedFrom: null };
      chain.segments.push(segment);
    } else if (segment.lastSeq + 1 !== seq || segment.lastHash !== link.prev) broken(chain, place, gapText(segment.lastSeq, seq));
    else {
      segment.lastSeq = seq;
      segment.lastHash = hash;
    }
    if (!hasAt(bytes, signedMark, signatureStart(bytes.length, link))) segment.unsignedFrom ??= place;
    else if (addSigned(chain, bytes.toString(), link, place)) segment.unsignedFrom = null;
  }

  function addHead(bytes: Buffer, place: Place): void {
    const anchor = anchorFrom(/"last":"([^"]*)"/.exec(bytes.toString())?.[1]);
    if (anchor !== null) anchors.push({ ...anchor, ...place, isOfChain: false });
  }

  async function readFile(file: string): Promise<void> {
    let line = 0;
    let offset = 0;
    let hasChain = false;
    /** A part of a line, which a process that was killed or a full disk may have left. */
    let part: (Place & { readonly bytes: Buffer }) | null = null;
    let others = 0;
    let firstOther = 0;
    const notAudit = ({ line }: Place): void => {
      others += 1;
      firstOther ||= line;
    };
    const take = (bytes: Buffer): void => {
      line += 1;
      const start = offset;
      offset += bytes.length + 1;
      const isAudit = startsWith(bytes, auditStart);
      const link = isAudit ? linkIn(bytes) : null;
      if (link !== null) {
        if (part !== null && link.seq !== 1 && !startsWith(bytes, part.bytes)) notAudit(part);
        part = null;
        hasChain = true;
        addLine(bytes, link, { file, line, offset: start });
      } else if (!isAudit && startsWith(bytes, logStart)) {
        if (bytes.includes(headMark)) addHead(bytes, { file, line });
      } else if (hasChain) {
        if (part !== null) notAudit(part);
        part = { file, line, bytes: Buffer.from(bytes) };
      }
    };
    for await (const lines of linesOf(file)) lines.forEach(take);
    if (others === 1) problems.push({ file, line: firstOther, problem: 'it is not a line of the audit log' });
    else if (others > 1) problems.push({ file, line: firstOther, problem: `it and ${others - 1} more are not lines of the audit log` });
  }

  for (const file of files) await readFile(file);
  for (const [id, chain] of chains) {
    joinSegments(chain, (place, problem) => broken(chain, place, problem));
    await findTooLong(id, chain, (place, problem) => broken(chain, place, problem));
  }
  const continued = new Set<string>();
  for (const { chain: id, seq, hash, isOfChain, file, line } of anchors) {
    const chain = chains.get(id);
    const last = chain?.segments.at(-1);
    if (chain === undefined || last === undefined) {
      // A chain may name one in a file that was rotated away long ago.
      if (!isOfChain) problems.push({ file, line, problem: `the lines of the chain ${id} up to ${seq} are missing` });
    } else if (last.lastSeq < seq) broken(chain, last, `its chain has the lines to ${last.lastSeq}, and ${seq} in ${file}:${line}`);
    else if (seq > chain.signedTo && (await unsignedHash(id, chain, seq)) !== hash)
      broken(chain, last, `the line ${seq} of its chain is not that of ${file}:${line}`);
    else if (isOfChain && last.lastSeq === seq) continued.add(id);
  }
  if (chains.size === 0 && problems.length === 0)
    problems.push({ file: files[0] ?? '', line: 1, problem: 'no line of the file is in a chain' });
  return {
    problems: problems.sort((a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line),
    chains: [...chains].map(([chain, { segments, lines, signedTo, endedAt, lost }]) => ({
      chain,
      lines,
      signedTo,
      end: endedAt === segments.at(-1)?.lastSeq ? 'ended' : continued.has(chain) ? 'continued' : 'open',
      lost,
    })),
  };
}

function hasAt(bytes: Buffer, part: Buffer, start: number): boolean {
  const end = start + part.length;
  return start >= 0 && end <= bytes.length && bytes.compare(part, 0, part.length, start, end) === 0;
}

function startsWith(bytes: Buffer, start: Buffer): boolean {
  return hasAt(bytes, start, 0);
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

/** Finds a line after the last signed one which the service would have signed the chain before. */
async function findTooLong(id: string, chain: Chain, broken: (place: Place, problem: string) => void): Promise<void> {
  let first: (Place & { readonly ms: number }) | null = null;
  for await (const { file, line, bytes } of unsignedLines(id, chain)) {
    const ms = timeOf(bytes);
    first ??= { file, line, ms };
    if (canBeUnsigned(first.ms, ms)) continue;
    broken({ file, line }, `its time is not within the minute from ${first.file}:${first.line}, after which no line is signed`);
    return;
  }
}

/** Returns the hash of a line after the last signed one. */
async function unsignedHash(id: string, chain: Chain, seq: number): Promise<string | null> {
  for await (const line of unsignedLines(id, chain)) if (line.seq === seq) return lineHash(line.bytes);
  return null;
}

/** Reads the lines after the last signed one again: a verification keeps none, since there may be any number. */
async function* unsignedLines(
  id: string,
  { segments, signedTo }: Chain,
): AsyncIterable<Place & { readonly seq: number; readonly bytes: Buffer }> {
  for (const { file, unsignedFrom, lastSeq } of segments) {
    if (unsignedFrom === null || lastSeq <= signedTo) continue;
    let { line } = unsignedFrom;
    for await (const lines of linesOf(file, unsignedFrom.offset))
      for (const bytes of lines) {
        const link = linkIn(bytes);
        if (link?.chain === id && link.seq > signedTo && link.seq <= lastSeq) yield { file, line, seq: link.seq, bytes };
        line += 1;
      }
  }
}

function linkIn(bytes: Buffer): ChainLink | null {
  return linkOf(bytes.toString('latin1', Math.max(0, bytes.length - maxLinkLength)));
}

/** Returns the time that readers of the line see, also if it has the field twice; NaN without one. */
function timeOf(bytes: Buffer): number {
  try {
    const { time } = JSON.parse(bytes.toString()) as { time?: unknown };
    return typeof time === 'string' ? Date.parse(time) : Number.NaN;
  } catch {
    return Number.NaN;
  }
}

/**
 * Reads the lines of a file, from a line's first byte on, without their line breaks; what follows the last one, too. Many at a time, since
 * waiting for each line would cost more than all that is done with it.
 */
async function* linesOf(file: string, start = 0): AsyncIterable<readonly Buffer[]> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of createReadStream(file, { start, highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const lines: Buffer[] = [];
    let from = 0;
    for (let end = bytes.indexOf(newLine); end !== -1; end = bytes.indexOf(newLine, from)) {
      lines.push(bytes.subarray(from, end));
      from = end + 1;
    }
    yield lines;
    rest = bytes.subarray(from);
    if (rest.length > maxLineBytes) throw new Error(`${file} has a line of more than ${maxLineBytes} bytes`);
  }
  if (rest.length > 0) yield [rest];
}
