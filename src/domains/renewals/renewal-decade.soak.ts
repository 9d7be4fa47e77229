/** Ten simulated years of random portfolios, wallets, toggles, clocks and registries, and what holds in all of them. */
import { testRenewalDecade } from '../../../test/support/check-renewal-decade.ts';

await testRenewalDecade('all');
