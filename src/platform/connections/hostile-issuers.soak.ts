import { testIssuerAddresses } from '../../../test/hostile/issuer-addresses.ts';

testIssuerAddresses('all');
