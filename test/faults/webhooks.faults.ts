/*
 * A thousand events, twenty kills, a receiver that fails in every way. Run: npm run suite -- webhooks [-- <seed>]
 */
import { webhookStorm } from './webhook-storm.js';

const seed = Number(process.argv[2] ?? Math.floor(Math.random() * 2 ** 32));
process.stdout.write(`seed ${seed}\n`);
const { faults, ...figures } = await webhookStorm({ transactions: 200, kills: 20, seed });
for (const [name, figure] of Object.entries(figures)) process.stdout.write(`${name.padEnd(14)} ${figure}\n`);
process.stdout.write(`answers        ${JSON.stringify(faults)}\n`);
