import type { ApiRequest } from './header.js';

/** Chunks that are joined into one: a chunk of one byte takes a hundred times its size. */
const maxChunks = 1_024;

export interface BytesRules {
  /** The maximum number of bytes. */
  readonly limit: number;
  /** The error for more. */
  readonly tooLarge: () => Error;
  /** Checks the first bytes, so that a hopeless body is refused before its end. May throw. */
  readonly start?: { readonly bytes: number; check(start: Buffer): void };
}

/**
 * Reads a body; null if the caller left before its end. Rejects as soon as the body is over the limit or its start is refused, and reads
 * no further. Uses events: `for await` costs ten times as much.
 */
export function readBytes(request: ApiRequest, { limit, tooLarge, start }: BytesRules): Promise<Buffer | null> {
  if (request.destroyed || request.aborted) return Promise.resolve(null);
  return new Promise((resolve, reject) => {
    let joined: Buffer[] = [];
    let chunks: Buffer[] = [];
    let bytes = 0;
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      try {
        if (bytes > limit) throw tooLarge();
        chunks.push(chunk);
        // It may come in pieces.
        const hadStart = start === undefined || bytes - chunk.length >= start.bytes;
        if (!hadStart && bytes >= start.bytes) start.check(chunks.length === 1 ? chunk : Buffer.concat(chunks, bytes));
        if (chunks.length < maxChunks) return;
        joined.push(Buffer.concat(chunks));
        chunks = [];
      } catch (error) {
        request.off('data', onData);
        request.pause();
        reject(error);
      }
    };
    request.on('data', onData);
    request.on('end', () => {
      resolve(joined.length === 0 && chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat([...joined, ...chunks], bytes));
      // The request lives until the answer, and its listeners with it.
      joined = [];
      chunks = [];
    });
    // After `end` this changes nothing; before it, alone or after an error, it means that the caller has left.
    request.on('close', () => resolve(null));
  });
}
