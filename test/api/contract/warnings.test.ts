import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LogLevel } from '../../../gen/relayer/v1/common_pb.js';
import { NotificationService } from '../../../gen/relayer/v1/notification_service_pb.js';
import { callOf } from '../../../src/api/contract/call.js';
import type { Warning } from '../../../src/core/errors/errors.js';
import { createRpcRig } from '../../support/rpc-rig.js';

/** Returns the metadata of a response after these warnings. */
async function metadataAfter(warnings: readonly Warning[], metadata?: { logs: { level: LogLevel; message: string }[]; traces: string[] }) {
  const { client } = createRpcRig(NotificationService, {
    getNotification(_, context) {
      callOf(context).warnings.push(...warnings);
      return metadata === undefined ? {} : { metadata };
    },
  });
  const response = await client.getNotification({});
  return (
    response.metadata && { logs: response.metadata.logs.map(({ level, message }) => [level, message]), traces: response.metadata.traces }
  );
}

describe('warnings', () => {
  it('warnings: appear in the metadata of the response', async () => {
    const levels = ['log', 'info', 'error', 'warn', 'debug', 'result'] as const;
    assert.deepEqual(await metadataAfter(levels.map((level) => ({ level, message: level }))), {
      logs: [
        [LogLevel.LOG, 'log'],
        [LogLevel.INFO, 'info'],
        [LogLevel.ERROR, 'error'],
        [LogLevel.WARN, 'warn'],
        [LogLevel.DEBUG, 'debug'],
        [LogLevel.RESULT, 'result'],
      ],
      traces: [],
    });
  });

  it('warnings: follow those that the service adds itself', async () => {
    const own = { logs: [{ level: LogLevel.INFO, message: 'own' }], traces: ['t'] };
    assert.deepEqual(await metadataAfter([{ level: 'warn', message: 'w' }], own), {
      logs: [
        [LogLevel.INFO, 'own'],
        [LogLevel.WARN, 'w'],
      ],
      traces: ['t'],
    });
  });

  it('warnings: leave the metadata unset if there are none', async () => {
    assert.equal(await metadataAfter([]), undefined);
  });
});
