/** Long sequences of changes. */
import { testCustomerCounts } from '../../../../test/support/customer-counts.ts';

testCustomerCounts(600, 40);
