/** Names that our registrar account has already, over EPP, after answers that were lost or wrong: an order gets what it did, and nothing else. */
import { testTakeoverOverEpp } from '../../../test/support/check-takeover-over-epp.ts';

await testTakeoverOverEpp('all');
