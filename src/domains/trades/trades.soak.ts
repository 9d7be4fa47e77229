/** Other holders at a registry where that is a command of its own with a price, over EPP: at once, and when both have consented there. */
import { testTrades } from '../../../test/support/check-trades.ts';

await testTrades('all');
