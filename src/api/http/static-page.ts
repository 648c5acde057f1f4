import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Header } from './header.js';
import type { Page, PageAnswer } from './page.js';

const compress = promisify(gzip);

/** What a page always answers. */
export interface StaticContent {
  readonly path: string;
  readonly contentType: string;
  /** Asked for once, when the page is first asked for. */
  load(): Uint8Array | string | Promise<Uint8Array | string>;
  readonly headers?: readonly Header[];
}

/** The content in both forms, and what tells it from another version. */
interface Loaded {
  readonly plain: Uint8Array;
  readonly gzipped: Uint8Array;
  readonly etag: string;
}

/**
 * Makes a page that anyone may see and that never changes while the service runs: kept as bytes, compressed where the caller takes that, and
 * answered 304 where the caller has it already.
 */
export function createStaticPage({ path, contentType, load, headers = [] }: StaticContent): Page {
  let loaded: Promise<Loaded> | null = null;
  return {
    path,
    scope: 'public',
    async render({ headers: asked }): Promise<PageAnswer> {
      loaded ??= loadOnce(load).catch((error: unknown) => {
        loaded = null;
        throw error;
      });
      const { plain, gzipped, etag } = await loaded;
      // No-cache: kept, but asked for again, so that a new version is seen at once.
      const shared: readonly Header[] = [
        ['etag', etag],
        ['cache-control', 'no-cache'],
        // Origin, too, since this takes the place of the header that CORS has set.
        ['vary', 'Accept-Encoding, Origin'],
        ['x-content-type-options', 'nosniff'],
        ...headers,
      ];
      if (hasAlready(asked['if-none-match'], etag)) return { status: 304, contentType, headers: shared, body: null };
      if (!takesGzip(asked['accept-encoding'])) return { status: 200, contentType, headers: shared, body: plain };
      return { status: 200, contentType, headers: [...shared, ['content-encoding', 'gzip']], body: gzipped };
    },
  };
}

async function loadOnce(load: StaticContent['load']): Promise<Loaded> {
  const plain = Buffer.from(await load());
  // Weak: both forms have it.
  return { plain, gzipped: await compress(plain), etag: `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"` };
}

function hasAlready(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch?.split(',').some((one) => one.trim() === etag || one.trim() === '*') === true;
}

function takesGzip(acceptEncoding: string | string[] | undefined): boolean {
  return /(?:^|,)\s*gzip\s*(?:,|;\s*q=(?!0(?:\.0*)?\s*(?:,|$))|$)/i.test(String(acceptEncoding ?? ''));
}
