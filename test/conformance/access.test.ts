/** Who may call what, on every operation; of the tokens that no longer stand each operation meets one, in turns. The soak tries all. */
import { testAccess } from './check-access.ts';

await testAccess('some');
