/** What happens to a commit: `refused`: nothing is written; `lost`: it is written, but the answer is lost. */
export type CommitFate = 'done' | 'refused' | 'lost';

/** An error as SQLite throws it while its disk fails. */
export class DiskError extends Error {
  constructor(readonly code: string) {
    super(`the disk fails: ${code}`);
  }
}
