import { type ConsoleRig, expensiveWei, payee } from './console-rig.js';
import { waitFor } from './wait-for.js';

/** Code that reverts. */
const revertingCode = '0x60006000fd';
const revertingAddress = '0x00000000000000000000000000000000000bad00';

/** Ids of what the views show. */
export interface ConsoleWorld {
  /** The lowest open transaction of `payouts`: the chain waits for it. */
  readonly stuck: string;
  readonly stuckNonce: number;
  /** Final transactions of `payouts`. */
  readonly confirmed: string;
  readonly failed: string;
  readonly canceled: string;
  /** A dead delivery of `audit`. */
  readonly deadDelivery: string;
}

/**
 * Makes a busy service out of a new one. The lane of `payouts` has a past with numbers that others used, a failed and a canceled transaction; a transaction that
 * is mined and not final; bids below a base fee that has risen; and a queue. The lanes of `capped`, `poor` and `refused` are jammed, and deliveries of `audit`
 * are dead.
 */
export async function fillConsole(rig: ConsoleRig): Promise<ConsoleWorld> {
  const { anvil, call, send } = rig;
  await anvil.rpc('anvil_setCode', [revertingAddress, revertingCode]);

  const confirmed = await send('payouts', { value: '125000000000000000', data: transferData });
  for (const gwei of [3n, 2n, 5n, 3n, 4n]) await send('payouts', { value: gwei.toString(), ...atGwei(gwei) });
  const failed = await send('payouts', { to: revertingAddress, value: 0, data: '0xdeadbeef', gas_limit: 60_000 });
  const canceled = await send('payouts', { value: 7 });
  const repriced = await send('payouts', { value: 8, ...atGwei(3n) });
  await send('treasury');
  await untilBroadcast(rig, 'payouts', repriced);
  await call('DELETE', `/relayers/payouts/transactions/${canceled}`);
  for (const gwei of [4n, 6n]) await replace(rig, repriced, gwei);
  await untilAttempts(rig, canceled, 2);
  await anvil.mine(3);
  await untilStatus(rig, 'payouts', confirmed, 'confirmed');
  await untilStatus(rig, 'payouts', repriced, 'confirmed');

  // The next block is so expensive that it has the first of these only.
  const mined = await send('payouts', { value: 9, ...atGwei(24n) });
  const open: string[] = [];
  for (let count = 0; count < 12; count += 1) {
    const price = count % 3 === 0 ? atGwei(BigInt(3 + (count % 5))) : { speed: count % 2 === 0 ? 'average' : 'fast' };
    open.push(await send('payouts', { value: 100 + count, ...price }));
  }
  await send('poor');
  await send('refused');
  const [stuck = '', second = '', third = '', , fifth = '', sixth = '', , eighth = ''] = open;
  await untilBroadcast(rig, 'payouts', open.at(-1) ?? '');
  await rig.mineAtBaseFee(expensiveWei);
  await untilStatus(rig, 'payouts', mined, 'mined');
  for (let count = 0; count < 14; count += 1) await send('payouts', { value: 200 + count, speed: count % 2 === 0 ? 'fast' : 'fastest' });
  await call('DELETE', `/relayers/payouts/transactions/${fifth}`);
  for (const gwei of [5n, 8n]) await replace(rig, stuck, gwei);
  for (const gwei of [9n, 14n]) await replace(rig, second, gwei);
  await replace(rig, third, 16n);
  for (const gwei of [15n, 19n, 28n]) await replace(rig, sixth, gwei);
  await replace(rig, eighth, 12n);
  await send('capped');
  const deadDelivery = await waitFor('a dead delivery', async () => {
    const { body } = await call('GET', '/notifications/audit/deliveries?per_page=100');
    return body.data.find(({ status }: { status: string }) => status === 'dead')?.id as string | undefined;
  });
  const { body } = await call('GET', `/relayers/payouts/transactions/${stuck}`);
  return { stuck, stuckNonce: body.data.nonce, confirmed, failed, canceled, deadDelivery };
}

/** `transfer(address,uint256)` of a token. */
const transferData = `0xa9059cbb${payee.slice(2).toLowerCase().padStart(64, '0')}${2_500_000_000n.toString(16).padStart(64, '0')}`;

/** A bid of so much, half of it for the producer of the block. */
function atGwei(gwei: bigint): object {
  return { speed: undefined, max_fee_per_gas: String(gwei * 1_000_000_000n), max_priority_fee_per_gas: String(gwei * 500_000_000n) };
}

async function replace({ call }: ConsoleRig, id: string, gwei: bigint): Promise<void> {
  const answer = await call('PUT', `/relayers/payouts/transactions/${id}`, { to: payee, value: 8, ...atGwei(gwei) });
  if (answer.status !== 200) throw new Error(`a replacement was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
}

/** Resolves when the transaction has this status. */
function untilStatus({ call }: ConsoleRig, relayer: string, id: string, status: string): Promise<unknown> {
  return waitFor(`${id} to be ${status}`, async () =>
    (await call('GET', `/relayers/${relayer}/transactions/${id}`)).body.data.status === status ? true : undefined,
  );
}

/** Resolves when the transaction, or by default the relayer's oldest open one, was broadcast. */
async function untilBroadcast({ call }: ConsoleRig, relayer: string, id?: string): Promise<void> {
  await waitFor(`a broadcast of ${relayer}`, async () => {
    const { body } = await call('GET', `/relayers/${relayer}/transactions${id === undefined ? '?per_page=1' : `/${id}`}`);
    const record = id === undefined ? body.data[0] : body.data;
    return record?.status === 'submitted' ? true : undefined;
  });
}

async function untilAttempts({ call }: ConsoleRig, id: string, count: number): Promise<void> {
  await waitFor(`${count} attempts of ${id}`, async () => {
    const { body } = await call('GET', `/relayers/payouts/transactions/${id}/attempts`);
    return body.data.length >= count ? true : undefined;
  });
}
