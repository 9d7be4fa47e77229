/** A scenario of each kind: of sessions, of requests, of headers; server-conformance.soak.ts has the others. */
import { checkServer } from '../../../test/support/check-conformance.ts';

await checkServer([
  ['server-session-lifecycle', '2025-11-25'],
  ['tools-list', '2026-07-28'],
  ['http-header-validation', '2026-07-28'],
]);
