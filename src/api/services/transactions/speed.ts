import { Speed } from '../../../../gen/relayer/v1/evm_pb.js';
import type { Speed as DomainSpeed } from '../../../core/transaction/evm.js';

const protoOf: Readonly<Record<DomainSpeed, Speed>> = {
  fastest: Speed.FASTEST,
  fast: Speed.FAST,
  average: Speed.AVERAGE,
  safeLow: Speed.SAFE_LOW,
};

/** The proto form of a speed. */
export function protoOfSpeed(speed: DomainSpeed): Speed {
  return protoOf[speed];
}

/** The speed that a request names; undefined when it names none. */
export function speedOf(speed: Speed): DomainSpeed | undefined {
  switch (speed) {
    case Speed.FASTEST:
      return 'fastest';
    case Speed.FAST:
      return 'fast';
    case Speed.AVERAGE:
      return 'average';
    case Speed.SAFE_LOW:
      return 'safeLow';
    default:
      return undefined;
  }
}
