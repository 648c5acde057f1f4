import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * Builds an earlier commit in a worktree of its own, once; later runs find it there. Its packages are those of this checkout if both lock files
 * are equal, else a clean install of its own. Returns the folder.
 */
export function referenceBuild(commit: string): string {
  const sha = run('git', ['rev-parse', '--verify', `${commit}^{commit}`]).trim();
  const folder = join(tmpdir(), `relayer-reference-${sha.slice(0, 12)}`);
  if (existsSync(programIn(folder))) return folder;
  // A build that was interrupted begins again.
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  run('git', ['worktree', 'prune']);
  run('git', ['worktree', 'add', '--detach', '--force', unfinished, sha]);
  if (readFileSync('package-lock.json').equals(readFileSync(join(unfinished, 'package-lock.json')))) {
    symlinkSync(resolve('node_modules'), join(unfinished, 'node_modules'));
  } else {
    run('npm', ['ci', '--no-audit', '--no-fund'], unfinished);
  }
  run('npm', ['run', '--silent', 'build'], unfinished);
  renameSync(unfinished, folder);
  run('git', ['worktree', 'repair', folder]);
  return folder;
}

/** Returns what the command prints. Throws with its errors if it fails. */
function run(command: string, args: readonly string[], cwd = process.cwd()): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 64 << 20 });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${stderr || stdout}`);
  return stdout;
}

/** The built service in a checkout. Earlier commits did not bundle it. */
export function programIn(folder: string): string {
  const bundled = join(folder, 'dist/program/main.js');
  return existsSync(bundled) ? bundled : join(folder, 'dist/src/main.js');
}
