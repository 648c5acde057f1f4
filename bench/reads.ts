import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { type Agent, request } from 'undici';
import { authorization } from './servers.js';

/** A figure, its unit and its goal. */
export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly goal: string;
}

const reads = 3_000;

/** Resolves when the service at `base` is ready. */
export async function untilReady(base: string, agent: Agent): Promise<void> {
  for (;;) {
    const { statusCode, body } = await request(`${base}/ready`, { dispatcher: agent });
    await body.dump();
    if (statusCode === 200) return;
  }
}

/** Sends one read after the other; resolves to the times of `count` reads in milliseconds. Throws if one fails. */
export async function timesOf(agent: Agent, urlOf: (index: number) => string, count = reads): Promise<readonly number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const began = performance.now();
    const { statusCode, body } = await request(urlOf(index), { dispatcher: agent, headers: { authorization } });
    const text = await body.text();
    times.push(performance.now() - began);
    if (statusCode !== 200) throw new Error(`a read answered ${statusCode}: ${text}`);
  }
  return times;
}

/** Returns the value below which this part of the times is. */
export function percentile(times: readonly number[], part: number): number {
  return [...times].sort((a, b) => a - b)[Math.ceil(times.length * part) - 1] ?? Number.NaN;
}

/** Returns the memory of a process by the kernel's figure; NaN if it reports none. */
export function residentMb(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return (Number(kib) * 1024) / 1e6;
}
