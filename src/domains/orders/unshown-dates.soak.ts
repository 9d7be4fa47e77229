/** A registry that leaves out when a name was registered and when its term ends, which RFC 5731 lets it: what is known of that stays. */
import { testUnshownDates } from '../../../test/support/check-unshown-dates.ts';

await testUnshownDates('all');
