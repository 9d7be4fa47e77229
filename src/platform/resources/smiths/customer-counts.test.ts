/** How many smiths a customer has, whatever changes; the soak changes more. */
import { testCustomerCounts } from '../../../../test/support/customer-counts.ts';

testCustomerCounts(40, 3);
