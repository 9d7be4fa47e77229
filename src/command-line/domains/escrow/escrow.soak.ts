/** Deposits from a service's own store, read as an agent reads them: by the hashes, and by the schemas of RFC 8909 and RFC 9022. */
import { testEscrow } from '../../../../test/support/check-escrow.ts';

await testEscrow('all');
