import { batches } from './batches.js';
import { doublePay } from './double-pay.js';
import { failover } from './failover.js';
import { faultyNode } from './faulty-node.js';
import { dropped } from './healing/dropped.js';
import { foreignUse } from './healing/foreign-use.js';
import { funds } from './healing/funds.js';
import { lostBlocks } from './healing/lost-blocks.js';
import { nonceTooHigh } from './healing/nonce-too-high.js';
import { otherGenesis } from './healing/other-genesis.js';
import { instances } from './instances.js';
import { kill } from './kill.js';
import { lostFile } from './operations/lost-file.js';
import { restore } from './operations/restore.js';
import { secondService } from './operations/second-service.js';
import { stalledLog } from './operations/stalled-log.js';
import { wrongClock } from './operations/wrong-clock.js';
import { postgresClocks, postgresFullDisk, postgresHa, postgresMaintenance, postgresSequences } from './postgres-ha.js';
import { races } from './races.js';
import { reorgs } from './reorgs.js';
import { rollingRestart } from './rolling-restart.js';
import { solanaKill } from './solana/solana-kill.js';
import { spendingLimits } from './spending-limits.js';
import { spike } from './spike.js';
import { stellarKill } from './stellar/stellar-kill.js';
import { stellarRaces } from './stellar/stellar-races.js';
import type { FaultSuite } from './suite.js';

/** Every suite by the name it is run by; a part of a name, up to a slash, runs all that begin so. */
export const suites: ReadonlyMap<string, FaultSuite> = new Map([
  ['kill', kill],
  ['instances', instances],
  ['rolling-restart', rollingRestart],
  ['failover', failover],
  ['postgres-ha', postgresHa],
  ['postgres-ha/maintenance', postgresMaintenance],
  ['postgres-ha/full-disk', postgresFullDisk],
  ['postgres-ha/clocks', postgresClocks],
  ['postgres-ha/sequences', postgresSequences],
  ['faulty-node', faultyNode],
  ['reorgs', reorgs],
  ['spike', spike],
  ['races', races],
  ['double-pay', doublePay],
  ['batches/sqlite', batches.sqlite],
  ['batches/postgres', batches.postgres],
  ['batches/stellar', batches.stellar],
  ['batches/solana', batches.solana],
  ['spending-limits/sqlite', spendingLimits.sqlite],
  ['spending-limits/postgres', spendingLimits.postgres],
  ['healing/foreign-use/before', foreignUse.before],
  ['healing/foreign-use/in-flight', foreignUse.inFlight],
  ['healing/dropped', dropped],
  ['healing/nonce-too-high', nonceTooHigh],
  ['healing/lost-blocks/reorg', lostBlocks.byReorg],
  ['healing/lost-blocks/while-down', lostBlocks.whileDown],
  ['healing/lost-blocks/revert', lostBlocks.byRevert],
  ['healing/funds', funds],
  ['healing/other-genesis/at-start', otherGenesis.atStart],
  ['healing/other-genesis/while-running', otherGenesis.whileRunning],
  ['operations/restore', restore],
  ['operations/second-service', secondService],
  ['operations/stalled-log', stalledLog],
  ['operations/lost-file', lostFile],
  ['operations/wrong-clock', wrongClock],
  ['solana/kill', solanaKill],
  ['stellar/kill', stellarKill],
  ['stellar/races', stellarRaces],
]);
