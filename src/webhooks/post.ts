import { type Dispatcher, request } from 'undici';
import { outsideText } from '../core/outside-text.js';
import { secretPartsOf, withoutParts } from '../core/secret-parts.js';
import { TargetRefusedError } from './target-guard.js';

/** What one try came to. Expected outcomes all of them: nothing is thrown. */
export type PostOutcome =
  | {
      readonly kind: 'answered';
      readonly httpStatus: number;
      /** The `Retry-After` header as it came. */
      readonly retryAfter: string | undefined;
      /** The beginning of the answer, fit for a log: where it quotes the address, that is left out. */
      readonly excerpt: string;
    }
  /** The target must not be dialled. */
  | { readonly kind: 'refused'; readonly sentence: string }
  /** No answer: the target cannot be reached, is too slow, or does not speak HTTP. */
  | { readonly kind: 'unanswered'; readonly sentence: string };

/** What is posted. */
export interface PostRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** For the whole: dialling, sending, and reading the answer. */
  readonly timeoutMs: number;
  /** Ends the try early. */
  readonly signal: AbortSignal;
}

/** More of an answer is not read: its connection is dropped instead. */
const maxAnswerBytes = 16 * 1024;

/** Posts once. Redirects are not followed: whoever may redirect us could send us, and our signature, anywhere. */
export async function post(dispatcher: Dispatcher, { url, headers, body, timeoutMs, signal }: PostRequest): Promise<PostOutcome> {
  // One controller for this try alone: listeners on a signal that lives as long as the service would pile up.
  const ending = new AbortController();
  const end = () => ending.abort(new Error('the service stops'));
  const timer = setTimeout(() => ending.abort(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
  signal.addEventListener('abort', end);
  if (signal.aborted) end();
  try {
    const answer = await request(url, { dispatcher, method: 'POST', headers, body, signal: ending.signal });
    const retryAfter = answer.headers['retry-after'];
    return {
      kind: 'answered',
      httpStatus: answer.statusCode,
      retryAfter: typeof retryAfter === 'string' ? retryAfter : retryAfter?.[0],
      excerpt: await excerptOf(answer.body, secretPartsOf(new URL(url))),
    };
  } catch (error) {
    return { kind: error instanceof TargetRefusedError ? 'refused' : 'unanswered', sentence: sentenceOf(error) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

/** The status has decided the outcome already, so an answer that breaks off is merely short. */
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
    // What has come so far is the excerpt.
  }
  return outsideText(withoutParts(Buffer.concat(chunks).toString('utf8'), secrets));
}

function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return 'the try failed';
  // Several addresses were dialled: the group has no message of its own.
  const told = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  return outsideText(told.message === '' ? told.name : told.message);
}
