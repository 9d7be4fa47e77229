import { describeDnssecFaults } from '../../../../test/support/dnssec-faults.ts';

describeDnssecFaults(6, 20);
