/** Who may call what, on every operation with every token that no longer stands. */
import { testAccess } from './check-access.ts';

await testAccess('all');
