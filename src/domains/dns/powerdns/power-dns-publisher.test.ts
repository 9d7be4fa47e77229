import { testPowerDnsPublisher } from '../../../../test/support/check-power-dns-publisher.ts';

await testPowerDnsPublisher('some');
