import { createServer } from 'node:net';
import { ConfigError } from '../config/problem.js';
import type { Settings } from '../config/settings.js';

/** Finds a taken port before anything is opened. Throws ConfigError. */
export async function checkPortIsFree({ host, port, metricsPort }: Settings): Promise<void> {
  await checkOne('APP_PORT', host, port);
  if (metricsPort !== null && metricsPort !== 0 && metricsPort === port)
    throw new ConfigError([{ path: 'METRICS_PORT', problem: `is the port of APP_PORT (${port}); set another port` }]);
  if (metricsPort !== null) await checkOne('METRICS_PORT', host, metricsPort);
}

async function checkOne(path: string, host: string, port: number): Promise<void> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject);
    probe.listen({ host, port }, () => probe.close(() => resolve()));
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new ConfigError([{ path, problem: `the port ${port} on ${host} is already in use; set another port` }]);
  });
}
