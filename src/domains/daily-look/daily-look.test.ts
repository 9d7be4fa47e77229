/** Names looked at each day at a registry, over EPP, that takes too few commands for all of them to be read. */
import { testDailyLook } from '../../../test/support/check-daily-look.ts';

await testDailyLook('some');
