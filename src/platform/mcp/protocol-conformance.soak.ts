/** The platform as a client of older revisions. */
import { checkClient } from '../../../test/support/check-conformance.ts';

await checkClient([
  ['2025-03-26', 2],
  ['2025-11-25', 19],
]);
