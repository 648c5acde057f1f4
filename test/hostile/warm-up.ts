import { inLanes } from './attack.js';
import type { Target } from './target.js';
import { envelope, http1, http2Headers, signData, validCalls, validRest } from './valid-requests.js';

/** The number of transactions in lists. */
const transactions = 120;

/** Ordinary work by every protocol, so that what is compiled, pooled and cached once is there before memory is measured. */
export async function warmUp(target: Target, isShort: boolean): Promise<void> {
  const [send] = validRest.filter(({ path, verb }) => verb === 'POST' && path.endsWith('/transactions'));
  await inLanes(transactions, 8, async () => {
    await target.send(http1({ path: send?.path ?? '', type: 'application/json', body: send?.body ?? null }));
  });
  await inLanes(isShort ? 400 : 2_000, 32, async (index) => {
    const call = validCalls[index % 3] ?? signData;
    const session = target.session();
    await target.request(session, http2Headers(call.path, 'application/grpc'), envelope(call.binary));
    session.destroy();
    await target.send(http1({ path: call.path, type: 'application/json', body: call.json }));
    await target.send(http1({ verb: 'GET', path: '/api/v1/relayers/r1/transactions?per_page=100' }));
  });
  // The largest bodies there are.
  const large = JSON.stringify({ message: 'x'.repeat(1_000_000) });
  await inLanes(40, 8, async () => {
    await target.send(http1({ path: '/api/v1/relayers/r1/sign', type: 'application/json', body: large }));
  });
}
