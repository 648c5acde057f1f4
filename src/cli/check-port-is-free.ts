import { createServer } from 'node:net';
import { ConfigError } from '../config/problem.js';
import type { Settings } from '../config/settings.js';

/** Finds a taken port before anything is opened. Throws ConfigError. */
export async function checkPortIsFree({ host, port }: Settings): Promise<void> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject);
    probe.listen({ host, port }, () => probe.close(() => resolve()));
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new ConfigError([{ path: 'APP_PORT', problem: `the port ${port} on ${host} is already in use; set another port` }]);
  });
}
