import { parseArgs } from 'node:util';
import { startStellar } from './stellar/server.js';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    passphrase: { type: 'string' },
    'close-ms': { type: 'string', default: '1000' },
    'until-stdin-ends': { type: 'boolean', default: false },
    account: { type: 'string', multiple: true, default: [] },
  },
});

/** `G...:100` is an account that holds 100 XLM. */
const accounts = Object.fromEntries(
  values.account.map((text) => {
    const [id = '', lumens = '10000'] = text.split(':');
    return [id, BigInt(lumens) * 10_000_000n];
  }),
);

const node = await startStellar({
  port: Number(values.port),
  closeEveryMs: Number(values['close-ms']),
  accounts,
  ...(values.passphrase === undefined ? {} : { passphrase: values.passphrase }),
});
process.stdout.write(
  `Listening on ${node.url} passphrase=${JSON.stringify(node.ledger.passphrase)} contract=${node.ledger.testContract}\n`,
);
if (values['until-stdin-ends']) process.stdin.resume().once('close', () => process.exit(0));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void node.stop().then(() => process.exit(0)));
