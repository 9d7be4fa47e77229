/** Scenarios whose like the gate has. */
import { checkServer } from '../../../test/support/check-conformance.ts';

await checkServer([
  ['server-initialize', '2025-11-25'],
  ['ping', '2025-11-25'],
  ['tools-list', '2025-11-25'],
  ['dns-rebinding-protection', '2026-07-28'],
]);
