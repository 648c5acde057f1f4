/**
 * Returns why the program does not run on this version of Node.js, as one sentence; null if it does. The SQLite libraries need these
 * releases.
 */
export function runtimeProblem(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if ((major === 20 && minor >= 19) || (major === 22 && minor >= 14) || major >= 24) return null;
  return `Node.js ${version} is not supported; use Node.js 24 or later, 22 from 22.14 on, or 20 from 20.19 on`;
}
