/** As dnssec-faults.test.ts, with as many zones as show what is rare. */
import { describeDnssecFaults } from '../../../../test/support/dnssec-faults.ts';

describeDnssecFaults(100, 100);
