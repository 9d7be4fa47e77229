/** A registry where our account has run out of credit (2104), and one that takes only so many commands (2502, 2500), over EPP. */
import { testRegistryLimits } from '../../../test/support/check-registry-limits.ts';

await testRegistryLimits('all');
