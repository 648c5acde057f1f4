import type { LoadedConfig } from '../config/config-file.js';
import type { Settings } from '../config/settings.js';
import type { Telemetry } from '../core/ports/telemetry.js';
import type { Clock } from '../core/work/clock.js';
import type { AuditLog, Log } from '../core/work/log.js';
import type { Shutdown } from '../core/work/shutdown.js';

/** What every stage of the start gets. */
export interface AppContext extends Pick<Shutdown, 'onStop'> {
  readonly settings: Settings;
  readonly config: LoadedConfig;
  readonly clock: Clock;
  readonly log: Log & AuditLog;
  readonly telemetry: Telemetry;
}
