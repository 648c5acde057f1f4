import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as elapsed } from 'node:timers/promises';
import { apiKey, createServiceHome, type ServiceHome } from '../test/support/service.js';
import { pinned } from './pinned-process.js';

/** A server that is measured. */
export interface MeasuredServer {
  readonly pid: number;
  /** In the order in which it prints them. */
  readonly ports: readonly number[];
  stop(): Promise<void>;
}

/**
 * The built service, as users run it: its own home, a durable database file unless `env` names another database, its log in a file. Its lane has no limit
 * in flight: earlier commits had another default.
 */
export async function startBuiltService(
  main: string,
  rpcUrl: string,
  nodeFlags: readonly string[],
  env: Readonly<Record<string, string>> = {},
  { node = process.execPath, policies = {} }: { readonly node?: string; readonly policies?: object } = {},
): Promise<MeasuredServer> {
  const home = await createServiceHome({ rpcUrl, policies: { max_in_flight: 50_000, ...policies }, env: { LOG_LEVEL: 'info', ...env } });
  const service = await startServiceIn(home, main, nodeFlags, node);
  return {
    ...service,
    async stop() {
      await service.stop();
      await home.remove();
    },
  };
}

/** The built service in a home that outlives it. */
export async function startServiceIn(
  home: ServiceHome,
  main: string,
  nodeFlags: readonly string[],
  node = process.execPath,
): Promise<MeasuredServer> {
  const logFile = join(home.dir, 'service.log');
  const log = openSync(logFile, 'w');
  const [program, ...args] = pinned(0, [node, ...nodeFlags, main, 'serve']);
  const child = spawn(program, args, { env: { PATH: process.env.PATH, ...home.env }, stdio: ['ignore', log, log] });
  const port = await portInLog(child, logFile);
  return { pid: child.pid ?? 0, ports: [port], stop: () => ended(child) };
}

/** One of the baselines; it prints its ports on its first line. */
export async function startBaseline(file: string): Promise<MeasuredServer> {
  const [program, ...args] = pinned(0, [process.execPath, file]);
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { pid: child.pid ?? 0, ports: line.split(',').map(Number), stop: () => ended(child) };
}

/** The header that every caller of the service sends. */
export const authorization = `Bearer ${apiKey}`;

async function portInLog(child: ChildProcess, logFile: string): Promise<number> {
  for (;;) {
    const log = readFileSync(logFile, 'utf8');
    const port = /"port":(\d+),.*"msg":"listening"/.exec(log)?.[1];
    if (port !== undefined) return Number(port);
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode} before it listened:\n${log}`);
    await elapsed(20);
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
}
