import { type Dispatcher, request } from 'undici';
import { outsideText, secretPartsOf } from '../core/text/safe-text.js';
import { withoutSecrets } from '../core/text/without-secrets.js';
import { startDeadline } from '../core/work/abort.js';

/** The outcome of one HTTP request. All outcomes are expected, so nothing is thrown. */
export type PostOutcome =
  | {
      readonly kind: 'answered';
      readonly httpStatus: number;
      /** The `Retry-After` header, unchanged. */
      readonly retryAfter: string | undefined;
      /** The beginning of the answer, safe to log: secret parts of the URL are removed. */
      readonly excerpt: string;
    }
  /** The target is not allowed, unreachable, too slow, or does not speak HTTP. */
  | { readonly kind: 'unanswered'; readonly error: string };

/** One HTTP request. */
export interface PostRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** For connecting, sending and reading the answer together. */
  readonly timeoutMs: number;
  /** Ends the request early. */
  readonly signal: AbortSignal;
}

/** Reading stops here, and the connection is dropped. */
const maxAnswerBytes = 16 * 1024;

/** Posts once. Does not follow redirects: a receiver could send our request and its signature to any address. */
export async function post(dispatcher: Dispatcher, { url, headers, body, timeoutMs, signal }: PostRequest): Promise<PostOutcome> {
  const deadline = startDeadline(timeoutMs, { outer: signal, reason: () => new Error(`no response within ${timeoutMs / 1000} s`) });
  try {
    const answer = await request(url, { dispatcher, method: 'POST', headers, body, signal: deadline.signal });
    const retryAfter = answer.headers['retry-after'];
    return {
      kind: 'answered',
      httpStatus: answer.statusCode,
      retryAfter: typeof retryAfter === 'string' ? retryAfter : retryAfter?.[0],
      excerpt: await excerptOf(answer.body, secretPartsOf(new URL(url))),
    };
  } catch (error) {
    return { kind: 'unanswered', error: signal.aborted ? 'the service stopped before the receiver answered' : messageOf(error) };
  } finally {
    deadline.clear();
  }
}

/** The status has decided the outcome already, so an answer that breaks off is only shorter. */
async function excerptOf(answer: AsyncIterable<Buffer>, secrets: readonly string[]): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of answer) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxAnswerBytes) break;
    }
  } catch {
    // The part that arrived is the excerpt.
  }
  return outsideText(withoutSecrets(Buffer.concat(chunks).toString('utf8'), secrets));
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed';
  // For a host with several addresses, the error is a group without a message.
  const first = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  return outsideText(first.message === '' ? first.name : first.message);
}
