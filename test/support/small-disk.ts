import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** A file system of a few megabytes, in a mount namespace of its own that needs no privileges. */
export interface SmallDisk {
  /** The command prefix with which a program sees the disk at the folder. */
  readonly enter: readonly string[];
  /** Fills the free space. */
  fill(): Promise<void>;
  /** Gives it back. */
  free(): Promise<void>;
  /** Everything on it is gone. */
  remove(): Promise<void>;
}

/** Mounts one at this folder; null if the machine does not allow it. */
export async function mountSmallDisk(folder: string, megabytes: number): Promise<SmallDisk | null> {
  await mkdir(folder, { recursive: true });
  const script = `mount -t tmpfs -o size=${megabytes}m tmpfs '${folder}' && echo mounted && exec sleep 1000000`;
  const holder = spawn('unshare', ['--map-root-user', '--mount', 'sh', '-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  const stopWithUs = (): void => void holder.kill('SIGKILL');
  process.once('exit', stopWithUs);
  const isMounted = await Promise.race([once(holder.stdout, 'data').then(() => true), ended(holder).then(() => false)]);
  if (!isMounted) {
    process.removeListener('exit', stopWithUs);
    return null;
  }
  const filler = join(`/proc/${holder.pid}/root`, folder, 'filler');
  return {
    enter: ['nsenter', '--preserve-credentials', '--user', '--mount', '--target', String(holder.pid), `--wd=${process.cwd()}`],
    async fill() {
      // Smaller and smaller pieces, until not a byte is free.
      for (const bytes of [65_536, 4_096, 512, 1]) {
        const piece = Buffer.alloc(bytes);
        while (
          await appendFile(filler, piece).then(
            () => true,
            () => false,
          )
        );
      }
    },
    free: () => rm(filler),
    async remove() {
      process.removeListener('exit', stopWithUs);
      const gone = ended(holder);
      holder.kill('SIGKILL');
      await gone;
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  await Promise.race([once(child, 'exit'), once(child, 'error')]);
}
