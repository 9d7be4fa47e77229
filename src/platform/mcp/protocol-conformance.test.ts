/** The platform as a client of the newest revision; protocol-conformance.soak.ts has the older ones. */
import { checkClient } from '../../../test/support/check-conformance.ts';

await checkClient([['2026-07-28', 33]]);
