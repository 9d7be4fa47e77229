/** How long auth codes work, over EPP: at registries where a name may have none (RFC 9154), and at others. */
import { testAuthCodes } from '../../../test/support/check-auth-codes-over-epp.ts';

await testAuthCodes('all');
