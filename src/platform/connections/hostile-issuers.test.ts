/** Some addresses of issuers that are none of a tenant's business are refused, and not called. The soak tries more of them. */
import { testIssuerAddresses } from '../../../test/hostile/issuer-addresses.ts';

testIssuerAddresses('some');
