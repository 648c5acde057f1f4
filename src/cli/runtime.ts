/**
 * Returns why the program cannot run on this version of Node.js, as one sentence; null if it can. The SQLite driver, better-sqlite3 12, has finalizers
 * that abort the process at a random moment from Node.js 24.19 on (nodejs/node#65446).
 */
export function runtimeProblem(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if ((major === 20 && minor >= 19) || major === 22 || (major === 24 && minor < 19)) return null;
  return `Node.js ${version} is not supported; use Node.js 22, 20 from 20.19 on, or 24 before 24.19`;
}
