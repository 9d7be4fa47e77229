import { describeDnssecFaults } from '../../../../test/support/dnssec-faults.ts';

describeDnssecFaults(12, 40);
