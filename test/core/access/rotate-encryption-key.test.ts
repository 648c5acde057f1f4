import { join } from 'node:path';
import { rotationContract } from '../../contracts/rotation.contract.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

rotationContract('sqlite', async () => `sqlite:${join(await temporaryFolder(), 'relayer.db')}`);
