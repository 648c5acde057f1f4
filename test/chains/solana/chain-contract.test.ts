import { chainContract } from '../../contracts/chain.contract.js';
import { openSolanaRig } from '../../support/solana-contract-rig.js';

chainContract('Solana', openSolanaRig, { counts: false });
