import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Header } from './header.js';
import type { Page, PageAnswer } from './page.js';

const compress = promisify(gzip);

/** The content of a static page. */
export interface StaticContent {
  readonly path: string;
  readonly contentType: string;
  /** Called once, at the first request. */
  load(): Uint8Array | string | Promise<Uint8Array | string>;
  readonly headers?: readonly Header[];
}

/** The content in both encodings, with its ETag. */
interface Loaded {
  readonly plain: Uint8Array;
  readonly gzipped: Uint8Array;
  readonly etag: string;
}

/**
 * Creates a public page that never changes while the service runs. It is kept in memory, compressed if the caller accepts gzip, and
 * answered with 304 if the caller has it already.
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
      // No-cache: browsers store it but revalidate, so that a new version shows at once.
      const shared: readonly Header[] = [
        ['etag', etag],
        ['cache-control', 'no-cache'],
        // Origin too, because this header replaces the Vary header of CORS.
        ['vary', 'Accept-Encoding, Origin'],
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
  // Weak, because both encodings share it.
  return {
    plain,
    gzipped: await compress(plain, { level: 9 }),
    etag: `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`,
  };
}

function hasAlready(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch?.split(',').some((one) => one.trim() === etag || one.trim() === '*') === true;
}

function takesGzip(acceptEncoding: string | string[] | undefined): boolean {
  return /(?:^|,)\s*gzip\s*(?:,|;\s*q=(?!0(?:\.0*)?\s*(?:,|$))|$)/i.test(String(acceptEncoding ?? ''));
}
