import { bodyTooLarge, maxBodyBytes } from '../contract/shared-errors.js';
import type { ApiRequest } from '../http/header.js';

const nothing = Buffer.alloc(0);

/**
 * The whole body; null where the caller left before its end. Rejects with `too_large` BODY_TOO_LARGE as soon as it is over the limit, and
 * reads no further. By events, not by `for await`, which costs ten times as much.
 */
export function readBody(request: ApiRequest): Promise<Buffer | null> {
  if (request.destroyed || request.aborted) return Promise.resolve(null);
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] | null = null;
    let only: Buffer = nothing;
    let bytes = 0;
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > maxBodyBytes) {
        request.off('data', onData);
        request.pause();
        reject(bodyTooLarge());
      } else if (chunks !== null) {
        chunks.push(chunk);
      } else if (only === nothing) {
        only = chunk;
      } else {
        chunks = [only, chunk];
      }
    };
    request.on('data', onData);
    request.once('end', () => resolve(chunks === null ? only : Buffer.concat(chunks, bytes)));
    // After `end` it comes too late to matter; before it, alone or behind an error, it means that nobody waits for an answer.
    request.once('close', () => resolve(null));
  });
}
