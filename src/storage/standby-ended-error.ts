/** Thrown if the wait for a database that another process uses was ended. */
export class StandbyEndedError extends Error {
  override readonly name = 'StandbyEndedError';

  constructor() {
    super('stopped while another process used the database');
  }
}
